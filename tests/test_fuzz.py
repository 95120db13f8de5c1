"""Properties of every text: on stored cases, on a few mutated files, and on code that is broken to violate them."""

import json
from collections.abc import Callable
from dataclasses import replace

import fuzzing
import pytest
from fuzzing import CASES, PROPERTIES, Case, cases, fuzz
from hypothesis import HealthCheck, given, settings

from rarename.errors import UsageError
from rarename.syntax import LANGUAGES, PYTHON, Traversal


@pytest.mark.parametrize("path", sorted(CASES.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_case_has_all_properties(path):
    for check in PROPERTIES.values():
        check(Case(**json.loads(path.read_text())))


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(cases())
def test_mutated_files_have_all_properties(case):
    for check in PROPERTIES.values():
        check(case)


GOOD = Case("python", "def area(width, height):\n    return width * width\n")


def break_parse(monkeypatch: pytest.MonkeyPatch, parse: Callable[[str, bool], Traversal]) -> None:
    monkeypatch.setitem(LANGUAGES, "python", replace(PYTHON, parse=parse))


def with_shifted_spans(text, tolerant):
    tree = PYTHON.parse(text, tolerant)
    tree.spans[:, (1, 3)] += 1
    return tree


def with_lost_value(text, tolerant):
    tree = PYTHON.parse(text, tolerant)
    return replace(tree, values=[None if value == "VAR1" else value for value in tree.values])


def with_crash(text, tolerant):
    raise KeyError(text)


def with_cubic_time(text, tolerant):
    for _ in range(len(text) ** 2 // 50_000):  # cubic with the next line, well above the noise of a busy machine
        text.count("x,")
    return PYTHON.parse(text, tolerant)


@pytest.mark.parametrize(
    ("name", "parse"),
    [
        ("has_exact_spans", with_shifted_spans),
        ("restores_exactly", with_lost_value),
        ("completes", with_crash),
        ("is_checked", with_crash),
        ("takes_linear_time", with_cubic_time),
    ],
)
def test_a_property_fails_when_the_parser_is_broken(monkeypatch, name, parse):
    case = replace(GOOD, unit="x, ") if name == "takes_linear_time" else GOOD
    PROPERTIES[name](case)
    break_parse(monkeypatch, parse)
    with pytest.raises((AssertionError, KeyError)):
        PROPERTIES[name](case)


@pytest.mark.parametrize("name", ["text", "full", "github", "json", "json-lines", "gitlab", "junit", "sarif"])
def test_a_format_with_control_characters_fails(monkeypatch, name):
    write = fuzzing.FORMATS[name]
    monkeypatch.setitem(fuzzing.FORMATS, name, lambda result: write(result) + "\x1b[31m")
    with pytest.raises(AssertionError, match=name):
        PROPERTIES["is_checked"](GOOD)


def test_a_failure_is_stored_as_a_case(monkeypatch, tmp_path):
    def fail(_case: Case) -> None:
        raise UsageError("everything fails")

    monkeypatch.setattr(fuzzing, "PROPERTIES", {"fail": fail})
    assert fuzzing.work(1, 5, tmp_path, tmp_path / ".current.json", 60) == 1
    (path,) = tmp_path.glob("*-*.json")
    assert Case(**json.loads(path.read_text())).text.count("\n") <= 1


def test_a_text_that_ends_the_process_is_stored(monkeypatch, tmp_path):
    worker = tmp_path / "worker.py"
    case, current = json.dumps({"language": "python", "text": "boom"}), tmp_path / ".current.json"
    worker.write_text(f"import os\nopen({str(current)!r}, 'w').write({case!r})\nos.abort()\n")
    monkeypatch.setattr(fuzzing, "__file__", str(worker))
    assert fuzz(0.1, 1, 1, tmp_path) >= 1
    (path,) = tmp_path.glob("python-*.json")
    assert Case(**json.loads(path.read_text())).text == "boom"
