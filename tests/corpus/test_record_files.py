"""Published records come in by line, with the paths, projects and filters of their lists."""

import gzip
import json
import pickle
import random
import re
from pathlib import Path

import pytest

from rarename.corpus import document
from rarename.corpus.document import Document, Skip, SourceOptions
from rarename.corpus.record_files import read_allow_list, read_duplicates
from rarename.corpus.sources import plan, resolve
from rarename.errors import SourceError, UsageError
from rarename.progress import NullProgress
from rarename.syntax import JAVASCRIPT, TOKENS
from rarename.syntax import PYTHON as PYTHON_FILES
from rarename.syntax.traversal import MisuseLabel


def tree_line(name):
    return json.dumps([{"type": "Module", "children": [1]}, {"type": "NameLoad", "value": name}])


def example_line(*, path="owner/repo/m.py", **changes):
    example = {
        "has_bug": True, "bug_kind": 1, "bug_kind_name": "VARIABLE_MISUSE", "error_location": 4,
        "source_tokens": ["#NEWLINE#", "def f(", "a", ",", "b", ")", ":", "return", "a"], "edges": [],
        "repair_targets": [2, 8], "repair_candidates": [2, 4, 8],
        "provenances": [{"datasetProvenance": {"datasetName": "ETHPy150Open", "filepath": path}}],
    }  # fmt: skip
    return json.dumps(example | changes)


def read_all(specs, options=None, language=PYTHON_FILES):
    specs, options = [str(spec) for spec in specs], options or SourceOptions()
    sources, _ = resolve(specs, language, Path(specs[0]).parent / "work", options, NullProgress())
    sources = pickle.loads(pickle.dumps(sources))
    chunks, skips = plan(sources, NullProgress())
    found = [item for chunk in chunks for item in sources[chunk.source].read(chunk)]
    documents = [item for item in found if isinstance(item, Document)]
    return documents, skips + [item for item in found if isinstance(item, Skip)]


@pytest.fixture
def trees(tmp_path):
    path = tmp_path / "python_train.json"
    path.write_text("".join(tree_line(name) + "\n" for name in "abcdef"), encoding="utf-8")
    names = ["ann/one/a.py", "ann/one/b.py", "ann/two/c.py", "bob/x/d.py", "bob/x/e.py", "cy/z/f.py"]
    path.with_suffix(".txt").write_text("".join(f"data/{name}\n" for name in names), encoding="utf-8")
    return path


def names_of(documents):
    return "".join(document.content.values[1] for document in documents)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("members", [1, 2, 4, 100])
def test_lines_and_their_paths_stay_together_however_they_are_cut(trees, packed, members, monkeypatch):
    monkeypatch.setattr(document, "SHARD_FILES", members)
    if packed:
        trees.with_suffix(".json.gz").write_bytes(gzip.compress(trees.read_bytes()))
        trees = trees.with_suffix(".json.gz")
    documents, skips = read_all([trees])
    assert [document.path[-4] for document in documents] == list("abcdef") == list(names_of(documents))
    assert documents[0].path == "ann/one/a.py"
    assert [document.project for document in documents[::2]] == ["ann/one", "ann/two", "bob/x"]
    assert skips == []


def test_owner_can_be_the_project(trees):
    documents, _ = read_all([trees], SourceOptions(split_by="owner"))
    assert [document.project for document in documents] == ["ann", "ann", "ann", "bob", "bob", "cy"]


def test_record_without_a_list_is_its_own_project(trees):
    trees.with_suffix(".txt").unlink()
    documents, _ = read_all([trees])
    assert documents[2].path == documents[2].project == "python_train.json:3"


def test_list_of_paths_can_be_named(trees, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("".join(f"data/o/r/{name}.py\n" for name in ("first", "second", "c", "d", "e", "f")))
    documents, _ = read_all([trees], SourceOptions(record_paths=(other,)))
    assert [document.path for document in documents[:2]] == ["o/r/first.py", "o/r/second.py"]


def test_lists_must_match_the_files(trees, tmp_path):
    with pytest.raises(UsageError) as caught:
        read_all([trees], SourceOptions(record_paths=(tmp_path / "a", tmp_path / "b")))
    assert str(caught.value) == "2 lists of paths for 1 files of trees; expected one for each"
    with pytest.raises(SourceError, match="nowhere: no such list of paths"):
        read_all([trees], SourceOptions(record_paths=(tmp_path / "nowhere",)))


def test_filters_of_the_paper_are_applied(trees, tmp_path):
    duplicates = tmp_path / "duplicates.json"
    prefix = "/scratch/someone/py150/data/"
    duplicates.write_text(json.dumps([[prefix + "ann/one/a.py", prefix + "bob/x/d.py"], [prefix + "cy/z/f.py"]]))
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps([{"filepath": "ann/one/a.py", "license": "mit"}, {"filepath": "bob/x/d.py"}]))
    repositories = tmp_path / "repositories.txt"
    repositories.write_text("# free ones\ncy/z\n")
    options = SourceOptions(duplicate_clusters=duplicates, allow_lists=(manifest, repositories))
    documents, skips = read_all([trees], options)
    assert names_of(documents) == "af"
    assert [(skip.path, skip.reason) for skip in skips] == [
        ("ann/one/b.py", "repository not allowed"),
        ("ann/two/c.py", "repository not allowed"),
        ("bob/x/d.py", "listed as duplicate"),
        ("bob/x/e.py", "repository not allowed"),
    ]


def test_a_list_that_ends_too_early_is_an_error(tmp_path):
    (tmp_path / "t.json").write_text("\n".join(map(tree_line, "abc")))
    (tmp_path / "t.txt").write_text("o/r/a.py\n")
    with pytest.raises(SourceError, match=r"names 1 of the 3 trees in .*; is it the right list"):
        read_all([tmp_path / "t.json"])


def test_trees_of_another_language_are_an_error(tmp_path):
    (tmp_path / "t.json").write_text(tree_line("a"))
    with pytest.raises(SourceError, match="holds trees of Module; use --language python, not javascript"):
        read_all([tmp_path / "t.json"], language=JAVASCRIPT)


def test_the_folder_in_which_a_list_of_duplicates_was_made_does_not_matter(tmp_path):
    clusters = [["a/b/m.py", "c/d/m.py"], ["e/f.py", "g/h.py"]]
    (tmp_path / "d").write_text(json.dumps([[f"/scratch/py150/{name}" for name in names] for names in clusters]))
    assert read_duplicates(tmp_path / "d") == {"c/d/m.py", "g/h.py"}


def test_manifest_may_be_json_lines_and_duplicates_unprefixed(tmp_path):
    (tmp_path / "m").write_text('{"filepath": "a/b/c.py"}\n\n{"filepath": "d/e/f.py"}\n')
    assert read_allow_list(tmp_path / "m") == {"a/b/c.py", "d/e/f.py"}
    (tmp_path / "d").write_text('[["data/a/b/c.js", "data/a/data/c.js"]]')
    assert read_duplicates(tmp_path / "d") == {"a/data/c.js"}


CLUSTERS = "expected a JSON list of clusters, each a list of paths"


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_duplicates, "{}", CLUSTERS),
        (read_duplicates, "[1]", f"{CLUSTERS}, met '1'"),
        (read_duplicates, "[", f"{CLUSTERS}, but it is not JSON: "),
        (read_allow_list, '[{"path": 1}]', "expected objects with a filepath, met \"{'path': 1}\""),
        (read_allow_list, '{"filepath"\n', "expected one JSON object per line, but it is not JSON: "),
    ],
)
def test_wrong_list_is_an_error_with_the_expected_format(tmp_path, reader, text, message):
    path = tmp_path / "list"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        reader(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    with pytest.raises(SourceError, match="nowhere: the list cannot be read: "):
        reader(tmp_path / "nowhere")


def test_bad_and_blank_and_long_lines_are_reported_by_their_number(tmp_path):
    path = tmp_path / "x.json"
    lines = [tree_line("a"), "", "[7", json.dumps([{"type": "x" * 500}]), tree_line("b")]
    path.write_text("\n".join(lines))
    documents, skips = read_all([path], SourceOptions(max_record_bytes=300))
    assert [document.path for document in documents] == ["x.json:1", "x.json:5"]
    reasons = [(skip.path, skip.reason) for skip in skips]
    assert reasons == [("x.json:3", "malformed record"), ("x.json:4", "over 300 bytes")]


def test_broken_gzip_is_read_up_to_the_damage(tmp_path, trees):
    lines = "".join(tree_line(f"name{number}{number * 7919}") + "\n" for number in range(5000))
    path = tmp_path / "x.json.gz"
    packed = gzip.compress(lines.encode())
    path.write_bytes(packed[: len(packed) // 2])
    documents, skips = read_all([path])
    assert len(documents) > 1000
    assert skips[0].reason == "cannot be read"
    assert skips[0].detail.startswith("the rest cannot be read: Compressed file ended before")


def test_record_file_broken_from_its_start_is_an_error(tmp_path):
    path = tmp_path / "x.json.gz"
    noise = random.Random(0).randbytes(50_000).hex()
    path.write_bytes(gzip.compress(f'[{{"type":"{noise}"}}]'.encode())[:20_000])
    with pytest.raises(SourceError, match=r"x\.json\.gz cannot be read: Compressed file ended before"):
        read_all([path])


def test_gzip_bomb_stops_at_its_budget(tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress((tree_line("a") + "\n").encode() + b" " * 2_000_000))
    _, skips = read_all([path], SourceOptions(max_archive_bytes=1_000_000))
    assert (skips[0].reason, skips[0].detail) == ("cannot be read", "over 1000000 bytes, uncompressed")


def test_great_example_keeps_its_positions_and_bug(tmp_path):
    path = tmp_path / "dev.jsonl.gz"
    clean = example_line(has_bug=False, error_location=0, repair_targets=[], repair_candidates=[2, 8, "a", 4, "b"])
    path.write_bytes(gzip.compress(f"{example_line()}\n{clean}\n{example_line(provenances=[])}\n".encode()))
    documents, skips = read_all([path], language=TOKENS)
    assert skips == []
    assert documents[0].bug == MisuseLabel(4, (2, 8), (2, 4, 8), "VARIABLE_MISUSE")
    assert documents[1].bug == MisuseLabel(0, (), (2, 8, 4), "VARIABLE_MISUSE")
    assert documents[0].content.values[1] == "def f("
    assert set(documents[0].content.parents) == {-1}
    assert (documents[0].path, documents[0].project) == ("owner/repo/m.py#dev.jsonl.gz:1", "owner/repo")
    assert documents[2].path == documents[2].project == "dev.jsonl.gz:3"


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"error_location": 0}, "error_location is 0; expected a token from 1 to 8"),
        ({"error_location": True}, "error_location is True; expected a token from 1 to 8"),
        ({"has_bug": "yes"}, "has_bug is missing or not true or false"),
        ({"repair_targets": [99]}, "repair_targets has 99; the tokens are 0 to 8"),
        ({"repair_candidates": 3}, "repair_candidates is not a list"),
        ({"source_tokens": []}, "an example needs source_tokens, a list of strings that is not empty"),
    ],
)
def test_malformed_example_is_left_out_with_the_reason(tmp_path, changes, detail):
    path = tmp_path / "x.jsonl"
    path.write_text(example_line() + "\n" + example_line(**changes) + "\n[]\n{\n")
    documents, skips = read_all([path], language=TOKENS)
    assert len(documents) == 1
    assert [skip.reason for skip in skips] == ["malformed record"] * 3
    assert [skip.detail for skip in skips][:2] == [detail, "a GREAT example is a JSON object"]
    assert skips[2].detail.startswith("the example is not JSON: ")


def test_records_need_their_language(tmp_path, trees):
    path = tmp_path / "x.jsonl"
    path.write_text(example_line())
    with pytest.raises(
        SourceError, match="GREAT examples, which are token sequences; use --language tokens, not python"
    ):
        read_all([path])
    with pytest.raises(SourceError, match="holds trees of Module; use --language python, not tokens"):
        read_all([trees], language=TOKENS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "x"}', "holds neither published trees nor GREAT examples: an example needs source_tokens"),
        ("[\n{}]", "not a file of python (one of .py, "),
        ("[7]", "nor published records, one per line"),
    ],
)
def test_other_json_is_refused(tmp_path, text, message):
    path = tmp_path / "package.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=re.escape(message)):
        read_all([path])
