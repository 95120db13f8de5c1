"""Loss, predictions and metrics on logits by hand; export of the model."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from rarename.config import ModelConfig
from rarename.syntax import Role
from rarename.syntax.functions import Slice
from rarename.tasks.batch import map_arrays
from rarename.tasks.misuse.collate import MULTIPLE_BUGS, MisuseBatch
from rarename.tasks.misuse.functions import Function, NestedFunctions
from rarename.tasks.misuse.loss import misuse_loss
from rarename.tasks.misuse.metrics import MisuseMetrics
from rarename.tasks.misuse.model import MisuseModel
from rarename.tasks.misuse.predict import BugPredictions, MisuseOutput, predict_bugs


def make_batch(names, original, location, **arrays):
    """A batch without padding in which every node is a variable and a candidate."""
    names, original, location = np.array(names), np.array(original), np.array(location)
    is_bug = np.arange(names.shape[1]) == location[:, None] - 1
    is_repair = np.zeros_like(is_bug)
    for row, node in np.argwhere(is_bug):
        is_repair[row] = (names[row] == original[row, node]) & (np.arange(names.shape[1]) != node)
    all_nodes = np.ones(names.shape, dtype=bool)
    columns = {
        "types": np.zeros(names.shape, np.int64),
        "values": np.zeros(names.shape, np.int64),
        "attention_mask": all_nodes,
        "name_ranks": names,
        "original_ranks": original,
        "is_variable": all_nodes,
        "is_candidate": all_nodes,
        "is_bug": is_bug,
        "location": location,
        "is_repair": is_repair,
        "projects": np.zeros(len(names), np.int64),
    }
    return MisuseBatch(**columns | {name: np.array(array) for name, array in arrays.items()})


def independent(location, repair):
    """The output of independent pointers with these probabilities."""
    return MisuseOutput(np.log(location), np.log(repair)[:, None], is_conditional=False)


def tensors(record):
    return map_arrays(record, torch.from_numpy)


def loss_of(output, batch):
    return misuse_loss(tensors(output), tensors(batch))


LOCATION = np.array([[0.7, 0.1, 0.1, 0.1], [0.2, 0.1, 0.1, 0.6]])
REPAIR = np.array([[0.2, 0.3, 0.5], [0.45, 0.35, 0.2]])
OUTPUT = independent(LOCATION, REPAIR)
BATCH = make_batch(names=[[0, 1, 0], [0, 1, 1]], original=[[0, 1, 0], [0, 1, 0]], location=[0, 3])
"""A clean and a buggy example, a b a and a b b."""


def test_the_loss_by_hand():
    expected = -(math.log(0.7) + math.log(0.6)) / 2 - math.log(0.45)
    assert loss_of(OUTPUT, BATCH).mean().item() == pytest.approx(expected)


def test_losses_of_shards_add_up_to_the_loss_of_the_batch():
    whole = loss_of(OUTPUT, BATCH)
    shards = [
        loss_of(map_arrays(OUTPUT, lambda a, row=row: a[[row]]), map_arrays(BATCH, lambda a, row=row: a[[row]]))
        for row in range(2)
    ]
    counts = shards[0].counts + shards[1].counts
    assert counts.tolist() == whole.counts.tolist() == [2, 0, 1]
    assert sum(shard.over(counts).item() for shard in shards) == pytest.approx(whole.mean().item())


def test_the_loss_ignores_logits_outside_the_masks():
    batch = replace(
        BATCH,
        is_candidate=np.array([[True, False, True], [False, False, True]]),
        is_variable=np.array([[True] * 3, [True, False, True]]),
    )
    expected = -(math.log(0.7 / 0.9) + math.log(0.6 / 0.8)) / 2 - math.log(0.45 / 0.65)
    assert loss_of(OUTPUT, batch).mean().item() == pytest.approx(expected)


def test_only_published_targets_are_repairs():
    batch = make_batch(names=[[0, 0, 1]], original=[[0, 0, 0]], location=[3], is_repair=[[False, True, False]])
    output = independent(np.array([[0.1, 0.1, 0.1, 0.7]]), np.array([[0.2, 0.3, 0.5]]))
    assert loss_of(output, batch).mean().item() == pytest.approx(-math.log(0.7) - math.log(0.3))


def test_a_conditional_head_does_not_point_at_the_wrong_name():
    repair = np.tile(np.log([0.2, 0.3, 0.5]), (2, 3, 1))
    repair[1, 2] = np.log([0.1, 0.5, 0.4])  # given the location of the bug; only node 0 holds another name
    output = MisuseOutput(OUTPUT.location_logits, repair)
    assert loss_of(output, BATCH).mean().item() == pytest.approx(-(math.log(0.7) + math.log(0.6)) / 2, abs=1e-6)
    three = replace(BATCH, name_ranks=np.array([[0, 1, 0], [0, 1, 2]]))
    expected = -(math.log(0.7) + math.log(0.6)) / 2 - math.log(0.1 / 0.6)
    assert loss_of(output, three).mean().item() == pytest.approx(expected)


def test_the_loss_of_a_multi_bug_example_weighs_its_nodes_three_times():
    batch = replace(
        BATCH,
        location=np.array([MULTIPLE_BUGS, MULTIPLE_BUGS]),
        name_ranks=np.array([[0, 1, 0], [1, 1, 0]]),
        is_bug=np.array([[False] * 3, [True, False, False]]),
        is_repair=np.zeros((2, 3), bool),
        is_candidate=np.array([[True, True, False], [True, False, False]]),
    )
    odds = np.array([[0.25, 0.5, 9.0], [3.0, 9.0, 9.0]])
    location = np.concatenate([np.full((2, 1), 0.7), np.log(odds) + 0.7], axis=1)
    per_node = -math.log(1 / 1.25 * 1 / 1.5 * 3 / 4) / 3
    # Only node 2 of the second example holds the original name, and no other name is possible.
    conditional = loss_of(MisuseOutput(location, np.zeros((2, 3, 3))), batch)
    assert conditional.mean().item() == pytest.approx(3.0 * per_node, abs=1e-6)
    assert conditional.counts.tolist() == [0, 3, 1]
    both = loss_of(MisuseOutput(location, np.zeros((2, 1, 3)), is_conditional=False), batch)
    assert both.mean().item() == pytest.approx(3.0 * per_node + math.log(3), abs=1e-6)


def test_confidence_is_the_probability_of_location_times_that_of_the_repair():
    batch = make_batch(names=[[0, 1, 2, 1]], original=[[0, 1, 2, 1]], location=[0])
    output = independent(np.array([[0.3, 0.5, 0.1, 0.05, 0.05]]), np.array([[0.2, 0.25, 0.2, 0.35]]))
    predictions = predict_bugs(output, batch)
    # The first node of each variable; those of the most probable one have 0.25 + 0.35 of 0.8.
    assert predictions.location.tolist() == [[0, 0, 1, 1, 2, 2]]
    assert predictions.repair.tolist() == [[1, 2, 0, 2, 1, 0]]
    expected = [0.5 * 0.75, 0.5 * 0.25, 0.1 * 0.5, 0.1 * 0.5, 0.05 * 0.75, 0.05 * 0.25]
    assert predictions.confidence[0].tolist() == pytest.approx(expected)


def test_a_prediction_is_a_candidate_and_a_variable():
    batch = replace(BATCH, is_candidate=np.array([[True, False, True], [False] * 3]))
    batch = replace(batch, is_variable=np.array([[True, True, False], [True] * 3]))
    predictions = predict_bugs(independent(np.array([[0.2, 0.2, 0.1, 0.5]] * 2), REPAIR), batch).first()
    assert predictions.location.tolist() == [0, -1]
    assert predictions.repair[0] == 1
    assert predictions.confidence.tolist() == pytest.approx([0.2 / 0.9, 0])  # other candidates count, even if excluded


def test_each_nested_function_gets_a_prediction_with_visible_names():
    binds_both = Function(
        np.zeros(3, np.int16),
        np.array([0, 1, 0]),
        np.array([Role.PARAMETER, Role.WRITE, Role.READ], np.int8),
        np.array([-1, 0, 0], np.int32),
    )
    batch = replace(BATCH, is_candidate=np.array([[True] * 3, [False] * 3]))
    output = independent(np.array([[1.0, 3.0, 6.0, 2.0], [1.0] * 4]), REPAIR)
    alone = predict_bugs(output, batch).first()
    assert (alone.row.tolist(), alone.location.tolist()) == ([0, 1], [1, -1])
    assert alone.confidence.tolist() == pytest.approx([6 / 12, 0])
    nested = [NestedFunctions(binds_both, [Slice(0, 3), Slice(1, 2)]), NestedFunctions(binds_both, [Slice(0, 3)])]
    predictions = predict_bugs(output, batch, nested).first()
    assert (predictions.row.tolist(), predictions.location.tolist()) == ([0, 0, 1], [-1, 1, -1])
    # "No bug" and the nodes of the inner function: 6 of 1 + 6 + 2. The outer one does not see what the inner one binds.
    assert predictions.confidence.tolist() == pytest.approx([0, 6 / 9, 0])


def test_the_best_prediction_of_each_example():
    row = np.array([0, 1, 0, 1, 0])
    columns = np.arange(5), np.arange(5) + 5, np.array([0.1, 0.8, 0.7, 0.2, 0.3])
    best = BugPredictions(row, *(column[:, None] for column in columns)).best_per_example(2).first()
    assert (best.row.tolist(), best.location.tolist(), best.repair.tolist()) == ([0, 1], [2, 1], [7, 6])
    assert best.confidence.tolist() == [0.7, 0.8]


# Metrics


def metrics_of(output, batch, **settings):
    metrics = MisuseMetrics(**{"vocabulary_size": 1} | settings)
    metrics.update(output, batch)
    return metrics


def test_the_metrics_by_hand():
    metrics = metrics_of(OUTPUT, BATCH)
    # The wrong variable gets 0.35 + 0.2 = 0.55 of the repair, the correct one 0.45: neither first nor half.
    assert metrics.compute() == {
        "joint_accuracy": 0.0,
        "location_accuracy": 1.0,
        "repair_accuracy": 0.0,
        "no_bug_accuracy": 1.0,
        "joint_accuracy_paper": 0.0,
        "repair_accuracy_paper": 0.0,
        "num_clean": 1,
        "num_buggy": 1,
    }
    metrics.update(tensors(independent(LOCATION, np.array([[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]]))), tensors(BATCH))
    assert metrics.compute()["joint_accuracy_paper"] == 0.5  # half is enough
    three_names = replace(BATCH, name_ranks=np.array([[0, 1, 0], [0, 1, 2]]))
    metrics = metrics_of(OUTPUT, three_names).compute()  # 0.45 is the most, but not half
    assert (metrics["joint_accuracy"], metrics["joint_accuracy_paper"]) == (1, 0)
    repair = np.tile(np.log(REPAIR[:, None]), (1, 3, 1))  # a conditional head cannot choose the wrong name
    assert metrics_of(MisuseOutput(OUTPUT.location_logits, repair), BATCH).compute()["joint_accuracy"] == 1.0


def test_a_bug_counts_as_located_only_if_it_beats_no_bug():
    output = independent(
        np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3]]), np.array([[1 / 3] * 3, [0.8, 0.1, 0.1]])
    )
    metrics = metrics_of(output, BATCH).compute()
    assert metrics["no_bug_accuracy"] == metrics["location_accuracy"] == metrics["joint_accuracy"] == 0
    assert metrics["repair_accuracy"] == 1
    excluded = replace(BATCH, is_candidate=np.array([[False] * 3, [True] * 3]))
    assert metrics_of(output, excluded).compute()["no_bug_accuracy"] == 1
    tie = margins((False, 0.0, True), (True, 0.0, True)).compute()
    assert (tie["no_bug_accuracy"], tie["location_accuracy"]) == (1, 0)


def margins(*rows, vocabulary_size=6):
    """Metrics of examples (is buggy, margin of the best node over "no bug", is it the correct node), all repaired."""
    names, originals = [[5, 9]] * len(rows), [[9, 9] if is_buggy else [5, 9] for is_buggy, _, _ in rows]
    batch = make_batch(names, originals, [int(is_buggy) for is_buggy, _, _ in rows])
    location = np.array([[0.0, m, m - 1] if correct else [0.0, m - 1, m] for _, m, correct in rows])
    output = MisuseOutput(location, np.array([[[0.0, 1.0]]] * len(rows)), is_conditional=False)
    return metrics_of(output, batch, vocabulary_size=vocabulary_size)


def test_metrics_at_equal_false_alarm_rates_by_hand():
    """Twenty clean functions with margins 0.05 to 1; at 10 % two are flagged, so the threshold is 0.9."""
    clean = [(False, 0.05 * number, True) for number in range(1, 21)]
    metrics = margins(*clean, (True, 0.95, True), (True, 0.89, True), (True, 2.0, False), (True, 3.0, True))
    assert metrics.compute()["no_bug_accuracy"] == 0
    assert metrics.compute()["joint_accuracy"] == 0.75
    at = metrics.breakdown()["at_false_alarms"]
    assert list(at) == ["0.005", "0.01", "0.05", "0.1"]
    assert at["0.1"] == {
        "false_alarms": pytest.approx(0.1),
        "joint_accuracy": 0.5,
        "location_accuracy": 0.5,
        "joint_accuracy_both_rare": 0.0,
    }
    assert (at["0.01"]["false_alarms"], at["0.01"]["joint_accuracy"]) == (0, 0.25)
    fewer = margins(*clean[2:], (True, 0.95, True)).breakdown()["at_false_alarms"]
    assert fewer["0.1"]["false_alarms"] == pytest.approx(1 / 18)  # two would be more than 10 %


def test_metrics_at_confidence_thresholds():
    clean = [(False, number / 10, True) for number in range(200)]
    metrics = margins(*clean, (True, 30.0, True), (True, 0.0, True), (True, 30.0, False), (True, 20.0, True))
    at = metrics.breakdown(0.42)["at_confidence"]
    assert list(at) == ["0.1", "0.3", "0.42", "0.5", "0.7", "0.8", "0.9", "0.95", "0.98", "0.99"]
    assert at["0.1"] == {"false_alarms": 1.0, "joint_accuracy": 0.75}  # one has the wrong location
    assert at["0.7"]["joint_accuracy"] == 0.5
    confidence = metrics.columns()["confidence"][:200]
    assert at["0.7"]["false_alarms"] == (confidence >= 0.7).mean() < 1
    metrics._chunks["confidence"] = [np.full(204, 0.7)]
    assert metrics.breakdown()["at_confidence"]["0.7"]["false_alarms"] == 1  # the threshold itself is reported
    three_names = replace(BATCH, name_ranks=np.array([[0, 1, 0], [0, 1, 2]]))
    for repair, accuracy in ((0.6, 1.0), (0.1, 0.0)):
        output = independent(LOCATION, np.array([[0.4, 0.3, 0.3], [repair, 0.7 - repair, 0.3]]))
        assert metrics_of(output, three_names).breakdown()["at_confidence"]["0.1"]["joint_accuracy"] == accuracy


def test_metrics_by_project_length_and_rarity():
    metrics = metrics_of(OUTPUT, replace(BATCH, projects=np.array([0, 1])), project_names=["clean", "buggy", "other"])
    assert metrics.breakdown()["by_project"] == {"buggy": {"joint_accuracy": 0.0, "num_buggy": 1}}
    metrics = margins((False, -1.0, True), (True, 1.0, True), (True, -1.0, True))
    breakdown = metrics.breakdown()
    # Rank 5 is in a vocabulary of 6, rank 9 is not.
    assert breakdown["by_rarity"]["one rare"]["num_buggy"] == 2
    assert breakdown["by_rarity"]["one rare"]["joint_accuracy"] == 0.5
    assert breakdown["by_rarity"]["both rare"]["num_buggy"] == 0
    assert breakdown["by_length"]["up to 25"] == metrics.compute()
    assert breakdown["by_length"]["over 250"]["num_clean"] == 0
    metrics._chunks["length"] = [np.array([250, 25, 251])]
    by_length = metrics.breakdown()["by_length"]
    assert by_length["up to 25"]["num_buggy"] == by_length["over 250"]["num_buggy"] == 1
    assert by_length["up to 250"]["num_clean"] == 1
    for vocabulary_size, rarity in ((5, "both rare"), (9, "one rare"), (10, "both frequent")):
        by_rarity = margins((True, 1.0, True), vocabulary_size=vocabulary_size).breakdown()["by_rarity"]
        assert [name for name, group in by_rarity.items() if group["num_buggy"]] == [rarity]


# Export


@pytest.mark.parametrize("pointer_head", ["independent", "conditional"])
def test_the_model_is_exported_with_dynamic_batch_and_length(pointer_head):
    torch.manual_seed(0)
    config = ModelConfig(16, 2, 2, 16, 4, dropout=0.1)
    model = MisuseModel(config, 9, 20, pointer_head, usage_features=True, num_subtokens=6).eval()

    def inputs(batch, length):
        ids = {"types": (batch, length), "values": (batch, length), "usages": (batch, length)}
        arrays = {name: torch.randint(9, shape) for name, shape in ids.items()}
        mask = torch.arange(length) < torch.randint(1, length + 1, (batch, 1))
        return arrays | {"attention_mask": mask, "subtokens": torch.randint(7, (batch, length, 4))}

    class Logits(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, types, values, attention_mask, usages, subtokens):
            output = self.model(types, values, attention_mask, usages, subtokens)
            return output.location_logits, output.repair_logits

    batch, length = torch.export.Dim("batch", min=2, max=64), torch.export.Dim("length", min=2, max=500)
    example = inputs(3, 7)
    shapes = {name: {0: batch, 1: length} for name in example}
    with torch.no_grad():
        program = torch.export.export(Logits(), (), example, dynamic_shapes=shapes, strict=False).module()
        for other in (inputs(2, 5), inputs(5, 40)):
            expected = model(**other)
            location_logits, repair_logits = program(**other)
            torch.testing.assert_close(location_logits, expected.location_logits)
            torch.testing.assert_close(repair_logits, expected.repair_logits)
