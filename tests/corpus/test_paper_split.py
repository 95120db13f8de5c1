import json

import pytest

from rarename.cli.main import main
from rarename.corpus.store import Corpus

A = '[{"type":"Module","children":[1]},{"type":"NameLoad","value":"%s"}]'


@pytest.fixture
def published(tmp_path):
    """Nine records in two files, and lists in the layout of the authors."""
    rows = {
        "python100k_train": [
            ("data/ann/r/a.py", A % "a"),
            ("data/ann/r/dup.py", A % "b"),  # a listed duplicate
            ("data/bob/r/c.py", A % "c"),
            ("data/zoe/r/d.py", A % "d"),  # an owner in no list: not kept, so its record can be kept later
            ("data/ann/r/closed.py", A % "e"),  # in no manifest
        ],
        "python50k_eval": [
            ("data/cat/r/d.py", A % "d"),
            ("data/cat/r/a.py", A % "a"),  # identical to a kept record
            ("data/cat/r/latin.py", A % "\xe9"),
            ("data/ann/r/empty.py", '[{"type":"Module"}]'),
        ],
    }
    for name, records in rows.items():
        (tmp_path / f"{name}.json").write_bytes("".join(f"{tree}\n" for _, tree in records).encode("latin-1"))
        (tmp_path / f"{name}.txt").write_text("".join(f"{path}\n" for path, _ in records))
    lists = tmp_path / "lists"
    for folder in ("repos", "duplicates", "py_redistributable_repos"):
        (lists / folder).mkdir(parents=True)
    for split, owners in {"train": "ann\nx", "val": "bob", "test": "cat\n"}.items():
        (lists / f"repos/{split}_repos_py.txt").write_text(owners)
    base = "/scratchvol/miallama/py150/data/ann/r/"
    (lists / "duplicates/py150-duplicates.json").write_text(json.dumps([[f"{base}a.py", f"{base}dup.py"]]))
    paths = [path[5:] for records in rows.values() for path, _ in records if "closed" not in path]
    for number, split in enumerate(("dev", "train", "eval")):
        entries = [{"filepath": path} for path in paths[number::3]]
        (lists / f"py_redistributable_repos/{split}__manifest.json").write_text(json.dumps(entries))
    return tmp_path


def prepare(folder):
    arguments = [str(folder / "corpus"), f"py150:{folder}", "--paper-split", str(folder / "lists")]
    return main(["prepare", *arguments, "--language", "python", "--jobs", "1"])


def test_the_rules_of_the_authors(published, capsys):
    assert prepare(published) == 0
    corpus = Corpus(published / "corpus")
    files = {split: [file.path for file in corpus.split(split)] for split in ("train", "validation", "test")}
    assert files["train"] == ["ann/r/a.py", "ann/r/empty.py"]
    assert files["validation"] == ["bob/r/c.py"]
    assert files["test"] == ["cat/r/d.py", "cat/r/latin.py"]
    assert "2 / 1 / 2; published: 76,467 / 8,004 / 38,694; they differ" in capsys.readouterr().out


def test_lists_of_unknown_owners_are_an_error(published, capsys):
    for path in (published / "lists/repos").iterdir():
        path.write_text("nobody\n")
    assert prepare(published) == 2
    assert "no file is left for a corpus (7 × owner in no list" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("lists/repos/val_repos_py.txt", None, "val_repos_py.txt"),
        ("python50k_eval.txt", None, "python50k_eval.txt: no such list of the paths of python50k_eval.json"),
        ("python50k_eval.json", None, "python50k_eval.json' is neither a folder, a file nor a package"),
        ("lists/duplicates/py150-duplicates.json", "[" * 10_000, "py150-duplicates.json: the list is nested too deep"),
        ("lists/duplicates/py150-duplicates.json", '[["a",\n', "py150-duplicates.json:2: the list is not JSON"),
        ("lists/py_redistributable_repos/eval__manifest.json", "{}", "eval__manifest.json: expected a JSON list"),
        ("lists/repos/val_repos_py.txt", "bob\nbob/r\n", "val_repos_py.txt:2: expected one GitHub owner"),
        ("lists/duplicates/py150-duplicates.json", '[["ann/r/a.py"]]', "group 1: expected a list of paths"),
        ("lists/py_redistributable_repos/dev__manifest.json", "[{}]", "entry 1: expected an object"),
        ("python50k_eval.txt", "data/cat/r/d.py\n", "python50k_eval.json:2: "),
        ("python50k_eval.txt", "cat/r/d.py\n" * 4, "python50k_eval.txt:1: expected data/OWNER"),
        ("python50k_eval.json", f"{A % 'd'}\n{A % 'q'}\n[{{\n{A % 'z'}\n", "python50k_eval.json:3: the record is not"),
    ],
)
def test_bad_input_is_an_error_with_file_and_line(published, capsys, name, content, message):
    path = published / name
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    assert prepare(published) == 2
    assert message in capsys.readouterr().err
