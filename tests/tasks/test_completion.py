"""Code completion: the windows, the loss, the ranks, and the pointer against a slow one."""

import math

import numpy as np
import pytest
import torch

from rarename.anonymize import STRATEGIES
from rarename.presets import preset_config
from rarename.corpus import Corpus
from rarename.encoding import Encoding
from rarename.errors import TooFewPlaceholders, UsageError
from rarename.model import ModelConfig
from rarename.runs.run import evaluate, make_encoding, train
from rarename.syntax import Role
from rarename.tasks.completion import scoring
from rarename.tasks.completion.collate import Batch, Collator
from rarename.tasks.completion.model import Answer, CompletionModel
from rarename.tasks.completion.scoring import Counts, is_predictable, loss, value_ranks
from rarename.tasks.completion.task import CompletionConfig
from rarename.tasks.completion.windows import Window, WindowDataset
from rarename.vocabulary import Special, Vocabulary

EMPTY = Special.EMPTY.rank
NAMES = ["self", "data", "read"]
SMALL = ModelConfig(width=16, layers=1, heads=2, inner_width=16, distance=4, dropout=0.0, is_causal=True)


pytestmark = pytest.mark.usefixtures("one_thread")


def encoding_of(strategy="ordered", placeholders=20):
    return Encoding(Vocabulary(NAMES), Vocabulary(["Name", "Call", "Str"]), strategy, placeholders)


def snippet(*ranks, context=0, roles=None, project=0):
    values = np.array(ranks)
    if roles is None:
        roles = np.where(values == EMPTY, Role.NONE, Role.READ)
    return Window(np.zeros(len(ranks), np.int16), values, np.array(roles, np.int8), context, project)


def batch_of(*snippets, strategy="ordered"):
    return Collator(encoding_of(strategy))(snippets, seeds=range(len(snippets)))


def model_of(strategy="ordered", has_pointer=False, seed=0):
    torch.manual_seed(seed)
    encoding = encoding_of(strategy)
    model = CompletionModel(SMALL, encoding.num_types, encoding.num_values, has_pointer).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def value_of(name):
    """The model id of a name, or of VARn."""
    encoding = encoding_of()
    if name.startswith("VAR"):
        return encoding.first_placeholder + int(name[3:]) - 1
    return len(Special) + NAMES.index(name)


def answer_that_ranks(batch, *best, width=64):
    """An answer without a pointer, whose best values after each node of the first snippet are given, best first."""
    encoding = encoding_of()
    model = CompletionModel(ModelConfig(width=width, heads=2, is_causal=True), encoding.num_types, encoding.num_values)
    with torch.no_grad():
        model.transformer.values.weight.zero_()
        model.transformer.values.weight[:, : encoding.num_values] = torch.eye(encoding.num_values)
    states = torch.zeros(*batch.types.shape, width)
    for place, ids in enumerate(best):
        for rank, model_id in enumerate(ids):
            states[0, place, model_id] = 100.0 - rank
    return Answer(states, model)


# What counts


def test_the_first_node_and_the_context_are_no_targets():
    batch = batch_of(snippet(0, 1, 2, 0), snippet(0, 1, 2, context=2))
    assert batch.is_target.tolist() == [[False, True, True, True], [False, False, True, False]]


def test_empty_values_and_padding_have_no_value():
    batch = batch_of(snippet(0, EMPTY, 1), snippet(0))
    assert batch.has_value.tolist() == [[True, False, True], [True, False, False]]
    assert batch.attention_mask.tolist() == [[True, True, True], [True, False, False]]


def test_a_placeholders_first_occurrence_cannot_be_told_and_later_ones_can():
    batch = batch_of(snippet(0, 7, 8, 7, 1))
    assert batch.is_known[0].tolist() == [True, False, False, True, True]


def test_an_occurrence_in_the_context_is_an_occurrence():
    batch = batch_of(snippet(7, 0, 7, context=2))
    assert batch.is_known[0, 2]
    assert batch.is_target[0].tolist() == [False, False, True]


def test_unk_cannot_be_told_but_a_pointer_may_copy_it():
    batch = batch_of(snippet(7, 0, 7, 8), strategy="standard")
    assert batch.values[0].tolist() == [Special.UNK, value_of("self"), Special.UNK, Special.UNK]
    plain = model_of("standard")(batch)
    pointing = model_of("standard", has_pointer=True)(batch)
    assert is_predictable(plain, batch)[0].tolist() == [False, True, False, False]
    assert is_predictable(pointing, batch)[0].tolist() == [False, True, True, False]


def test_equal_values_are_one_choice_and_rare_ones_are_told_apart():
    batch = batch_of(snippet(7, 0, 7, 8, 0), strategy="standard")
    num_values = encoding_of().num_values
    assert batch.choices[0].tolist() == [num_values, value_of("self"), num_values, num_values + 3, value_of("self")]


def test_more_rare_values_than_placeholders_are_an_error_in_training():
    with pytest.raises(TooFewPlaceholders):
        batch_of(snippet(*range(10, 40)))


# Ranks and scores


@pytest.mark.parametrize(
    ("rank", "mrr"),
    [(1, 1.0), (2, 0.5), (10, 0.1), (11, 0.0), (20, 0.0)],
    ids=["first", "second", "tenth", "eleventh", "late"],
)
def test_the_reciprocal_rank_counts_to_ten(rank, mrr):
    batch = batch_of(snippet(0, 1))
    others = [model_id for model_id in range(encoding_of().num_values) if model_id != value_of("data")]
    counts = Counts(["a"])
    counts.add(answer_that_ranks(batch, [*others[: rank - 1], value_of("data")]), batch)
    assert counts.scores()["mrr_values"] == pytest.approx(mrr)
    assert counts.scores()["accuracy_values"] == (rank == 1)
    assert counts.scores()["num_values"] == 1


@pytest.mark.parametrize(
    ("strategy", "values", "best", "ranks"),
    [
        pytest.param("standard", (0, 7), [[Special.UNK]], [0], id="UNK told right is wrong"),
        pytest.param("ordered", (0, 7), [["VAR1"]], [0], id="first occurrence told right is wrong"),
        pytest.param("ordered", (0, 7, 7), [[], ["VAR1"]], [0, 1], id="second occurrence"),
        pytest.param("ordered", (0, EMPTY, 0), [[], ["self"]], [1], id="empty values do not count"),
        pytest.param("ordered", (0, 1, 2), [["data"], ["data", "read"]], [1, 2], id="two values"),
    ],
)
def test_each_rule_of_ranking(strategy, values, best, ranks):
    batch = batch_of(snippet(*values), strategy=strategy)
    ids = [[value_of(name) if isinstance(name, str) else name for name in names] for names in best]
    counts = Counts(["a"])
    counts.add(answer_that_ranks(batch, *ids), batch)
    assert counts._column("rank").tolist() == ranks
    assert counts.scores()["num_values"] == len(ranks)
    assert counts.scores()["mrr_values"] == pytest.approx(sum(1 / rank for rank in ranks if rank) / len(ranks))


def test_types_are_ranked_for_every_target_with_or_without_a_value():
    batch = batch_of(snippet(0, EMPTY, EMPTY, 1, context=2))
    counts = Counts(["a"])
    counts.add(model_of()(batch), batch)
    assert counts.scores()["num_types"] == 2
    assert counts.scores()["num_values"] == 1


def test_scores_by_kind_and_by_project():
    roles = [Role.READ, Role.READ, Role.ATTRIBUTE, Role.STRING]
    batch = batch_of(snippet(0, 1, 2, 0, roles=roles, project=1))
    counts = Counts(["first", "second"])
    counts.add(answer_that_ranks(batch, [value_of("data")], [value_of("data"), value_of("read")], []), batch)
    details = counts.details()
    assert details["by_kind"]["reads"] == {"mrr": 1.0, "accuracy": 1.0, "num": 1}
    assert details["by_kind"]["attributes"] == {"mrr": 0.5, "accuracy": 0.0, "num": 1}
    assert details["by_kind"]["names"]["num"] == 2
    assert details["by_kind"]["strings"]["num"] == 1
    assert list(details["by_project"]) == ["second"]
    assert details["by_project"]["second"]["num_values"] == 3


def test_scores_by_rarity():
    """Whether the vocabulary lacks the value, and whether the window has it before: here one of each, all told."""
    batch = batch_of(snippet(0, 7, 7, 0, 1))
    best = [["VAR1"], ["VAR1"], ["read", "self"], ["data"]]
    counts = Counts(["a"])
    counts.add(answer_that_ranks(batch, *([value_of(name) for name in names] for names in best)), batch)
    assert counts.details()["by_rarity"] == {
        "frequent, again": {"mrr": 0.5, "accuracy": 0.0, "num": 1},
        "rare, again": {"mrr": 1.0, "accuracy": 1.0, "num": 1},
        "frequent, first": {"mrr": 1.0, "accuracy": 1.0, "num": 1},
        "rare, first": {"mrr": 0.0, "accuracy": 0.0, "num": 1},
    }


def test_what_is_rare_does_not_depend_on_the_strategy():
    rare = [batch_of(snippet(0, 7, EMPTY, 7), strategy=strategy).is_rare[0] for strategy in ("standard", "ordered")]
    assert [row.tolist() for row in rare] == [[False, True, False, True]] * 2


def test_of_equal_scores_the_first_is_first():
    assert scoring.ranks(torch.zeros(1, 5), torch.tensor([3])).tolist() == [4]


# Loss


def test_the_loss_is_the_sum_of_both_cross_entropies_of_what_counts():
    batch = batch_of(snippet(0, 7, EMPTY, 7, 1), snippet(1, 0, context=2))
    model = model_of()
    answer = model(batch)
    found = loss(answer, batch)
    assert found.counts.tolist() == [4, 2]  # the types of four nodes; the values of the second 7, and of 1
    types = values = 0.0
    for place in range(1, 5):
        types -= model.type_logits(answer.states[0, place - 1]).log_softmax(-1)[batch.types[0, place]]
    for place in (3, 4):
        values -= model.value_logits(answer.states[0, place - 1]).log_softmax(-1)[batch.values[0, place]]
    torch.testing.assert_close(found.mean(), types / 4 + values / 2)


@pytest.mark.parametrize("has_pointer", [False, True])
def test_the_loss_in_portions_is_the_same_with_the_same_gradient(has_pointer, monkeypatch):
    batch = batch_of(snippet(0, 7, EMPTY, 7, 1, 2, 7), snippet(1, 0, 5, 5))
    model = model_of(has_pointer=has_pointer)
    results = []
    for portion in (1 << 24, 2 * encoding_of().num_values):
        monkeypatch.setattr(scoring, "LOGIT_CHUNK", portion)
        model.zero_grad()
        found = loss(model(batch), batch).mean()
        found.backward()
        results.append([found.detach(), *(parameter.grad.clone() for parameter in model.parameters())])
    for whole, in_portions in zip(*results, strict=True):
        torch.testing.assert_close(whole, in_portions)


def test_both_embeddings_are_those_of_the_output():
    names = {name for name, _ in model_of().named_parameters()}
    assert {name for name in names if not name.startswith("transformer.")} == {"type_bias", "value_bias"}


# The pointer


@torch.no_grad()
def slow_distribution(model, answer, batch, row, place):
    """The formula of the paper, choice by choice."""
    state = answer.states[row, place - 1]
    inputs = model.transformer.embed(batch.types, batch.values)[row, place - 1]
    queries, _ = model.pointer.queries_keys(state).chunk(2)
    logits, places = [], []
    for j in range(place):
        if batch.values[row, j] != Special.EMPTY:
            _, key = model.pointer.queries_keys(answer.states[row, j]).chunk(2)
            logits.append(queries @ key / math.sqrt(len(key)))
            places.append(j)
    gate = torch.sigmoid(model.pointer.of_state(state) + model.pointer.of_input(inputs))[0] if places else 1.0
    generated = model.value_logits(state).softmax(-1)
    result = {choice: float(gate * share) for choice, share in enumerate(generated)}
    copied = torch.stack(logits).softmax(0) if logits else []
    for j, share in zip(places, copied, strict=True):
        choice = int(batch.choices[row, j])
        result[choice] = result.get(choice, 0.0) + float((1 - gate) * share)
    return result


SNIPPETS = (snippet(7, 0, EMPTY, 7, 8, 0, 7), snippet(EMPTY, EMPTY, 9, 1))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_pointers_distribution_is_that_of_the_formula_and_sums_to_one(strategy):
    batch, model = batch_of(*SNIPPETS, strategy=strategy), model_of(strategy, has_pointer=True)
    answer = model(batch)
    rows, places = batch.is_target.nonzero(as_tuple=True)
    found = answer.choice_log_probabilities(rows, places, batch).exp()
    torch.testing.assert_close(found.sum(dim=1), torch.ones(len(rows), dtype=torch.double))
    for number, (row, place) in enumerate(zip(rows.tolist(), places.tolist(), strict=True)):
        slow = slow_distribution(model, answer, batch, row, place)
        for choice, probability in slow.items():
            assert float(found[number, choice].detach()) == pytest.approx(probability, abs=1e-12)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_pointers_loss_is_that_of_the_formula(strategy):
    batch, model = batch_of(*SNIPPETS, strategy=strategy), model_of(strategy, has_pointer=True)
    answer = model(batch)
    told = batch.is_target & batch.has_value & is_predictable(answer, batch)
    slow = [
        -math.log(slow_distribution(model, answer, batch, row, place)[int(batch.choices[row, place])])
        for row, place in told.nonzero().tolist()
    ]
    found = loss(answer, batch)
    assert float(found.sums[1].detach()) == pytest.approx(sum(slow))
    assert int(found.counts[1]) == len(slow)


def test_copies_of_one_value_add_up_in_its_rank():
    """Each of two places is less likely than `data`, but both hold the same rare name."""
    batch = batch_of(snippet(7, 7, 7), strategy="standard")
    model = model_of("standard", has_pointer=True)
    answer = model(batch)
    generates = torch.zeros_like(answer.generates)
    copies = torch.full_like(answer.copies, -1e9)
    copies[0, 1, :2] = math.log(0.5)
    states = torch.zeros_like(answer.states)
    with torch.no_grad():
        model.value_bias.fill_(-50.0)
        model.value_bias[value_of("data")] = 0.0  # generated with certainty
    answer = Answer(states, model, copies, generates + 0.2)  # a little rather generated than copied
    assert value_ranks(answer, torch.tensor([0]), torch.tensor([2]), batch).tolist() == [2]
    answer = Answer(states, model, copies, generates - 0.2)
    assert value_ranks(answer, torch.tensor([0]), torch.tensor([2]), batch).tolist() == [1]


def test_where_nothing_can_be_copied_all_is_generated():
    batch, model = batch_of(snippet(EMPTY, 0)), model_of(has_pointer=True)
    answer = model(batch)
    found = answer.choice_log_probabilities(torch.tensor([0]), torch.tensor([1]), batch)[0]
    expected = model.value_logits(answer.states[0, 0]).log_softmax(-1)
    torch.testing.assert_close(found[: len(expected)], expected)


# Windows of a corpus


def test_windows_hold_what_the_files_hold(corpus_folder):
    corpus = Corpus(corpus_folder)
    windows = WindowDataset(corpus, "train", 100, 50)
    files = list(corpus.split("train"))
    told = [windows[index] for index in range(len(windows))]
    for column in ("types", "values", "roles"):
        parts = [getattr(window, column)[window.context :] for window in told]
        np.testing.assert_array_equal(np.concatenate(parts), np.concatenate([getattr(f, column) for f in files]))
    assert {windows.projects[window.project] for window in told} == {file.project for file in files}


def test_ranks_of_a_corpus_are_those_of_the_vocabulary_that_completion_uses(corpus_folder):
    corpus = Corpus(corpus_folder)
    assert (corpus.ranking(*CompletionConfig.counted) == np.arange(corpus.num_values)).all()


def test_another_corpus_gives_the_same_batches(corpus_folder, other_corpus_folder):
    corpus = Corpus(corpus_folder)
    encoding = Encoding(corpus.vocabulary(300, *CompletionConfig.counted), corpus.types)
    here, there = (
        CompletionConfig(window=100, stride=50).task(each, encoding, 1_000, seed=0).measured("test")
        for each in (corpus, Corpus(other_corpus_folder))
    )
    num_batches = 0
    for one, other in zip(here, there, strict=True):
        assert torch.equal(one.types, other.types)
        assert torch.equal(one.values, other.values)
        num_batches += 1
    assert num_batches


def test_the_paper_preset_has_18_to_19_million_parameters_and_its_schedule(corpus_folder):
    setting = preset_config(str(corpus_folder), "paper", {}, task="completion")
    model = CompletionModel(setting.model, 10, 10)
    assert 18e6 < model.transformer.num_parameters() < 19.5e6
    training = setting.training
    assert (training.lr_scheduler, training.warmup_steps, training.max_grad_norm) == ("cosine", 2_000, 0.2)
    assert (training.learning_rate, training.num_epochs, training.max_batch_nodes) == (1e-3, 20.0, 32 * 500)
    assert (setting.model.dropout, setting.model.distance) == (0.1, 32)
    assert (setting.task.window, setting.task.stride, setting.encoding.placeholders) == (500, 250, 500)


# Training

SETTINGS = {
    "encoding": {"vocabulary_size": 50, "num_placeholders": 100},
    "task": {"window_size": 100, "stride": 100},
    "model": {"d_model": 16, "num_layers": 2, "num_heads": 2, "d_ff": 16, "max_relative_distance": 8},
    "training": {"num_epochs": 0.2, "max_batch_nodes": 1_000, "eval_every_examples": 50, "eval_examples": 20},
}


@pytest.mark.parametrize(("strategy", "has_pointer"), [("ordered", False), ("standard", True)])
def test_a_run_is_trained_resumed_and_measured(corpus_folder, tmp_path, strategy, has_pointer):
    settings = SETTINGS | {"encoding.strategy": strategy, "task.copy_pointer": has_pointer}
    setting = preset_config(str(corpus_folder), "tiny", settings, task="completion")
    assert train(setting, tmp_path / "whole")
    stops = iter([False] * 7 + [True])
    assert not train(setting, tmp_path / "parts", should_stop=lambda: next(stops))
    assert train(setting, tmp_path / "parts", resume=True)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")]
    assert weights[0] == weights[1]
    scores = evaluate(tmp_path / "whole")
    assert 0 < scores["mrr_values"] < 1
    for what in ("values", "types"):
        projects = scores["by_project"].values()
        assert scores[f"num_{what}"] == sum(group[f"num_{what}"] for group in projects)
        total = sum(group[f"num_{what}"] * group[f"mrr_{what}"] for group in projects)
        assert scores[f"mrr_{what}"] == pytest.approx(total / scores[f"num_{what}"])
    assert scores == evaluate(tmp_path / "whole"), "measuring has no chance in it"


def test_a_tiny_model_learns_a_handful_of_windows_by_heart(corpus_folder):
    settings = SETTINGS | {"model": {"d_model": 48, "num_layers": 2, "num_heads": 4, "d_ff": 96, "max_relative_distance": 8}}
    setting = preset_config(str(corpus_folder), "tiny", settings, task="completion")
    task = setting.task.task(Corpus(corpus_folder), make_encoding(setting), 1_000, 0)
    torch.manual_seed(0)
    model = task.build(setting.model)
    batch = task.batch([1, 5, 9], 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        found = task.loss(model(batch), batch).mean()
        found.backward()
        optimizer.step()
    rows, places = (batch.is_target & batch.has_value & batch.is_known).nonzero(as_tuple=True)
    assert (value_ranks(model(batch), rows, places, batch) == 1).float().mean() > 0.98


def test_settings_that_cannot_be(corpus_folder):
    with pytest.raises(UsageError, match=r"encoding\.placeholders is 80, but a window has 100 nodes"):
        make_encoding(preset_config(str(corpus_folder), "tiny", SETTINGS | {"encoding.num_placeholders": 80}, task="completion"))
    with pytest.raises(UsageError, match="stride at least 1 and at most the window"):
        preset_config("c", "tiny", {"task.stride": 501}, task="completion")
    with pytest.raises(UsageError, match=r"completion needs model\.is_causal"):
        preset_config("c", "tiny", {"model.is_causal": False}, task="completion").task.model(SMALL.__class__(), encoding_of())


def test_a_batch_keeps_its_values_on_a_device():
    batch = batch_of(*SNIPPETS)
    moved = batch.to(torch.device("cpu"))
    assert isinstance(moved, Batch)
    assert torch.equal(moved.choices, batch.choices)
