"""Which examples of a corpus come when, and what a small model learns from them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from rarename.config import CompletionConfig, MisuseConfig, ModelConfig
from rarename.corpus.store import Corpus
from rarename.encoding import Encoding
from rarename.errors import UsageError
from rarename.syntax import PYTHON, Role, parse
from rarename.syntax.functions import functions
from rarename.tasks.completion.task import CompletionTask
from rarename.tasks.misuse.collate import MULTIPLE_BUGS
from rarename.tasks.misuse.dataset import FunctionDataset
from rarename.tasks.misuse.functions import Function, is_eligible
from rarename.tasks.misuse.loss import misuse_loss
from rarename.tasks.misuse.task import MisuseTask
from rarename.training.trainer import to_device
from rarename.vocabulary import Vocabulary

CPU = torch.device("cpu")


class FakeDataset(list):
    """Functions with the names 10 to 13, each read twice and bound once."""

    has_labels = False
    project_names = ("project",)

    def __init__(self, num_functions=20):
        values = np.array([10, 11, 12, 13, 10, 11, 12, 13, 10, 11, 12, 13])
        roles = np.array([Role.PARAMETER] * 4 + [Role.READ] * 8, np.int8)
        scopes = np.array([-1] + [0] * 11, np.int32)
        super().__init__(Function(np.zeros(12, np.int16), values, roles, scopes) for _ in range(num_functions))
        self.lengths = np.full(num_functions, 12)

    def nested_slices(self, index):
        return ()


def fake_task(strategy="ordered", seed=0, max_nodes=100_000, **settings):
    """A task on fake functions, without a corpus."""
    corpus = SimpleNamespace(language=PYTHON, types=["Name"], vocabulary=lambda *_: [], ranking=lambda *_: np.arange(0))
    encoding = Encoding(Vocabulary([]), Vocabulary(["Name"]), strategy, 50)
    task = MisuseTask(corpus, encoding, MisuseConfig(**settings), max_nodes, seed)
    dataset = FakeDataset()
    task.dataset = lambda split: dataset
    return task


def bugs_in(task, epoch):
    batch = task.make_batch(list(range(20)), epoch)
    return batch.name_ranks[batch.is_bug].tolist(), np.argwhere(batch.is_bug)[:, 1].tolist()


def test_three_bugs_of_a_function_take_turns():
    task = fake_task()
    epochs = [bugs_in(task, epoch) for epoch in range(5)]
    assert epochs[0] == epochs[3]
    assert epochs[1] == epochs[4]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert bugs_in(fake_task(seed=1), 0) != epochs[0]


def test_bugs_may_be_drawn_again_in_every_epoch():
    task = fake_task(redraw_bugs=True)
    epochs = [str(bugs_in(task, epoch)) for epoch in range(5)]
    assert len(set(epochs)) == 5
    assert epochs[1] == str(bugs_in(fake_task(redraw_bugs=True), 1))


def test_long_functions_come_more_often():
    task = fake_task(length_exponent=2.0, redraw_bugs=True)
    lengths = task.dataset("train").lengths
    lengths[:4] = 48  # sixteen times the weight of the other sixteen
    items, drawn = task.epoch_items(0)
    assert len(items) == 20
    assert sorted(set(items[items % 20 < 4].tolist())) == [each + 20 * copy for copy in range(4) for each in range(4)]
    assert (2 * lengths[items % 20] == drawn).all()
    assert sorted(index for batch in task.batches(0) for index in batch) == sorted(items.tolist())
    lengths[:4] = 12
    batch = task.make_batch([3, 23, 43], 0)  # a copy has another bug
    assert len({str(row) for row in batch.name_ranks.tolist()[1::2]}) == 3
    others = [task.epoch_items(epoch)[0].tolist() for epoch in range(9)]
    assert others[0] == task.epoch_items(0)[0].tolist()


def test_an_epoch_may_be_a_sample_of_the_functions():
    task = fake_task(epoch_functions=6)
    epochs = [task.epoch_items(epoch) for epoch in range(30)]
    assert {len(set(items.tolist())) for items, _ in epochs} == {6}
    assert {item for items, _ in epochs for item in items.tolist()} == set(range(20))
    assert (epochs[0][1] == 2 * task.dataset("train").lengths[epochs[0][0]]).all()
    assert task.num_examples(1.5) == 18
    more = fake_task(epoch_functions=50).epoch_items(0)[0].tolist()
    assert len(set(more)) == 50
    assert {item % 20 for item in more} == set(range(20))


def test_each_function_comes_clean_and_with_a_bug():
    batch = fake_task().make_batch([3, 4], 0)
    assert (batch.location > 0).tolist() == [False, True, False, True]


def test_randomized_placeholders_are_drawn_again_in_each_epoch():
    first, fourth = (fake_task("randomized").make_batch([0, 1], epoch) for epoch in (0, 3))
    assert (first.name_ranks == fourth.name_ranks).all()
    assert (first.values != fourth.values).any()
    assert (first.values[0] != first.values[2]).any()  # and for each function
    assert (first.values[0, 4:] != first.values[1, 4:]).sum() > 1  # and for its buggy twin
    ordered = [fake_task("ordered").make_batch([0, 1], epoch).values for epoch in (0, 3)]
    assert (ordered[0] == ordered[1]).all()


def test_evaluation_does_not_depend_on_the_seed_of_the_run():
    batches = [next(fake_task("randomized", seed).eval_batches("test")) for seed in (0, 1)]
    assert (batches[0].values == batches[1].values).all()
    assert batches[0].location.tolist() == batches[1].location.tolist()
    assert len(batches[0]) == 40
    assert len(set(batches[0].location.tolist())) > 5  # each function has its own bug
    assert list(fake_task(seed=0).batches(0)) != list(fake_task(seed=1).batches(0))  # but training does
    task = fake_task()
    assert len(next(task.eval_batches("test", limit=7))) == 14
    task.make_eval_batch = lambda indexes, split: indexes
    assert sorted(next(task.eval_batches("test", limit=7))) != list(range(7))  # a random sample


def test_multi_bug_epochs_come_first():
    task = fake_task(bug_sampler="local", multi_bug_epochs=2, multi_bug_rate=0.5)
    assert (task.num_examples(1.5), task.num_examples(3.0), task.num_examples(2.5)) == (30, 80, 60)
    assert [task.is_multi_bug_epoch(epoch) for epoch in range(3)] == [True, True, False]
    multi, again, single = (task.make_batch(list(range(20)), epoch) for epoch in range(3))
    assert (multi.location == MULTIPLE_BUGS).all()
    assert multi.is_bug.sum() / 160 == pytest.approx(0.4, abs=0.1)  # half of eight reads, as far as names stay
    assert (multi.is_bug != again.is_bug).any()
    assert (multi.is_bug[0] != multi.is_bug).any()
    other = fake_task(seed=1, bug_sampler="local", multi_bug_epochs=2, multi_bug_rate=0.5)
    assert (multi.is_bug != other.make_batch(list(range(20)), 0).is_bug).any()
    assert (single.location != MULTIPLE_BUGS).all()


def test_a_batch_has_room_for_both_twins():
    task = fake_task(max_nodes=5 * 24, multi_bug_epochs=1, bug_sampler="local")
    assert {len(indexes) for indexes in task.batches(0)} == {10}  # one example each
    assert {len(indexes) for indexes in task.batches(1)} == {5}
    assert list(task.batches(1)) != list(task.batches(2))


def test_similarity_changes_training_but_not_evaluation(corpus_folder):
    corpus = Corpus(corpus_folder)
    encoding = Encoding(Vocabulary([]), types=corpus.types)
    plain, similar = (
        MisuseTask(corpus, encoding, MisuseConfig(bug_sampler="local", similarity_weight=weight), 1_000, seed=0)
        for weight in (0.0, 4.0)
    )
    for one, other in zip(plain.eval_batches("test", 50), similar.eval_batches("test", 50), strict=True):
        assert np.array_equal(one.values, other.values)
    indexes = list(range(20))
    assert not np.array_equal(plain.make_batch(indexes, 0).name_ranks, similar.make_batch(indexes, 0).name_ranks)


def test_models_for_use_are_evaluated_per_nested_function(corpus_folder):
    corpus = Corpus(corpus_folder)
    config = MisuseConfig(bug_sampler="local", pointer_head="conditional")
    task = MisuseTask(corpus, Encoding(Vocabulary([]), types=corpus.types), config, 1_000, seed=0)
    batch = next(task.eval_batches("test"))
    assert len(batch.nested) == len(batch)
    assert not task.make_batch([0], 0).nested
    assert task.num_eval_examples("test") == 2 * len(task.dataset("test"))
    assert task.new_metrics("test").vocabulary_size == 0


def test_functions_of_a_corpus_are_eligible_and_not_too_long(corpus_folder):
    dataset = FunctionDataset(Corpus(corpus_folder), "train", max_nodes=100)
    assert len(dataset) > 100
    assert dataset.lengths.max() <= 100
    assert all(is_eligible(function) for function in dataset)
    assert {function.project for function in dataset} == set(range(len(dataset.project_names)))


def test_a_function_of_a_corpus_equals_that_of_its_file(tmp_path, prepare_corpus):
    text = (
        "def f(a, b):\n    class Own:\n        own = a\n        def method(self, x=own):\n            global g\n"
        "            g = a\n            return x, a, own\n    return [b for b in a], Own, b\n"
    )
    for name in "abcdefghij":
        (tmp_path / "src" / name).mkdir(parents=True)
        (tmp_path / "src" / name / "m.py").write_text(f"{text}print({name})\n")
    corpus = Corpus(prepare_corpus(tmp_path / "corpus", tmp_path / "src", keep_near_duplicates=True))
    splits = ("train", "validation", "test")
    datasets = [FunctionDataset(corpus, split, max_nodes=200, has_features=True) for split in splits]
    (dataset,) = [each for each in datasets if len(each)]  # equal functions are kept once
    encoding = Encoding(corpus.vocabulary(100, *MisuseTask.vocabulary_roles), corpus.types)
    tree = parse(text, PYTHON)
    file = Function.of_file(tree, PYTHON.roles(tree), PYTHON, encoding)
    outer, inner = functions(tree, PYTHON)
    function, expected = dataset[0], file.function_at(*outer)
    assert file.receivers == tuple(set(file.values[[tree.values.index("self")]].tolist()))
    for column in ("types", "roles", "scopes", "is_unswappable", "places"):
        assert getattr(function, column).tolist() == getattr(expected, column).tolist(), column
    assert function.is_unswappable.sum() == 1
    assert dataset.nested_slices(0) == ((0, len(function)), (inner.start - outer.start, inner.length))


@pytest.mark.parametrize("pointer_head", ["independent", "conditional"])
def test_published_bugs_are_taken_as_they_are(tmp_path, prepare_corpus, pointer_head):
    tokens = ["#NEWLINE#", "def f(", "a", ",", "b", ")", ":", "return", "b", "+", "c"]
    # The correct name is at 2, which is not a published candidate.
    bug = {"has_bug": True, "error_location": 8, "repair_targets": [2], "repair_candidates": [4, 8, 10]}
    clean = {"has_bug": False, "error_location": 0, "repair_targets": [], "repair_candidates": [2, 4, 8, 10]}
    lines = [
        json.dumps({"source_tokens": [*tokens[:-1], f"c{number}"], **kind, "bug_kind_name": "VARIABLE_MISUSE",
                    "provenances": [{"datasetProvenance": {"filepath": f"owner{number}/repo/m.py"}}]})
        for number in range(40) for kind in (bug, clean)
    ]  # fmt: skip
    (tmp_path / "dev.jsonl").write_text("\n".join(lines) + "\n")
    corpus = Corpus(prepare_corpus(tmp_path / "corpus", tmp_path / "dev.jsonl", "tokens", keep_near_duplicates=True))
    encoding = Encoding(corpus.vocabulary(5), corpus.types, num_placeholders=20)
    config = MisuseConfig(pointer_head=pointer_head)
    task = MisuseTask(corpus, encoding, config, 1_000, seed=0)
    with pytest.raises(UsageError, match="multi_bug_epochs injects bugs, but these examples have their own; set it"):
        MisuseTask(corpus, encoding, MisuseConfig(pointer_head=pointer_head, multi_bug_epochs=1), 1_000, seed=0)
    num_functions = len(task.dataset("train"))
    assert task.num_examples() == num_functions > 10
    assert not FunctionDataset(corpus, "train", max_nodes=len(tokens) - 1)
    batch = task.make_batch(list(range(num_functions)), 0)
    labels = zip(batch.location.tolist(), batch.is_repair, strict=True)
    assert {(location, tuple(np.nonzero(mask)[0].tolist())) for location, mask in labels} == {(9, (2,)), (0, ())}
    model, batch = task.build_model(config, ModelConfig(16, 1, 2, 16), encoding), to_device(batch, CPU)
    assert misuse_loss(model(**batch.inputs()), batch).mean().item() < 20


@pytest.mark.parametrize("pointer_head", ["independent", "conditional"])
def test_a_tiny_model_memorizes_a_few_functions(pointer_head):
    task = fake_task(bug_sampler="local", pointer_head=pointer_head, usage_features=pointer_head == "conditional")
    batch = to_device(task.make_batch([0, 1, 2, 3], 0), CPU)
    torch.manual_seed(0)
    model = task.build_model(task.config, ModelConfig(32, 2, 2, 64, dropout=0.0), task.encoding)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(150):
        optimizer.zero_grad()
        task.loss(model(**batch.inputs()), batch).mean().backward()
        optimizer.step()
    metrics = task.new_metrics("train")
    with torch.no_grad():
        metrics.update(model(**batch.inputs()), batch)
    assert (metrics.compute()["joint_accuracy"], metrics.compute()["no_bug_accuracy"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("task", "config", "setting"),
    [
        (MisuseTask, MisuseConfig(max_function_nodes=100), "max_function_nodes"),
        (CompletionTask, CompletionConfig(window_size=100, stride=50), "window_size"),
    ],
)
def test_too_few_placeholders_are_refused(task, config, setting):
    message = f"is 80, but with task.{setting} = 100 a snippet may have 100 nodes, each with another name; set it to"
    with pytest.raises(UsageError, match=message):
        task.check_encoding(config, 80)
    task.check_encoding(config, 100)


def published_dataset(tmp_path, prepare_corpus, text, language="python", max_nodes=250):
    """The task on the functions of one file, and the only split that has any."""
    suffix = {"python": "py", "javascript": "js"}[language]
    (tmp_path / "src" / "a").mkdir(parents=True)
    (tmp_path / "src" / "a" / f"m.{suffix}").write_text(text)
    corpus = Corpus(prepare_corpus(tmp_path / "corpus", tmp_path / "src", language))
    encoding = Encoding(corpus.vocabulary(100, *MisuseTask.vocabulary_roles), corpus.types, num_placeholders=250)
    config = MisuseConfig(bug_sampler="published", max_function_nodes=max_nodes)
    task = MisuseTask(corpus, encoding, config, 10_000, seed=0)
    return task, next(split for split in ("train", "validation", "test") if len(corpus.split(split)))


def test_every_published_bug_comes_in_every_epoch_with_a_clean_copy(tmp_path, prepare_corpus):
    text = "def f(a, b, c):\n    return a, b, c\n\n\ndef g(a, b, c):\n    return a\n"
    task, split = published_dataset(tmp_path, prepare_corpus, text)
    dataset = task.dataset(split)
    task.dataset = lambda _: dataset
    assert dataset.bug_numbers.tolist() == [0, 1, 2, 0, 1]  # six nodes may be wrong in f, two in g
    assert task.num_examples() == task.num_eval_examples(split) == 10
    assert sorted(index for batch in task.batches(0) for index in batch) == list(range(5))
    epochs = [task.make_batch(list(range(5)), epoch) for epoch in range(3)]
    for batch in [*epochs, task.make_eval_batch(list(range(5)), split)]:
        locations = batch.location.tolist()
        assert locations[::2] == [0] * 5
        assert 0 not in locations[1::2]
        assert len(set(locations[1:6:2])) == 3  # each bug of a function is at another node
        assert len(set(locations[7::2])) == 2
        assert (batch.is_repair.any(axis=1) == (batch.location > 0)).all()
    assert all(np.array_equal(epochs[0].name_ranks, each.name_ranks) for each in epochs)


def test_a_published_function_hides_what_is_nested_in_it(tmp_path, prepare_corpus):
    text = (
        "def f(a, b, c):\n    def g(a, b, c):\n        return a, b, c\n    return g, a, b, c\n\n\n"
        "async def h(x):\n    def k(x, y, z):\n        return x, y, z\n"
    )
    task, split = published_dataset(tmp_path, prepare_corpus, text, max_nodes=20)
    dataset = task.dataset(split)
    assert len(FunctionDataset(Corpus(tmp_path / "corpus"), split, max_nodes=20)) == 2  # g and k
    assert dataset.bug_numbers.tolist() == [0, 1, 2]  # k: f is too long, and h is no FunctionDef
    names = {task.encoding.values[rank] for rank in dataset[0].values[dataset[0].variables]}
    assert names == {"x", "y", "z"}


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "def f(a):\n    b = None\n    return a.c(d=True), b, 'e'\n", "a b None a True b"),
        (
            "javascript",
            "function f(a) { var b = {c: a, $d: 1, 'e-f': 2, 3: 4}; return b.c + 'g' + null; }",
            "f a b c a $d b c",
        ),
    ],
)
def test_published_variables(tmp_path, prepare_corpus, language, text, expected):
    task, split = published_dataset(tmp_path, prepare_corpus, text, language)
    function = task.dataset(split)[0]
    assert [task.encoding.values[rank] if rank < len(task.encoding.values) else "?" for rank in
            function.values[function.variables]] == expected.split()  # fmt: skip
