"""Snippets of a corpus after anonymization."""

import json

import pyarrow.parquet as pq
import pytest

from rarename.cli.main import main
from rarename.corpus.snippets import export_snippets
from rarename.corpus.store import Corpus
from rarename.errors import UsageError


@pytest.fixture(scope="module")
def corpus(corpus_folder):
    return Corpus(corpus_folder)


def rows_of(folder):
    return [
        row
        for split in ("train", "validation", "test")
        for row in pq.read_table(folder / f"{split}.parquet").to_pylist()
    ]


@pytest.mark.parametrize(("kind", "max_nodes"), [("functions", 250), ("windows", 60)])
def test_names_restore_the_values_of_the_corpus(corpus, tmp_path, kind, max_nodes):
    export_snippets(corpus, tmp_path / "out", "randomized", 30, kind=kind, max_nodes=max_nodes)
    files = {file.path: file for split in ("train", "validation", "test") for file in corpus.split(split)}
    rows = rows_of(tmp_path / "out")
    assert len(rows) > 50
    for row in rows:
        tree = corpus.traversal(files[row["path"]])
        nodes = slice(row["start"], row["start"] + len(row["types"]))
        names = dict(zip(row["placeholders"], row["names"], strict=True))
        assert len(set(names.values())) == len(names)
        restored = [names.get(value, value) for value in row["values"]]
        masked = {"STRING"} if kind == "functions" else set()
        pairs = zip(restored, tree.values[nodes], strict=True)
        assert row["types"] == tree.types[nodes]
        assert all(value == expected or value in masked for value, expected in pairs)
        assert len(row["types"]) <= max_nodes
        assert row["project"] == files[row["path"]].project


def test_windows_cover_every_node_once(corpus, tmp_path):
    export_snippets(corpus, tmp_path / "out", "standard", 30, kind="windows", max_nodes=60)
    predicted = sum(len(row["types"]) - row["context"] for row in rows_of(tmp_path / "out"))
    assert predicted == sum(split["nodes"] for split in corpus.manifest["splits"].values())


def test_the_command_writes_the_same_rows_as_json_lines(corpus, tmp_path, capfd):
    export_snippets(corpus, tmp_path / "out", "ordered", 30)
    command = ["export", "data", corpus.path, tmp_path / "lines", "--strategy", "ordered", "--vocabulary-size", 30]
    assert main([*map(str, command), "--format", "jsonl"]) == 0
    lines = [(tmp_path / "lines" / f"{split}.jsonl").read_text() for split in ("train", "validation", "test")]
    expected = rows_of(tmp_path / "out")
    assert [json.loads(line) for text in lines for line in text.splitlines()] == expected
    assert f"rarename export: wrote {len(expected):,} functions to" in capfd.readouterr().err


def test_a_folder_with_files_is_not_touched(corpus, tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(UsageError, match="exists; choose another folder"):
        export_snippets(corpus, tmp_path, "ordered", 30)
