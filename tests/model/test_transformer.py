"""The Transformer: padding, causality, dropout and initial weights."""

import pytest
import torch
import torch.nn.functional as F

from rarename.config import ModelConfig
from rarename.model.attention import Attention
from rarename.model.transformer import Transformer
from rarename.presets import preset_config

TINY = {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 32, "dropout": 0.0}


def random_ids(num_types=5, num_values=7, length=6):
    types, values = torch.randint(num_types, (1, length)), torch.randint(num_values, (1, length))
    return types, values, torch.ones(1, length, dtype=torch.bool)


def test_only_a_causal_model_has_a_kv_cache():
    with pytest.raises(ValueError, match="only a causal model can cache keys and values"):
        Transformer(ModelConfig(**TINY), 5, 7).new_kv_caches()


@pytest.mark.parametrize(("task", "published"), [("misuse", 18_927_360), ("completion", 18_965_248)])
def test_the_paper_presets_have_the_parameters_of_the_authors_without_embeddings(task, published):
    """The causal model lacks the offsets to later nodes, which the authors' code never reads: 2 × 6 × 32 × 64."""
    causal = task == "completion"
    model = Transformer(preset_config("corpus", "paper", {}, task=task).model, 10, 10, causal)
    assert model.num_parameters() == published - 2 * 6 * 32 * 64 * causal == pytest.approx(published, rel=0.002)


@pytest.mark.parametrize("task", ["misuse", "completion"])
def test_a_layer_of_the_paper_preset_computes_what_that_of_the_authors_does(task):
    torch.manual_seed(0)
    sizes = {"model.d_model": 16, "model.num_layers": 1, "model.num_heads": 2, "model.d_ff": 32}
    model = Transformer(preset_config("corpus", "paper", sizes, task=task).model, 5, 7, task == "completion").eval()
    (layer,) = model.layers
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter)
    types, values, mask = random_ids()
    inputs = model.embed(types, values)
    if task == "misuse":
        between = layer.attn_norm(inputs + layer.attention(inputs, mask))
        expected = between + layer.down_proj(layer.up_proj(layer.ffn_norm(between)).clamp(min=0))
    else:
        between = inputs + layer.attention(layer.attn_norm(inputs), mask)
        x = layer.up_proj(layer.ffn_norm(between))
        gelu = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
        expected = model.final_norm(between + layer.down_proj(gelu))
    torch.testing.assert_close(model(types, values, mask), expected)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("attention", ["relative", "absolute"])
def test_no_model_attends_to_padding_and_a_causal_one_not_to_later_nodes(causal, attention):
    torch.manual_seed(0)
    model = Transformer(ModelConfig(**TINY, attention=attention), 5, 7, causal).eval()
    types, values, mask = random_ids()
    before = model(types, values, mask)
    padded = model(F.pad(types, (0, 4)), F.pad(values, (0, 4)), F.pad(mask, (0, 4)))
    torch.testing.assert_close(padded[:, :6], before)
    values[0, 4] = (values[0, 4] + 1) % 7
    after = model(types, values, mask)
    assert torch.equal(after[:, :4], before[:, :4]) == causal
    assert not torch.allclose(after[:, 4:], before[:, 4:])


def test_absolute_positions_are_learned_and_the_last_one_is_shared():
    """Six equal nodes, four positions: nodes differ by their position alone."""
    model = Transformer(ModelConfig(**TINY, attention="absolute"), 5, 7, max_length=4).eval()
    types = values = torch.ones(1, 6, dtype=torch.long)
    hidden_states = model(types, values, torch.ones(1, 6, dtype=torch.bool))[0]
    assert len({tuple(state) for state in hidden_states.tolist()}) == 4
    assert torch.equal(hidden_states[3], hidden_states[5])
    assert model.num_parameters() == Transformer(ModelConfig(**TINY, attention="absolute"), 1, 1).num_parameters()
    with torch.no_grad():
        model.positions.weight.zero_()
    hidden_states = model(types, values, torch.ones(1, 6, dtype=torch.bool))[0]
    torch.testing.assert_close(hidden_states, hidden_states[:1].expand(6, -1))


def test_plain_attention_equals_the_formula():
    torch.manual_seed(0)
    attention = Attention(8, 2, dropout=0.0, causal=True)
    hidden_states, mask = torch.randn(1, 4, 8), torch.ones(1, 4, dtype=torch.bool)
    q, k, v = attention.qkv_proj(hidden_states).view(4, 3, 2, 4).permute(1, 2, 0, 3)
    scores = (q @ k.mT / 2).masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(1), float("-inf"))
    expected = (scores.softmax(dim=-1) @ v).permute(1, 0, 2).reshape(1, 4, 8)
    torch.testing.assert_close(attention(hidden_states, mask), attention.out_proj(expected))
    torch.testing.assert_close(attention.log_weights(hidden_states, mask)[0].exp(), scores.softmax(dim=-1).mean(dim=0))


@pytest.mark.parametrize("attention", ["relative", "absolute"])
@pytest.mark.parametrize("steps", [[1] * 6, [3, 2, 1]])
def test_reading_with_a_kv_cache_equals_reading_at_once(attention, steps):
    torch.manual_seed(0)
    model = Transformer(ModelConfig(**TINY, attention=attention), 5, 7, causal=True, max_length=5).eval()
    types, values, mask = random_ids()
    whole: list[torch.Tensor] = []
    expected = model(types, values, mask, log_weights=whole)
    caches, start = model.new_kv_caches(), 0
    for step in steps:
        new, weights = slice(start, start + step), []
        start += step
        hidden_states = model(types[:, new], values[:, new], mask[:, :start], kv_caches=caches, log_weights=weights)
        torch.testing.assert_close(hidden_states, expected[:, new])
        torch.testing.assert_close(weights[0].exp(), whole[0][:, new, :start].exp())


@pytest.mark.parametrize(("init", "embeddings", "offsets"), [("torch", 1.0, 1.0), ("xavier", 0.0533, 0.246)])
def test_initial_weights_as_published(init, embeddings, offsets):
    torch.manual_seed(0)
    model = Transformer(ModelConfig(d_model=64, num_layers=1, num_heads=4, init=init, shared_offsets=True), 9, 640)
    assert model.values.weight.std().item() == pytest.approx(embeddings, rel=0.05)
    assert model.layers[0].attention.rel_keys.std().item() == pytest.approx(offsets, rel=0.2)


@pytest.mark.parametrize("ffn_dropout", [False, True])
def test_dropout_applies_to_embeddings_weights_attention_and_feed_forward(monkeypatch, ffn_dropout):
    """Seven or nine dropouts in two layers, each with the configured rate, and only in training."""
    calls = []

    def record(tensor, rate, training=True):
        calls.append((tuple(tensor.shape), rate, training))
        return tensor

    monkeypatch.setattr(F, "dropout", record)
    model = Transformer(ModelConfig(**TINY | {"dropout": 0.3}, ffn_dropout=ffn_dropout), 5, 7)
    ids = random_ids()
    model(*ids)
    hidden_states, weights = (1, 6, 16), (1, 2, 6, 8 + 6 + 8)  # of keys padded by the largest distance
    per_layer = [weights, hidden_states, *[(1, 6, 32)] * ffn_dropout, hidden_states]
    assert calls == [(shape, 0.3, True) for shape in [hidden_states, *per_layer, *per_layer]]
    calls.clear()
    model.eval()(*ids)
    assert not any(training for _, _, training in calls)


@pytest.mark.parametrize("is_on", [False, True])
def test_warm_starts_of_attention_and_embeddings(is_on):
    starts = dict.fromkeys(["init_tied_qk", "init_copy_values", "scale_embeddings"], is_on)
    model = Transformer(ModelConfig(**TINY, **starts), 7, 9)
    types, values = torch.tensor([[2, 3]]), torch.tensor([[4, 0]])
    embedded = model.types.weight[types] + model.values.weight[values]
    torch.testing.assert_close(model.embed(types, values), (4 if is_on else 1) * embedded)  # √16
    for layer in model.layers:
        queries, keys, values = layer.attention.qkv_proj.weight.chunk(3)
        assert torch.equal(queries, keys) == is_on
        assert torch.equal(layer.attention.out_proj.weight, values.T) == is_on


def test_initial_weights_have_the_usual_scale():
    torch.manual_seed(0)
    model = Transformer(ModelConfig(d_model=64, num_layers=1, num_heads=4, d_ff=64), 500, 500)
    assert model.values.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    assert model.types.weight.std().item() == pytest.approx(64**-0.5, rel=0.05)
    for offsets in (model.layers[0].attention.rel_keys, model.layers[0].attention.rel_values):
        assert offsets.std().item() == pytest.approx(0.02, rel=0.1)
    limit = (6 / 128) ** 0.5  # Xavier
    assert model.layers[0].up_proj.weight.abs().max().item() == pytest.approx(limit, rel=0.01)
    assert not model.layers[0].up_proj.bias.any()


@pytest.mark.parametrize("is_on", [True, False])
def test_a_causal_model_can_start_with_an_induction_head(is_on):
    torch.manual_seed(0)
    shape = {"d_model": 128, "num_layers": 2, "num_heads": 2, "d_ff": 128, "max_relative_distance": 8, "dropout": 0.0}
    starts = {"init_tied_qk": True, "init_copy_values": True, "scale_embeddings": True, "init_neighbour_heads": is_on}
    model = Transformer(ModelConfig(**shape, **starts), 5, 200, causal=True).eval()
    nodes = torch.stack([torch.randperm(200)[:40] for _ in range(20)])
    nodes = torch.cat([nodes, nodes[:, 10:11]], dim=1)  # node 10 is repeated at the end
    first, second = model.layers
    for layer in model.layers:
        values = layer.attention.qkv_proj.weight.chunk(3)[2]
        assert torch.allclose(values @ values.T, torch.eye(128), atol=1e-5) == is_on  # so that copies are exact
    hidden_states = second.attn_norm(first(model.embed(nodes % 5, nodes), torch.ones_like(nodes, dtype=torch.bool)))
    queries, keys, _ = second.attention.qkv_proj(hidden_states).chunk(3, dim=-1)
    scores = (queries[:, -1:, :64] @ keys[:, :, :64].transpose(1, 2)).mean(dim=(0, 1))  # of head 0
    assert scores.argmax() == (11 if is_on else 40)  # what followed node 10, or the node itself


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_a_model_can_start_with_heads_that_attend_to_adjacent_nodes(num_heads):
    torch.manual_seed(0)
    shape = {"d_model": 32, "num_layers": 1, "num_heads": num_heads, "d_ff": 32, "max_relative_distance": 4}
    model = Transformer(ModelConfig(**shape, init_tied_qk=True, init_neighbour_heads=True), 9, 9)
    attention = model.layers[0].attention
    hidden_states = F.layer_norm(torch.randn(1, 12, 32), [32])
    queries, keys, _ = attention.qkv_proj(hidden_states).view(12, 3, num_heads, -1).permute(1, 2, 0, 3)
    offsets = (torch.arange(12) - 6).clamp(-4, 4) + 4
    scores = (queries[:, 6, None] * (keys + attention.rel_keys[:, offsets])).sum(-1)
    assert scores.argmax(dim=-1).tolist()[:2] == [5, 7][:num_heads]
    d_head, limit = 32 // num_heads, (6 / 128) ** 0.5  # Xavier
    assert (attention.qkv_proj.bias[:d_head] @ attention.rel_keys[0, 3]).item() == pytest.approx(8 * d_head**0.5)
    scales = [part[:d_head].abs().max().item() / limit for part in attention.qkv_proj.weight.chunk(3)]
    assert scales == pytest.approx([0.3, 0.3, 1], rel=0.05)  # of queries, keys and values
