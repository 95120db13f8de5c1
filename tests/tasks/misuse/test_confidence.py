"""Calibrated confidence: what it corrects, and where it is read from."""

import runpy
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rarename.assist import Checker
from rarename.encoding import Encoding
from rarename.errors import RunError
from rarename.syntax import PYTHON, parse
from rarename.syntax.functions import functions
from rarename.tasks.misuse.confidence import INPUTS, Calibration, calibration_inputs
from rarename.tasks.misuse.functions import Function
from rarename.tasks.misuse.predict import BugPredictions
from rarename.vocabulary import Vocabulary

TEXT = "def f(self, rows, row):\n    return rows.size + self.size + row\n"

CALIBRATION = str(Path(__file__).parents[3] / "experiments" / "calibration.py")


@pytest.fixture(scope="module")
def function():
    tree = parse(TEXT, PYTHON)
    file = Function.of_file(tree, PYTHON.roles(tree), PYTHON, Encoding(Vocabulary([])), has_bigrams=True)
    return file.function_at(*functions(tree, PYTHON)[0])


def predictions(function):
    """`rows` should be `self` with 0.6, or `row` with 0.3; `row` should be `rows` with 0.05; nothing else."""
    rows, _, row = function.variables[3:].tolist()
    first, second, third = function.variables[:3].tolist()
    columns = [rows, rows, row, -1], [first, third, second, 0], [0.6, 0.3, 0.05, 0.0]
    return BugPredictions(np.array([0]), *(np.array([column]) for column in columns))


def test_log_odds_alone_change_nothing(function):
    found = predictions(function)
    same = Calibration.of({"log_odds": 1.0}).apply(found, [function])
    assert same.location.tolist() == found.location.tolist()
    assert same.confidence[0].tolist() == pytest.approx([0.6, 0.3, 0.05, 0.0])


def test_a_feature_can_change_the_order(function):
    found = predictions(function)
    corrected = Calibration.of({"log_odds": 1.0, "right_is_receiver": -3.0}).apply(found, [function])
    assert corrected.repair[0].tolist() == [found.repair[0, each] for each in (1, 0, 2, 3)]
    assert corrected.confidence[0, :2].tolist() == pytest.approx([0.3, 1.5 * np.exp(-3) / (1 + 1.5 * np.exp(-3))])


def test_the_inputs_of_a_candidate(function):
    (matrix,) = calibration_inputs(predictions(function), [function])
    first, second, *_ = (dict(zip(INPUTS, row.tolist(), strict=True)) for row in matrix)
    assert first["margin"] == pytest.approx(np.log(2)) == -second["margin"]
    assert first["log_nodes"] == pytest.approx(np.log(len(function)))
    assert (first["right_is_receiver"], second["right_is_receiver"]) == (1, 0)
    assert (first["similar"], second["similar"], second["right_unread"]) == (0, 1, 0)
    assert (first["right_attribute"], second["wrong_attribute"]) == (1, 0)  # self.size occurs elsewhere


def test_the_functions_of_a_batch_do_not_change_each_other(function):
    found = predictions(function)
    other = replace(function, values=function.values[::-1], num_context=1, receivers=())
    both = BugPredictions(np.array([1, 0, 1]), *(np.repeat(each, 3, axis=0) for each in list(vars(found).values())[1:]))
    first, second = (calibration_inputs(found, [each])[0, :3] for each in (function, other))
    assert (first != second).any()
    np.testing.assert_array_equal(calibration_inputs(both, [function, other])[:, :3], [second, first, second])


def test_check_reads_the_calibration_of_a_model(python_run, tmp_path):
    folder = shutil.copytree(python_run, tmp_path / "run")
    settings = folder / "check.toml"
    plain = Checker.load(folder, threshold=0).check(TEXT, "python")
    settings.write_text("[confidence]\nlog_odds = 1.0\nbias = 2.0\n")
    (higher,) = Checker.load(folder, threshold=0).check(TEXT, "python")
    assert higher.confidence > max(each.confidence for each in plain)
    settings.write_text("[confidence]\nluck = 1.0\n")
    with pytest.raises(
        RunError, match=r"check\.toml: the calibration weighs 'luck', which this version of rarename does not know"
    ):
        Checker.load(folder)
    for content in ('"high"', "{bias = nan}", "{bias = inf}", "{bias = -1e7}", "{bias = true}"):
        settings.write_text(f"confidence = {content}\n")
        with pytest.raises(
            RunError, match=r"confidence is .*; expected a table of numbers from -1,000,000 to 1,000,000"
        ):
            Checker.load(folder)
    settings.write_text("[confidence]\nbias = 1e6\nlog_odds = -1e6\n")
    assert all(0 <= each.confidence <= 1 for each in Checker.load(folder, threshold=0).check(TEXT, "python"))


def test_the_calibration_is_fitted_to_how_often_predictions_are_right():
    fit = runpy.run_path(CALIBRATION)
    rng, groups = np.random.default_rng(0), []
    for number in range(9_000):
        kind = ("before", "before", "after")[number % 3]
        inputs = np.zeros((2, len(INPUTS)))
        inputs[:, INPUTS.index("bias")] = 1
        inputs[:, INPUTS.index("log_odds")] = rng.normal(0, 2, size=2)
        inputs[:, INPUTS.index("right_is_receiver")] = rng.integers(2, size=2)
        scores = 0.5 * inputs[:, INPUTS.index("log_odds")] - 2 * inputs[:, INPUTS.index("right_is_receiver")]
        is_right = np.zeros(2, dtype=bool)
        best = int(scores.argmax())
        is_right[best] = kind == "before" and rng.random() < 1 / (1 + np.exp(-scores[best]))
        groups.append(fit["Group"](inputs, is_right, kind))
    weights = fit["fit_calibration"](groups)
    assert weights["right_is_receiver"] / weights["log_odds"] == pytest.approx(-4, rel=0.2)
    assert all(abs(weights[name]) < 1e-6 for name in ("log_nodes", "similar"))
    calibration = Calibration.of(weights)
    tops = np.array([calibration.confidence(each.inputs).max() for each in groups])
    rights = np.array([each.is_right.any() for each in groups])
    shares = np.array([0.25 if each.kind == "after" else 0.5 for each in groups])
    for low, high in ((0.1, 0.3), (0.3, 0.6)):
        among = (tops >= low) & (tops < high)
        right = np.average(rights[among], weights=shares[among] / np.where(shares[among] < 0.5, 0.5, 1))
        assert tops[among].mean() == pytest.approx(right, abs=0.06)


def test_the_threshold_flags_at_most_the_given_fraction_of_clean_functions():
    threshold_at = runpy.run_path(CALIBRATION)["threshold_at"]
    clean = np.arange(1, 201) / 250  # 0.004 to 0.8
    assert threshold_at(clean, 0.0) == pytest.approx(0.8001)
    assert threshold_at(clean, 1 / 200) == pytest.approx(0.7961)  # 0.8 is flagged, 0.796 is not
    assert threshold_at(clean, 1.9 / 200) == pytest.approx(0.7961)
    assert threshold_at(clean, 0.1) == pytest.approx(0.7201)
    assert threshold_at(np.ones(200), 0.0) == 1.0
