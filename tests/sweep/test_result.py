"""Result files are read, or refused with the reason."""

import json

import pytest

from rarename.errors import RunError
from rarename.sweep.result import Result, number_at, read_result, write_result

METRICS = {"joint_accuracy": 0.5, "by_rarity": {"both rare": {"joint_accuracy": 0.25}}}
CURVE = [{"examples": 1000, "validation": {"joint_accuracy": score}} for score in (0.4, 0.3)]
CORPUS, CODE = {"name": "ten", "digest": "5", "projects": 10}, {"version": "1", "recipe": 1}
WORDS = ("tiny", "ordered-100-0", "Tiny", "Table 2", "misuse", "python", "tiny")
SETTINGS = {"encoding.strategy": "ordered", "encoding.vocabulary_size": 100, "seed": 0}
SETTINGS |= {"model.d_model": 16, "model.num_layers": 1}
RESULT = Result(*WORDS, SETTINGS, CORPUS, CODE, "test", 1000, 7, METRICS, CURVE)


def test_a_result_is_read_as_it_was_written(tmp_path):
    write_result(tmp_path / "tiny" / "a.json", RESULT)
    assert read_result(tmp_path / "tiny" / "a.json") == RESULT
    lines = (tmp_path / "tiny" / "a.json").read_text().splitlines()
    assert lines[1:4] == ['"format": "rarename-result",', '"version": 2,', '"experiment": "tiny",']


def test_metrics_are_found_by_path():
    assert number_at(RESULT.metrics, "by_rarity", "both rare", "joint_accuracy") == 0.25
    assert number_at(RESULT.metrics, "by_rarity", "no such group", "joint_accuracy") is None
    assert number_at(RESULT.metrics, "by_rarity") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "rare', "cannot be read: Unterminated string"),
        ("[" * 100_000, "cannot be read: "),
        ("\udcff", "cannot be read: "),
        ("[1, 2]", 'is not a result file: expected "format": "rarename-result"'),
        ('{"format": "coco"}', "is not a result file"),
        ('{"format": "rarename-result", "version": 1}', "has version 1; this rarename reads version 2"),
        ('{"format": "rarename-result", "version": 2}', "is damaged: .* missing 11 required"),
    ],
)
def test_a_damaged_or_foreign_file_is_an_error(tmp_path, text, message):
    (tmp_path / "a.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(RunError, match=f"a.json {message}"):
        read_result(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": 7}, "damaged: task is 7; expected one of misuse, completion"),
        ({"language": "cobol"}, "damaged: language is 'cobol'; expected one of python"),
        ({"code": {"version": "1", "recipe": [1]}}, r"damaged: code.recipe is \[1\]; expected a whole number"),
        ({"metrics": {"by_project": {"a": 1}}}, "damaged: metrics.by_project.a is 1; expected dict"),
        ({"metrics": {"by_kind": {"a": None}}}, "damaged: metrics.by_kind.a is None; expected int or float"),
        ({"metrics": {"mrr": 10**300}}, "damaged: metrics.mrr is 10+"),
        ({"curve": [{"examples": 5, "validation": {"a": []}}]}, r"damaged: curve\[0\].validation.a is \[\]"),
        ({"settings": SETTINGS | {"init": ["a"]}}, "damaged: settings.init is"),
        ({"title": "\ud800"}, "damaged: 'utf-8' codec can't encode"),
        ({"examples": True}, "damaged: examples is True; expected a whole number from 0"),
        ({"seconds": "7"}, "damaged: seconds is '7'; expected float"),
        ({"curve": {}}, "damaged: curve is {}; expected list"),
        ({"curve": [{"examples": 5}]}, r"damaged: curve\[0\].validation is missing"),
        ({"settings": SETTINGS | {"seed": 10**30}}, "damaged: settings.seed is 10+; expected a whole number"),
        ({"settings": {}}, "damaged: settings.encoding.strategy is missing"),
        ({"embeddings": {"points": []}}, "damaged: embeddings.cosine is missing"),
        ({"other": 1}, "damaged: .* unexpected keyword argument 'other'"),
        ({"metrics": {}}, "has no metrics"),
        ({"metrics": {"a": {"b": [float("nan")]}}}, "cannot be read: it contains NaN"),
    ],
)
def test_a_wrong_field_is_an_error(tmp_path, changes, message):
    write_result(tmp_path / "a.json", RESULT)
    content = json.loads((tmp_path / "a.json").read_text())
    (tmp_path / "a.json").write_text(json.dumps(content | changes))
    with pytest.raises(RunError, match=message):
        read_result(tmp_path / "a.json")
