"""Data sets in Parquet as a source."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rarename.cli.main import main
from rarename.corpus import parquet
from rarename.corpus.document import SourceOptions
from rarename.corpus.parquet import ParquetSource
from rarename.corpus.store import Corpus

DATA_SETS = [
    ("content", "max_stars_repo_path", "max_stars_repo_name"),
    ("code", "path", "repo_name"),
    ("whole_func_string", "func_path_in_repository", "repository_name"),
]


def write(path, names, rows=12):
    texts = [f"def f{row}(a):\n    return a.x{row} + {row}\n" for row in range(rows)]
    columns = [texts, [f"src/m{row // 2}.py" for row in range(rows)], [f"me/p{row % 4}" for row in range(rows)]]
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(dict(zip(names, columns, strict=True))), path, row_group_size=5)


def prepare(corpus, source, *options):
    return main(["prepare", str(corpus), source, "--language", "python", "--jobs", "1", *options])


def files(corpus):
    splits = ("train", "validation", "test")
    return {file.path: file.project for split in splits for file in Corpus(corpus).split(split)}


@pytest.mark.parametrize("names", DATA_SETS)
def test_the_columns_of_known_data_sets_are_found(tmp_path, names):
    write(tmp_path / "d" / "a.parquet", names)
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}/d/a.parquet", "--keep-near-duplicates") == 0
    expected = {f"me/p{row % 4}/src/m{row // 2}.py#a.parquet:{row + 1}": f"me/p{row % 4}" for row in range(12)}
    assert files(tmp_path / "c") == expected


@pytest.mark.parametrize("where", ["d", "d/*.parquet"])
def test_a_folder_or_glob_reads_all_files(tmp_path, where):
    for name in "ab":
        write(tmp_path / "d" / f"{name}.parquet", DATA_SETS[0])
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}/{where}", "--keep-near-duplicates") == 0
    assert len(files(tmp_path / "c")) == 24


def test_a_large_row_group_is_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "CHUNK_ROWS", 2)
    monkeypatch.setattr(parquet, "SHARD_FILES", 3)  # rows of a batch
    write(tmp_path / "d" / "a.parquet", DATA_SETS[0])
    source = ParquetSource(0, None, tmp_path / "d" / "a.parquet", "a", (".py",), SourceOptions(), DATA_SETS[0])
    chunks, _ = source.chunks()
    assert [(chunk.first, chunk.count) for chunk in chunks] == [
        (0, 2), (2, 2), (4, 1), (5, 2), (7, 2), (9, 1), (10, 2),
    ]  # fmt: skip
    rows = [[document.path.partition("#")[2] for document in source.read(chunk)] for chunk in chunks]
    assert rows == [[f"a:{chunk.first + row + 1}" for row in range(chunk.count)] for chunk in chunks]


def test_columns_by_option_and_an_error_that_lists_them(tmp_path, capfd):
    write(tmp_path / "d" / "a.parquet", ("body", "path", "repo_name"))
    source = f"parquet:{tmp_path}/d/a.parquet"
    assert prepare(tmp_path / "c", source) == 2
    assert "it has body, path, repo_name; choose one with --text-column" in capfd.readouterr().err
    assert prepare(tmp_path / "c", source, "--text-column", "body", "--keep-near-duplicates") == 0
    assert len(files(tmp_path / "c")) == 12


def test_other_languages_are_ignored_and_bad_rows_skipped(tmp_path):
    rows = {"content": ["x = a + 1\n", None, "x"], "path": ["a.py", "b.py", "c.js"], "repo_name": ["p"] * 3}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}/a.parquet") == 0
    assert files(tmp_path / "c") == {"p/a.py#a.parquet:1": "p"}
    skipped = json.loads((tmp_path / "c" / "manifest.json").read_text())["skipped"]
    example = "a.parquet:2: expected text in content, path, repo_name"
    assert skipped == {"malformed record": {"count": 1, "examples": [example]}}


def test_damaged_rows_are_reported(tmp_path):
    texts = pa.array([b"x = a + 1\n", b"\xff"]).view(pa.string())
    rows = {"content": texts, "path": ["a.py", "b.py"], "repo_name": ["p"] * 2}
    pq.write_table(pa.table(rows), tmp_path / "utf8.parquet")
    pq.write_table(pa.table(rows | {"content": ["x = a\n", "y = b\n"]}), tmp_path / "page.parquet", compression="none")
    content = (tmp_path / "page.parquet").read_bytes()
    (tmp_path / "page.parquet").write_bytes(content[:4] + b"\xff" * 8 + content[12:])
    write(tmp_path / "d" / "a.parquet", DATA_SETS[0])
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}", "--keep-near-duplicates") == 0
    assert len(files(tmp_path / "c")) == 12
    skipped = json.loads((tmp_path / "c" / "manifest.json").read_text())["skipped"]
    assert [reason for reason in skipped if reason != "malformed record"] == ["archive is broken"]
    assert skipped["archive is broken"]["count"] == 2


def test_few_bytes_that_hold_many_are_not_read_to_the_end(tmp_path):
    texts = pa.array(["x = 1\n" * 500_000]).take(pa.array([0] * 60))
    rows = {"content": texts, "path": ["a.py"] * 60, "repo_name": ["p"] * 60}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet", compression="zstd")
    source = ParquetSource(0, None, tmp_path / "a.parquet", "a", (".py",), SourceOptions(), tuple(rows))
    (chunk,), _ = source.chunks()
    *found, skip = source.read(chunk)
    assert len(found) < 60 and skip.reason == "archive over its limits"
    rows = {name: pa.array(["x"]).take(pa.array([0] * 100_000)) for name in rows}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet", compression="zstd")
    chunks, (skip,) = source.chunks()
    assert not chunks and skip.reason == "archive over its limits"


def test_what_is_not_parquet_is_an_error(tmp_path, capfd):
    (tmp_path / "a.parquet").write_text("no")
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}/a.parquet") == 2
    assert "a.parquet is not a Parquet file" in capfd.readouterr().err
    assert prepare(tmp_path / "c", f"parquet:{tmp_path}/none*") == 2
    assert "no such file, nor a folder or glob" in capfd.readouterr().err
