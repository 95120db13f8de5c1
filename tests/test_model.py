"""The Transformer: fast relative attention against a slow, obvious one."""

import math

import pytest
import torch
import torch.nn.functional as F

from rarename.model import ModelConfig, Transformer
from rarename.model import attention as attentions
from rarename.model.attention import RelativeAttention


def slow_attention(module, states, attention_mask):
    """Shaw et al. 2018, equations 3 and 4, pair by pair."""
    batch, length, width = states.shape
    size = width // module.heads
    projected = module.qkv_proj(states).view(batch, length, 3, module.heads, size)
    rows = []
    for b in range(batch):
        heads = []
        for h in range(module.heads):
            queries, keys, values = (projected[b, :, part, h] for part in range(3))
            outputs = []
            for i in range(length):
                seen = [j for j in range(length) if attention_mask[b, j] and (j <= i or not module.is_causal)]
                offsets = [max(-module.distance, min(module.distance, j - i)) + module.distance for j in seen]
                scores = torch.stack(
                    [
                        queries[i] @ (keys[j] + module.rel_keys[h, o]) / math.sqrt(size)
                        for j, o in zip(seen, offsets, strict=True)
                    ]
                )
                weights = scores.softmax(dim=0)
                outputs.append(
                    sum(
                        w * (values[j] + module.rel_values[h, o])
                        for w, j, o in zip(weights, seen, offsets, strict=True)
                    )
                )
            heads.append(torch.stack(outputs))
        rows.append(torch.cat(heads, dim=1))
    return module.output(torch.stack(rows))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("length", "distance"), [(1, 2), (3, 4), (7, 2), (9, 8), (11, 3)])
def test_fast_attention_equals_the_slow_one_in_values_and_gradients(length, distance, is_causal, monkeypatch):
    monkeypatch.setattr(attentions, "BLOCK", 4)
    torch.manual_seed(0)
    module = RelativeAttention(8, 2, distance, 0.0, is_causal).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(2, length, 8, dtype=torch.double, requires_grad=True)
    attention_mask = torch.ones(2, length, dtype=torch.bool)
    attention_mask[1, length // 2 + 1 :] = False
    weights = torch.randn(2, length, 8, dtype=torch.double) * attention_mask[:, :, None]
    results = []
    for attention in (module, lambda *words: slow_attention(module, *words)):
        output = attention(states, attention_mask)
        tensors = [states, *module.parameters()]
        results.append([output * attention_mask[:, :, None], *torch.autograd.grad((output * weights).sum(), tensors)])
    for fast, slow in zip(*results, strict=True):
        torch.testing.assert_close(fast, slow)


@pytest.mark.parametrize("steps", [[6], [1, 1, 1, 1, 1, 1], [3, 2, 1]])
def test_reading_on_with_a_memory_equals_reading_all_at_once(steps):
    torch.manual_seed(0)
    model = Transformer(ModelConfig(16, 2, 2, 32, distance=3, dropout=0.0, is_causal=True), 5, 7).eval()
    types, values, attention_mask = torch.randint(5, (2, 6)), torch.randint(7, (2, 6)), torch.ones(2, 6, dtype=torch.bool)
    memory, states, start = model.new_kv_caches(), [], 0
    for step in steps:
        part = slice(start, start + step)
        states.append(model(types[:, part], values[:, part], attention_mask[:, part], memory=memory))
        start += step
    torch.testing.assert_close(torch.cat(states, dim=1), model(types, values, attention_mask))


@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_has_the_gradient_of_what_it_gave(is_causal):
    torch.manual_seed(0)
    module = RelativeAttention(8, 2, 3, 0.4, is_causal).double()
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    states = torch.randn(2, 7, 8, dtype=torch.double, requires_grad=True)
    attention_mask = torch.ones(2, 7, dtype=torch.bool)

    def with_the_same_dropout(states):
        torch.manual_seed(1)
        return module(states, attention_mask)

    assert torch.autograd.gradcheck(with_the_same_dropout, (states,))


def test_only_a_causal_model_has_a_memory():
    with pytest.raises(ValueError, match="looks to both sides"):
        Transformer(ModelConfig(16, 1, 2, 32), 5, 7).new_kv_caches()


def test_the_paper_counts_19_million_parameters_without_embeddings():
    assert Transformer(ModelConfig(), 10, 10).num_parameters() == pytest.approx(19e6, rel=0.03)


def test_padding_changes_nothing():
    torch.manual_seed(0)
    model = Transformer(ModelConfig(16, 2, 2, 32, dropout=0.0), 5, 7).eval()
    types, values = torch.randint(5, (1, 6)), torch.randint(7, (1, 6))
    alone = model(types, values, torch.ones(1, 6, dtype=torch.bool))
    padded = [torch.cat([ids, torch.zeros(1, 4, dtype=torch.long)], dim=1) for ids in (types, values)]
    attention_mask = torch.arange(10)[None] < 6
    torch.testing.assert_close(model(*padded, attention_mask)[:, :6], alone)


def test_a_causal_model_does_not_see_what_follows():
    torch.manual_seed(0)
    model = Transformer(ModelConfig(16, 2, 2, 32, dropout=0.0, is_causal=True), 5, 7).eval()
    types, values, attention_mask = torch.randint(5, (1, 6)), torch.randint(7, (1, 6)), torch.ones(1, 6, dtype=torch.bool)
    before = model(types, values, attention_mask)
    values[0, 4] = (values[0, 4] + 1) % 7
    after = model(types, values, attention_mask)
    torch.testing.assert_close(after[:, :4], before[:, :4])
    assert not torch.allclose(after[:, 4:], before[:, 4:])


def test_how_a_model_begins():
    shape = {"d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 16, "is_causal": True}
    model = Transformer(ModelConfig(**shape, is_matching=True, is_copying=True, is_scaled=True), 7, 9)
    types, values = torch.tensor([[2, 3]]), torch.tensor([[4, 0]])
    plain = model.types.weight[types] + model.values.weight[values]
    torch.testing.assert_close(model.embed(types, values), 4 * plain)  # the root of the width
    attention = model.num_layers[0].attention
    to_queries, to_keys, to_values = attention.qkv_proj.weight.chunk(3)
    torch.testing.assert_close(to_queries, to_keys)
    torch.testing.assert_close(attention.output.weight, to_values.T)
    model = Transformer(ModelConfig(**shape), 7, 9)
    plain = model.types.weight[types] + model.values.weight[values]
    torch.testing.assert_close(model.embed(types, values), plain)
    to_queries, to_keys, to_values = model.num_layers[0].attention.qkv_proj.weight.chunk(3)
    assert not torch.equal(to_queries, to_keys)


@pytest.mark.parametrize("sees", [True, False])
def test_a_causal_model_can_begin_with_what_followed_the_same_node_before(sees):
    torch.manual_seed(0)
    shape = {"d_model": 128, "num_layers": 2, "num_heads": 2, "d_ff": 128, "max_relative_distance": 8, "dropout": 0.0}
    starts = {"is_causal": True, "init_tied_qk": True, "init_copy_values": True, "scale_embeddings": True}
    model = Transformer(ModelConfig(**shape, **starts, sees_neighbours=sees), 5, 200).eval()
    nodes = torch.stack([torch.randperm(200)[:40] for _ in range(20)])
    nodes = torch.cat([nodes, nodes[:, 10:11]], dim=1)  # what stood at place 10 comes again
    first, second = model.num_layers
    states = second.attn_norm(first(model.embed(nodes % 5, nodes), torch.ones_like(nodes, dtype=torch.bool)))
    queries, keys, _ = second.attention.qkv_proj(states).chunk(3, dim=-1)
    scores = (queries[:, -1:, :64] @ keys[:, :, :64].transpose(1, 2)).mean(dim=(0, 1))  # of the first head
    assert scores.argmax() == (11 if sees else 40)  # what followed, or the node itself


def test_what_followed_takes_two_layers():
    ModelConfig(layers=1, sees_neighbours=True)
    with pytest.raises(ValueError, match="sees_neighbours needs two layers"):
        ModelConfig(layers=1, sees_neighbours=True, is_causal=True)


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_a_model_can_begin_with_a_look_at_the_neighbours(heads):
    torch.manual_seed(0)
    model = Transformer(ModelConfig(32, 1, heads, 32, 4, dropout=0.0, is_matching=True, sees_neighbours=True), 9, 9)
    attention = model.num_layers[0].attention
    states = F.layer_norm(torch.randn(1, 12, 32), [32])
    queries, keys, _ = attention.qkv_proj(states).view(12, 3, heads, -1).permute(1, 2, 0, 3)
    near = (queries[:, 6, None] * (keys + attention.rel_keys[:, (torch.arange(12) - 6).clamp(-4, 4) + 4])).sum(-1)
    assert near.argmax(dim=-1).tolist()[:2] == [5, 7][:heads]


def test_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="a width of 10 cannot be divided among 4 heads"):
        ModelConfig(width=10, heads=4)
