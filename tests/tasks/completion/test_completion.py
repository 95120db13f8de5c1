"""Code completion: what counts, loss, ranks, the pointer against the formula, and the windows of a corpus."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rarename.anonymize import STRATEGIES
from rarename.config import CompletionConfig, ModelConfig
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import TooFewPlaceholders
from rarename.model.kv_cache import KVCache
from rarename.syntax import Role
from rarename.tasks.completion import loss as completion_losses
from rarename.tasks.completion.collate import Window, collate
from rarename.tasks.completion.dataset import WindowDataset
from rarename.tasks.completion.loss import completion_loss, is_predictable
from rarename.tasks.completion.metrics import CompletionMetrics, value_ranks
from rarename.tasks.completion.model import CompletionCache, CompletionModel, CompletionOutput
from rarename.tasks.completion.predict import extended_probs
from rarename.tasks.completion.task import CompletionTask
from rarename.training.trainer import to_device
from rarename.vocabulary import Special, Vocabulary

EMPTY = Special.EMPTY.rank
NAMES = ["self", "data", "read"]
SMALL = ModelConfig(d_model=16, num_layers=1, num_heads=2, d_ff=16, max_relative_distance=4, dropout=0.0)
CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


def make_encoding(strategy="ordered", num_placeholders=20):
    return Encoding(Vocabulary(NAMES), Vocabulary(["Name", "Call", "Str"]), strategy, num_placeholders)


def window(*values, num_context=0, roles=None, project=0):
    if roles is None:
        roles = np.where(np.array(values) == EMPTY, Role.NONE, Role.READ)
    types = np.arange(len(values), dtype=np.int16) % 3
    return Window(types, np.array(values), np.array(roles, np.int8), num_context, project)


def make_batch(*windows, strategy="ordered"):
    return to_device(collate(windows, make_encoding(strategy), range(len(windows))), CPU)


def make_model(strategy="ordered", copy_pointer=False):
    torch.manual_seed(0)
    encoding = make_encoding(strategy)
    pointer = (True, copy_pointer) if isinstance(copy_pointer, str) else (copy_pointer,)
    model = CompletionModel(SMALL, encoding.num_types, encoding.num_values, *pointer).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def id_of(name):
    """The model id of a name, or of VARn."""
    if name.startswith("VAR"):
        return make_encoding().first_placeholder + int(name[3:]) - 1
    return len(Special) + NAMES.index(name)


def output_that_ranks(batch, *best):
    """An output without a pointer; `best` are the best value ids after each node of the first window."""
    encoding, d_model = make_encoding(), 64
    model = CompletionModel(ModelConfig(d_model=d_model, num_heads=2), encoding.num_types, encoding.num_values)
    with torch.no_grad():
        model.transformer.values.weight.zero_()
        model.transformer.values.weight[:, : encoding.num_values] = torch.eye(encoding.num_values)
    hidden_states = torch.zeros(*batch.types.shape, d_model)
    for node, ids in enumerate(best):
        for rank, value_id in enumerate(ids):
            hidden_states[0, node, value_id] = 100.0 - rank
    return CompletionOutput(hidden_states, model)


def metrics_of(output, batch, project_names=("a",)):
    metrics = CompletionMetrics(list(project_names))
    metrics.update(output, batch)
    return metrics


# What counts


def test_targets_and_values_of_a_batch():
    batch = make_batch(window(0, 1, 2, 0), window(0, 1, 2, num_context=2))
    assert batch.is_target.tolist() == [[False, True, True, True], [False, False, True, False]]
    batch = make_batch(window(0, EMPTY, 1), window(0))
    assert batch.has_value.tolist() == [[True, False, True], [True, False, False]]
    assert batch.attention_mask.tolist() == [[True, True, True], [True, False, False]]


def test_the_first_occurrence_of_a_placeholder_is_not_predictable():
    assert make_batch(window(0, 7, 8, 7, 1)).is_predictable[0].tolist() == [True, False, False, True, True]
    assert make_batch(window(7, 0, 7, num_context=2)).is_predictable[0, 2]
    with pytest.raises(TooFewPlaceholders):
        make_batch(window(*range(10, 40)))


def test_unk_is_not_predictable_but_a_pointer_may_copy_it():
    batch = make_batch(window(7, 0, 7, 8), strategy="standard")
    assert batch.values[0].tolist() == [Special.UNK, id_of("self"), Special.UNK, Special.UNK]
    first_extended = make_encoding().num_values  # the extended vocabulary distinguishes rare values
    assert (batch.extended_ids[0] - first_extended).tolist() == [0, id_of("self") - first_extended, 0, 3]
    for other in (batch, make_batch(window(7, 0, 7, 8))):
        assert other.is_rare[0].tolist() == [True, False, True, True]
    plain, pointer = (make_model("standard", is_on)(**batch.inputs()) for is_on in (False, True))
    assert is_predictable(plain, batch)[0].tolist() == [False, True, False, False]
    assert is_predictable(pointer, batch)[0].tolist() == [False, True, True, False]


# Ranks and metrics


@pytest.mark.parametrize(("rank", "mrr"), [(1, 1.0), (2, 0.5), (10, 0.1), (11, 0.0), (20, 0.0)])
def test_the_reciprocal_rank_counts_to_ten(rank, mrr):
    batch = make_batch(window(0, 1))
    others = [value_id for value_id in range(make_encoding().num_values) if value_id != id_of("data")]
    metrics = metrics_of(output_that_ranks(batch, [*others[: rank - 1], id_of("data")]), batch).compute()
    assert metrics["mrr_values"] == pytest.approx(mrr)
    assert metrics["accuracy_values"] == (rank == 1)
    assert metrics["num_values"] == 1


@pytest.mark.parametrize(
    ("strategy", "values", "best", "expected"),
    [
        pytest.param("standard", (0, 7), [[Special.UNK]], [0], id="UNK scores 0"),
        pytest.param("ordered", (0, 7), [["VAR1"]], [0], id="first occurrence scores 0"),
        pytest.param("ordered", (0, 7, 7), [[], ["VAR1"]], [0, 1], id="second occurrence"),
        pytest.param("ordered", (0, EMPTY, 0), [[], ["self"]], [1], id="empty values do not count"),
        pytest.param("ordered", (0, 1, 2), [["data"], ["data", "read"]], [1, 2], id="two values"),
    ],
)
def test_ranks_of_values(strategy, values, best, expected):
    batch = make_batch(window(*values), strategy=strategy)
    ids = [[id_of(name) if isinstance(name, str) else name for name in names] for names in best]
    metrics = metrics_of(output_that_ranks(batch, *ids), batch)
    assert metrics.columns()["rank"].tolist() == expected
    assert metrics.compute()["num_values"] == len(expected)
    assert metrics.compute()["mrr_values"] == pytest.approx(sum(1 / rank for rank in expected if rank) / len(expected))
    assert metrics.breakdown()["possible_values"] == sum(rank > 0 for rank in expected) / len(expected)


def test_types_are_ranked_for_every_target():
    batch, model = make_batch(window(0, EMPTY, EMPTY, 1, num_context=2)), make_model()
    output = model(**batch.inputs())
    metrics = metrics_of(output, batch)
    assert (metrics.compute()["num_types"], metrics.compute()["num_values"]) == (2, 1)
    logits = model.type_logits(output.hidden_states[0, 1:3])  # after the node before
    expected = [1 + (row > row[target]).sum().item() for row, target in zip(logits, batch.types[0, 2:], strict=True)]
    assert metrics.columns()["type_rank"].tolist() == expected


def test_metrics_by_kind_by_project_and_by_rarity():
    roles = [Role.READ, Role.READ, Role.ATTRIBUTE, Role.STRING]
    batch = make_batch(window(0, 1, 2, 0, roles=roles, project=1))
    output = output_that_ranks(batch, [id_of("data")], [id_of("data"), id_of("read")], [])
    breakdown = metrics_of(output, batch, ["first", "second"]).breakdown()
    assert breakdown["by_kind"]["reads"] == {"mrr": 1.0, "accuracy": 1.0, "num": 1}
    assert breakdown["by_kind"]["attributes"] == {"mrr": 0.5, "accuracy": 0.0, "num": 1}
    assert breakdown["by_kind"]["names"]["num"] == 2
    assert breakdown["by_kind"]["strings"]["num"] == 1
    assert list(breakdown["by_project"]) == ["second"]
    assert breakdown["by_project"]["second"]["num_values"] == 3
    batch = make_batch(window(0, 7, 7, 0, 1))  # in or outside the vocabulary, seen before or not: one of each
    best = [["VAR1"], ["VAR1"], ["read", "self"], ["read", "self", "data"]]
    output = output_that_ranks(batch, *([id_of(name) for name in names] for names in best))
    assert metrics_of(output, batch).breakdown()["by_rarity"] == {
        "frequent, again": {"mrr": 0.5, "accuracy": 0.0, "num": 1},
        "rare, again": {"mrr": 1.0, "accuracy": 1.0, "num": 1},
        "frequent, first": {"mrr": pytest.approx(1 / 3), "accuracy": 0.0, "num": 1},
        "rare, first": {"mrr": 0.0, "accuracy": 0.0, "num": 1},
    }


# Loss


def test_the_loss_is_the_sum_of_two_cross_entropies():
    batch, model = make_batch(window(0, 7, EMPTY, 7, 1), window(1, 0, num_context=2)), make_model()
    output = model(**batch.inputs())
    loss = completion_loss(output, batch)
    assert loss.counts.tolist() == [4, 2]  # the types of four nodes; the values of the second 7 and of 1
    hidden_states, types, values = output.hidden_states[0], 0.0, 0.0
    for node in range(1, 5):
        types -= model.type_logits(hidden_states[node - 1]).log_softmax(-1)[batch.types[0, node]]
    for node in (3, 4):
        values -= model.value_logits(hidden_states[node - 1]).log_softmax(-1)[batch.values[0, node]]
    torch.testing.assert_close(loss.mean(), types / 4 + values / 2)


@pytest.mark.parametrize("copy_pointer", [False, True])
def test_the_loss_in_chunks_has_the_same_value_and_gradient(copy_pointer, monkeypatch):
    batch = make_batch(window(0, 7, EMPTY, 7, 1, 2, 7), window(1, 0, 5, 5))
    model = make_model(copy_pointer=copy_pointer)
    results = []
    for size in (1 << 24, 2 * make_encoding().num_values):
        monkeypatch.setattr(completion_losses, "LOGIT_CHUNK", size)
        model.zero_grad()
        loss = completion_loss(model(**batch.inputs()), batch).mean()
        loss.backward()
        results.append([loss.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for whole, in_chunks in zip(*results, strict=True):
        torch.testing.assert_close(whole, in_chunks)


# The pointer


def own_attention(model, output, batch, row, node):
    """The attention of the pointer from the node before to each visible one."""
    query, _ = model.pointer.qk_proj(output.hidden_states[row, node - 1]).chunk(2)
    _, keys = model.pointer.qk_proj(output.hidden_states[row, :node]).chunk(2, dim=-1)
    return (keys @ query / math.sqrt(len(query))).softmax(0)


def last_attention(model, output, batch, row, node):
    """That of the last layer, averaged over its heads."""
    layer_in, last = [], model.transformer.layers[-1]
    last.register_forward_pre_hook(lambda _, arguments: layer_in.append(arguments[0]))
    model.transformer(batch.types, batch.values, batch.attention_mask)
    attention = last.attention
    qkv = attention.qkv_proj(last.attn_norm(layer_in[0][row, :node])).view(node, 3, attention.num_heads, -1)
    offsets = [max(-attention.max_distance, j - node + 1) + attention.max_distance for j in range(node)]
    weights = [
        ((qkv[:, 1, head] + attention.rel_keys[head, offsets]) @ qkv[-1, 0, head] / math.sqrt(qkv.shape[-1])).softmax(0)
        for head in range(attention.num_heads)
    ]
    return torch.stack(weights).mean(dim=0)


@torch.no_grad()
def reference_probs(model, output, batch, row, node):
    """The formula of the paper, one value of the extended vocabulary at a time."""
    hidden_state = output.hidden_states[row, node - 1]
    inputs = model.transformer.embed(batch.types, batch.values)[row, node - 1]
    sources = [j for j in range(node) if batch.values[row, j] != Special.EMPTY]
    gate = torch.sigmoid(model.pointer.gate_hidden(hidden_state) + model.pointer.gate_input(inputs)) if sources else 1.0
    probs = {value: float(gate * prob) for value, prob in enumerate(model.value_logits(hidden_state).softmax(-1))}
    attention = (own_attention if model.pointer.qk_proj else last_attention)(model, output, batch, row, node)
    copied = attention[sources] / attention[sources].sum()
    for j, prob in zip(sources, copied, strict=True):
        value = int(batch.extended_ids[row, j])
        probs[value] = probs.get(value, 0.0) + float((1 - gate) * prob)
    return probs


WINDOWS = (window(7, 0, EMPTY, 7, 8, 0, 7), window(EMPTY, EMPTY, 9, 1))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("attention", ["own", "last_layer"])
def test_the_pointer_follows_the_formula(strategy, attention):
    batch, model = make_batch(*WINDOWS, strategy=strategy), make_model(strategy, attention)
    output = model(**batch.inputs())
    rows, nodes = batch.is_target.nonzero(as_tuple=True)
    probs = output.extended_log_probs(rows, nodes, batch).exp().detach()
    torch.testing.assert_close(probs.sum(dim=1), torch.ones(len(rows), dtype=torch.double))
    targets = batch.is_target & batch.has_value & is_predictable(output, batch)
    losses = []
    for index, (row, node) in enumerate(zip(rows.tolist(), nodes.tolist(), strict=True)):
        reference = reference_probs(model, output, batch, row, node)
        assert {value: probs[index, value].item() for value in reference} == pytest.approx(reference, abs=1e-12)
        if targets[row, node]:
            losses.append(-math.log(reference[int(batch.extended_ids[row, node])]))
    loss = completion_loss(output, batch)
    assert loss.sums[1].item() == pytest.approx(sum(losses))
    assert loss.counts[1] == len(losses)


@pytest.mark.parametrize("copy_pointer", [False, "own", "last_layer"])
@pytest.mark.parametrize("strategy", ["standard", "ordered"])
def test_predictions_with_a_cache_in_numpy_equal_those_of_a_whole_window(strategy, copy_pointer):
    batch, model = make_batch(window(7, 0, EMPTY, 7, 8, 0, 7), strategy=strategy), make_model(strategy, copy_pointer)
    expected = model(**batch.inputs())
    cache = model.new_cache()
    with torch.no_grad():
        for start, stop in ((0, 1), (1, 4), (4, 6)):
            new = slice(start, stop)
            arguments = batch.types[:, new], batch.values[:, new], batch.has_value[:, :stop]
            outputs = {name: array.numpy() for name, array in model.predict_next(*arguments, cache).items()}
            probs = extended_probs(outputs, batch.extended_ids[0, :stop].numpy())
            at = torch.tensor([0]), torch.tensor([stop])
            whole = expected.extended_log_probs(*at, batch)[0].exp()[: len(probs)]
            np.testing.assert_allclose(probs, whole.numpy(), atol=1e-12)
            types = model.type_logits(expected.hidden_states[:, new])
            np.testing.assert_allclose(outputs["type_logits"], types.numpy(), atol=1e-12)
        cache.crop(4)
        again = model.predict_next(batch.types[:, 4:6], batch.values[:, 4:6], batch.has_value[:, :6], cache)
    for name, array in outputs.items():
        np.testing.assert_allclose(again[name].numpy(), array, atol=1e-12)


def test_copies_of_one_value_add_up_in_its_rank():
    """Each of two nodes is less probable than `data`, but both hold the same rare name."""
    batch, model = make_batch(window(7, 7, 7), strategy="standard"), make_model("standard", copy_pointer=True)
    output = model(**batch.inputs())
    copy_log_probs = torch.full_like(output.copy_log_probs, -1e9)
    copy_log_probs[0, 1, :2] = math.log(0.5)
    with torch.no_grad():
        model.value_bias.fill_(-50.0)
        model.value_bias[id_of("data")] = 0.0  # generated with certainty
    hidden_states = torch.zeros_like(output.hidden_states)
    for gate, rank in ((0.2, 2), (-0.2, 1)):
        gate_logit = torch.full_like(output.gate_logit, gate)
        output = CompletionOutput(hidden_states, model, copy_log_probs, gate_logit)
        assert value_ranks(output, torch.tensor([0]), torch.tensor([2]), batch).tolist() == [rank]


# Windows of a corpus


def test_windows_cover_each_file_once(corpus_folder):
    corpus = Corpus(corpus_folder)
    dataset = WindowDataset(corpus, "train", CompletionConfig(window_size=100, stride=50))
    files, windows = list(corpus.split("train")), [dataset[index] for index in range(len(dataset))]
    for column in ("types", "values", "roles"):
        targets = [getattr(each, column)[each.num_context :] for each in windows]
        np.testing.assert_array_equal(np.concatenate(targets), np.concatenate([getattr(f, column) for f in files]))
    assert min(each.num_context for each in windows if each.num_context) == 50
    assert dataset.lengths.tolist() == [len(each.types) for each in windows]
    assert {dataset.project_names[each.project] for each in windows} == {file.project for file in files}


def make_task(corpus, encoding, seed=0, **settings):
    settings = {"window_size": 100, "stride": 100} | settings
    return CompletionTask(corpus, encoding, CompletionConfig(**settings), 1_000, seed)


def test_a_task_on_a_corpus(corpus_folder, other_corpus_folder):
    """Training has its own stride, evaluation half a window; another corpus gives the same evaluation batches."""
    corpus, other = Corpus(corpus_folder), Corpus(other_corpus_folder)
    assert (corpus.ranking(*CompletionTask.vocabulary_roles) == np.arange(corpus.num_values)).all()
    encoding = Encoding(corpus.vocabulary(300, *CompletionTask.vocabulary_roles), corpus.types, "randomized")
    task = make_task(corpus, encoding)
    config = CompletionConfig(window_size=100, stride=100)
    num_windows = len(WindowDataset(corpus, "train", config))
    assert (task.num_examples(), task.num_examples(0.5)) == (num_windows, round(num_windows / 2))
    assert task.num_eval_examples("test") == len(WindowDataset(corpus, "test", config))
    assert sorted(index for batch in task.batches(0) for index in batch) == list(range(num_windows))
    lengths = task.dataset("train").lengths
    assert all(len(batch) * lengths[batch].max() <= 1_000 for batch in task.batches(0))
    assert list(task.batches(0)) != list(task.batches(1))
    assert not task.is_multi_bug_epoch(0)
    assert sum(len(batch) for batch in task.eval_batches("test", 7)) == 7
    pairs = list(zip(task.eval_batches("test"), make_task(other, encoding, seed=1).eval_batches("test"), strict=True))
    assert pairs
    for one, two in pairs:
        assert np.array_equal(one.types, two.types)
        assert np.array_equal(one.values, two.values)


def fake_task(strategy, seed=0):
    corpus = SimpleNamespace(types=[], vocabulary=lambda *_: NAMES, ranking=lambda *_: np.arange(0))
    encoding = Encoding(Vocabulary(NAMES), Vocabulary([]), strategy, 50)
    task = make_task(corpus, encoding, seed)
    task.dataset = lambda split: [window(7, 8, 9, 10, 7)] * 2
    return task


def test_randomized_placeholders_are_drawn_again_in_each_epoch():
    first, second = (fake_task("randomized").make_batch([0, 1], epoch).values for epoch in (0, 1))
    assert (first != second).any()
    assert (first[0] != first[1]).any()  # and for each window
    assert (first == fake_task("randomized").make_batch([0, 1], 0).values).all()
    assert (first != fake_task("randomized", seed=1).make_batch([0, 1], 0).values).any()
    ordered = [fake_task("ordered").make_batch([0, 1], epoch).values for epoch in (0, 1)]
    assert (ordered[0] == ordered[1]).all()


# Export


def test_the_model_is_exported_with_dynamic_batch_length_and_cache():
    """One step of `predict_next`, with the caches of all layers and of the pointer as inputs and outputs."""
    torch.manual_seed(0)
    config = ModelConfig(16, 1, 2, 16, 4, dropout=0.1)
    model = CompletionModel(config, 9, 20, copy_pointer=True).eval()

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, types, values, has_value, keys, kv_values, pointer_keys):
            cache = CompletionCache([KVCache(keys, kv_values)], pointer_keys)
            outputs = self.model.predict_next(types, values, has_value, cache)
            return tuple(outputs.values()), cache.layers[0].keys, cache.layers[0].values, cache.pointer_keys

    def inputs(batch, num_cached, num_new):
        total = num_cached + num_new
        types, values = torch.randint(9, (batch, total)), torch.randint(20, (batch, total))
        has_value, cache = torch.rand(batch, total) > 0.3, model.new_cache()
        model.predict_next(types[:, :num_cached], values[:, :num_cached], has_value[:, :num_cached], cache)
        layer = cache.layers[0]
        new = slice(num_cached, None)
        return types[:, new], values[:, new], has_value, layer.keys, layer.values, cache.pointer_keys

    auto = torch.export.Dim.AUTO
    shapes = (*[{0: auto, 1: auto}] * 3, *[{0: auto, 2: auto}] * 2, {0: auto, 1: auto})
    with torch.no_grad():
        program = torch.export.export(Step(), inputs(3, 7, 4), dynamic_shapes=shapes, strict=False).module()
        for other in (inputs(2, 5, 3), inputs(4, 30, 20)):
            torch.testing.assert_close(program(*other), Step()(*other))
