"""Many files to a corpus."""

import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rarename
from rarename.cli.main import main
from rarename.corpus import sorted_rows
from rarename.corpus.build import PrepareConfig, prepare
from rarename.corpus.coverage import coverage
from rarename.corpus.document import SourceOptions
from rarename.corpus.near_duplicates import stable_hash
from rarename.corpus.store import (
    BUG_COLUMNS,
    Corpus,
    content_digest,
    read_manifest,
    read_table,
    table_digests,
    write_table,
)
from rarename.encoding import Encoding
from rarename.errors import CorpusError, RarenameError, SourceError, UnknownName, UsageError
from rarename.syntax import PYTHON, parse
from rarename.syntax.traversal import IDENTIFIER_ROLES

SETTINGS = PrepareConfig("python")


def digest(corpus: Path) -> dict[str, str]:
    """Every file of a corpus by its content."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(corpus.iterdir())}


def write_projects(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def build(tmp_path: Path, files: dict[str, str], splits: str = "", **settings: object) -> Corpus:
    """A corpus of small files, with a list of splits."""
    write_projects(tmp_path / "src", files)
    if splits:
        (tmp_path / "splits.txt").write_text(splits)
        settings["splits"] = tmp_path / "splits.txt"
    prepare(tmp_path / "corpus", [str(tmp_path / "src")], PrepareConfig("python", **settings))
    return Corpus(tmp_path / "corpus")


def stored_functions(corpus: Corpus, split: str) -> list[str]:
    """The names of the functions of a split."""
    starts = ((file, int(start)) for file in corpus.split(split) for start in file.functions[:, 0])
    return [str(corpus.value(int(file.values[start]))) for file, start in starts]


@pytest.fixture(scope="module")
def corpus(corpus_folder):
    return Corpus(corpus_folder)


def test_a_stored_file_is_the_tree_of_its_source(corpus, projects):
    for split in ("train", "validation", "test"):
        for file in corpus.split(split):
            # Paths begin with the name of the folder.
            path = projects / file.path.split("/", 1)[1]
            expected = parse(PYTHON.decode(path.read_bytes()), "python")
            stored = corpus.traversal(file)
            assert (stored.types, stored.values, stored.parents) == (expected.types, expected.values, expected.parents)
            assert file.roles.tolist() == [int(role) for role in PYTHON.roles(expected)]
            assert file.lines.tolist() == expected.spans[:, 0].tolist()


def test_ranks_follow_the_frequency_in_training_alone(corpus):
    values = [value for file in corpus.split("train") for value in corpus.traversal(file).values]
    counted = Counter(value for value in values if value is not None)
    stored = {corpus.value(rank): int(count) for rank, count in enumerate(corpus.counts()) if count}
    assert stored == counted
    assert (np.diff(corpus.counts()) <= 0).all()


def test_names_are_ranked_by_their_occurrences_as_names(corpus):
    counted = Counter(
        value
        for file in corpus.split("train")
        for value, role in zip(corpus.traversal(file).values, file.roles, strict=True)
        if role in IDENTIFIER_ROLES
    )
    vocabulary = corpus.vocabulary(50)
    assert [counted[name] for name in vocabulary] == [count for _, count in counted.most_common(50)]


def test_values_of_other_splits_have_ranks_beyond_training(corpus):
    num_trained = int((corpus.counts() > 0).sum())
    seen = {int(rank) for file in corpus.split("test") for rank in file.values}
    assert max(seen) >= num_trained
    assert max(seen) < corpus.num_values


def test_every_project_is_in_one_split(corpus, projects):
    by_split = [{file.project for file in corpus.split(name)} for name in ("train", "validation", "test")]
    assert sum(map(len, by_split)) == len(set().union(*by_split)) == len(list(projects.iterdir()))
    assert all(by_split)


def test_the_seed_draws_the_splits(tmp_path):
    files = {f"p{n}/m.py": f"def f{n}(a):\n    return a.x{n} + {n}\n" for n in range(20)}
    corpora = [build(tmp_path / str(seed), files, seed=seed) for seed in range(3)]
    assert len({frozenset(file.project for file in corpus.split("test")) for corpus in corpora}) == 3


class StubExecutor(Executor):
    """Runs tasks at once, or breaks at the task of a name."""

    def __init__(self, breaks_at=""):
        self.submitted, self.breaks_at = [], breaks_at

    def submit(self, function, /, *args):
        self.submitted.append(function.__name__)
        if function.__name__ == self.breaks_at:
            raise BrokenExecutor
        future = Future()
        future.set_result(function(*pickle.loads(pickle.dumps(args))))
        return future


def test_neither_the_number_of_jobs_nor_the_executor_changes_a_byte(projects, tmp_path, corpus_folder):
    prepare(tmp_path / "processes", [str(projects)], SETTINGS, jobs=2)
    stub = StubExecutor()
    prepare(tmp_path / "stub", [str(projects)], SETTINGS, executor=stub)
    with ThreadPoolExecutor(3) as threads:
        prepare(tmp_path / "threads", [str(projects)], SETTINGS, jobs=3, executor=threads)
        assert threads.submit(int).result() == 0  # it is not shut down
    assert {"parse_shard", "count_group", "encode_group"} < set(stub.submitted)
    for name in ("processes", "stub", "threads"):
        assert digest(tmp_path / name) == digest(corpus_folder)


@pytest.mark.parametrize("name", ["parse_shard", "count_group", "rank_range", "encode_group"])
def test_a_given_executor_that_breaks_is_an_error_and_the_work_can_be_resumed(projects, tmp_path, corpus_folder, name):
    with pytest.raises(RarenameError, match="a worker process died; is there enough memory\\? Run the same command to"):
        prepare(tmp_path / "corpus", [str(projects)], SETTINGS, executor=StubExecutor(breaks_at=name))
    prepare(tmp_path / "corpus", [str(projects)], SETTINGS)
    assert digest(tmp_path / "corpus") == digest(corpus_folder)


def test_the_number_of_ranges_of_hashes_changes_no_byte(projects, tmp_path, corpus_folder, monkeypatch):
    monkeypatch.setattr(sorted_rows, "ROWS_PER_RANGE", 700)
    prepare(tmp_path / "corpus", [str(projects)], SETTINGS)
    assert digest(tmp_path / "corpus") == digest(corpus_folder)


def test_values_are_ranked_and_written_the_same_in_many_shards(projects, tmp_path, corpus, monkeypatch):
    for module in ("build", "document"):
        monkeypatch.setattr(f"rarename.corpus.{module}.SHARD_FILES", 10)
    monkeypatch.setattr("rarename.corpus.build.VALUES_PER_TASK", 500)
    prepare(tmp_path / "corpus", [str(projects)], SETTINGS)
    assert len(list((tmp_path / "corpus").glob("train-*.arrow"))) > 3
    assert Corpus(tmp_path / "corpus").values() == corpus.values()
    assert (Corpus(tmp_path / "corpus").counts() == corpus.counts()).all()


def test_the_digest_depends_on_the_content_and_not_on_the_request(projects, tmp_path, corpus_folder):
    shutil.copytree(projects, tmp_path / projects.name)
    (tmp_path / "list.txt").write_text(f"{tmp_path / projects.name}\n")
    prepare(tmp_path / "corpus", [f"@{tmp_path / 'list.txt'}"], SETTINGS)
    assert Corpus(tmp_path / "corpus").digest() == Corpus(corpus_folder).digest()


def test_other_content_of_the_same_size_has_another_digest(tmp_path, corpus_folder):
    shutil.copytree(corpus_folder, tmp_path / "corpus")
    path = tmp_path / "corpus" / "values.arrow"
    path.write_bytes(path.read_bytes().replace(b"self", b"this"))
    assert table_digests(tmp_path / "corpus") != table_digests(corpus_folder)


def test_intermediate_files_are_removed(corpus_folder):
    names = {path.name.split("-")[0] for path in corpus_folder.iterdir()}
    assert names == {"manifest.json", "skipped.jsonl", "types.arrow", "values.arrow", "train", "validation", "test"}


def test_a_finished_corpus_is_not_made_again(projects, corpus_folder):
    before = digest(corpus_folder)
    prepare(corpus_folder, [str(projects)], SETTINGS)
    assert digest(corpus_folder) == before


SCRIPT = """
import os, time
from dataclasses import replace
from pathlib import Path
from rarename import syntax

def parse(text, tolerant):
    if "CRASH_HERE" in text:
        os._exit(11)
    if "SLEEP_HERE" in text:
        Path(__file__ + ".pid").write_text(str(os.getpid()))
        time.sleep(float(text.split()[-1]))
    return syntax.PYTHON.parse(text, tolerant)

syntax.LANGUAGES["python"] = replace(syntax.PYTHON, parse=parse)
"""
"""A parser that crashes or sleeps. Every process imports it at its start."""


@pytest.fixture
def script(tmp_path):
    """Starts `rarename prepare` on twelve small files and those given."""
    (tmp_path / "sitecustomize.py").write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(rarename.__file__).parents[1]}"}
    small = {f"p{n}/m{n}.py": f"def f{n}(a, b):\n    return a + b * {n}\n" for n in range(12)}

    def start(files):
        write_projects(tmp_path / "src", small | files)
        command = [sys.executable, "-m", "rarename", "prepare", tmp_path / "corpus", tmp_path / "src"]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "process_group": 0}
        return subprocess.Popen([*command, "--language", "python", "--jobs", "2"], env=environment, **options)

    return start


def wait_until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_file_that_kills_its_process_is_skipped_by_name(script, tmp_path):
    process = script({"p3/bad.py": "CRASH_HERE = 1\n", "p5/worse.py": "x = 'CRASH_HERE'\n"})
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "src/p3/bad.py: the parser crashed; the file is skipped\n" in errors
    manifest = Corpus(tmp_path / "corpus").manifest
    assert manifest["skipped"] == {"the parser crashed": {"count": 2, "examples": ["src/p3/bad.py", "src/p5/worse.py"]}}
    assert sum(split["files"] for split in manifest["splits"].values()) == 12


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_worker_outlives_a_killed_prepare(script, tmp_path):
    process = script({"p3/slow.py": "SLEEP_HERE = 600"})
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.glob("sitecustomize.py.pid")))
    worker = int((tmp_path / "sitecustomize.py.pid").read_text())
    assert worker != process.pid and is_alive(worker)
    with pytest.raises(UsageError, match="another process is preparing"):
        prepare(tmp_path / "corpus", [str(tmp_path / "src")], SETTINGS)
    process.kill()
    process.communicate()
    wait_until(lambda: not is_alive(worker), seconds=10)
    prepare(tmp_path / "corpus", [str(tmp_path / "src")], SETTINGS)


def test_an_interrupt_is_reported_once_and_the_work_can_be_resumed(script, tmp_path):
    process = script({"p3/slow.py": "SLEEP_HERE = 1"})
    wait_until((tmp_path / "sitecustomize.py.pid").exists)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: all processes get it
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, output) == (130, "")
    assert errors.endswith("rarename prepare: interrupted; run the same command to resume\n")
    assert "Traceback" not in errors
    prepare(tmp_path / "corpus", [str(tmp_path / "src")], SETTINGS)


def test_the_same_command_resumes_after_any_failed_write(tmp_path, monkeypatch):
    write_projects(tmp_path / "src", {f"p{n}/m.py": f"def f{n}(a):\n    return a.x{n} + {n}\n" for n in range(4)})
    writes = []

    def fsync(descriptor):
        writes.append(descriptor)
        if len(writes) == failing:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fsync)
    failing = 0
    prepare(tmp_path / "whole", [str(tmp_path / "src")], SETTINGS)
    assert len(writes) > 12
    for failing in range(1, len(writes) + 1):
        writes.clear()
        with pytest.raises(KeyboardInterrupt):
            prepare(tmp_path / str(failing), [str(tmp_path / "src")], SETTINGS)
        with pytest.raises(CorpusError, match="is not finished; run the same `rarename prepare` again to resume"):
            Corpus(tmp_path / str(failing))
        prepare(tmp_path / str(failing), [str(tmp_path / "src")], SETTINGS)
        assert digest(tmp_path / str(failing)) == digest(tmp_path / "whole")


BODY = "".join(f"    total_{n} = first.method_{n}(second, {n}) + third[{n}]\n" for n in range(40))


def test_one_file_of_each_cluster_of_near_duplicates_is_kept(tmp_path):
    files = {
        "a/one.py": f"def alpha(first, second, third):\n{BODY}",
        "b/two.py": f"def alpha(first, second, third):\n    # A comment.\n{BODY}    return total_1\n",
        "c/other.py": "import os\nfor path in os.listdir('.'):\n    print(path)\n",
        "d/more.py": "class K:\n    def m(self, p, q):\n        return p ** q\n",
    }
    duplicates = build(tmp_path, files).manifest["skipped"]["near-duplicate"]
    assert duplicates == {"count": 1, "examples": ["src/b/two.py: of src/a/one.py"]}
    assert build(tmp_path / "all", files, keep_near_duplicates=True).manifest["skipped"] == {}


def test_projects_are_drawn_without_their_near_duplicates(tmp_path):
    files = {f"p{n}/m.py": f"def alpha(first, second, third):\n{BODY}    return total_1\n" for n in range(5)}
    files |= {"a/m.py": f"def alpha(first, second, third):\n{BODY}", "c/m.py": "import os\nprint(os.name)\n"}
    corpus = build(tmp_path, files)
    splits = [[file.project for file in corpus.split(name)] for name in ("train", "validation", "test")]
    assert splits == [["a"], [], ["c"]]


def test_of_identical_functions_the_one_in_training_is_dropped(tmp_path):
    shared = "def shared(a, b, c):\n    return a + b * c\n"
    files = {
        "a/m.py": shared + "def only_a(x):\n    return [x, x, 1]\n",
        "b/m.py": "import b\n" + shared + "def only_b(y):\n    return {y: 2}\n",
        "c/m.py": "def only_c(z):\n    while z:\n        z -= 3\n" + shared,
    }
    corpus = build(tmp_path, files, "# drawn by hand\ntrain a\nvalidation b\ntest c\n", keep_near_duplicates=True)
    assert stored_functions(corpus, "train") == ["only_a"]
    assert stored_functions(corpus, "validation") == ["only_b"]
    assert stored_functions(corpus, "test") == ["only_c", "shared"]
    assert corpus.manifest["splits"]["train"]["duplicate_functions"] == 1


def test_the_first_of_identical_functions_of_a_split_is_kept_and_dropped_files_do_not_count(tmp_path):
    shared = "def shared(a, b, c):\n    return a + b * c\n"
    files = {
        "a/one.py": f"def alpha(first, second, third):\n{BODY}{shared}",
        "b/copy.py": f"def alpha(first, second, third):\n{BODY}{shared}    # dropped as a near-duplicate\n",
        "c/m.py": f"import c\ndef only_c(z):\n    while z:\n        z -= 3\n{shared}",
    }
    corpus = build(tmp_path, files, "train a\ntest b\ntrain c\n")
    assert stored_functions(corpus, "train") == ["alpha", "shared", "only_c"]


def test_every_skipped_file_is_counted_and_named(tmp_path):
    files = {
        "a/good.py": "x = 1\n",
        "a/broken.py": "def f(:\n",
        "a/old.py": "print 'hello'\n",
        **{f"a/empty{n}.py": "\n" * n for n in range(5)},
        "a/long.py": "x = [" + "1, " * 3000 + "]\n",
        "a/many.py": "\n".join(f"y{n} = {n}" for n in range(200)),
        "b/copy.py": "x = 1\n# the same\n",
    }
    manifest = build(tmp_path, files, max_nodes=500).manifest
    skips = [json.loads(line) for line in (tmp_path / "corpus" / "skipped.jsonl").read_text().splitlines()]
    counts = {reason: entry["count"] for reason, entry in manifest["skipped"].items()}
    once = ["Python 2 only", "minified", "near-duplicate", "over 500 nodes", "syntax error"]
    assert list(counts.items()) == [("no code", 5), *((reason, 1) for reason in once)]
    assert counts == Counter(skip["reason"] for skip in skips)
    assert {skip["path"] for skip in skips} == {f"src/{name}" for name in files} - {"src/a/good.py"}
    assert manifest["skipped"]["no code"]["examples"] == [f"src/a/empty{n}.py" for n in range(3)]
    assert manifest["skipped"]["syntax error"]["examples"] == ["src/a/broken.py: line 1: invalid syntax"]
    copy = {"path": "src/b/copy.py", "project": "b", "reason": "near-duplicate", "detail": "of src/a/good.py"}
    assert skips[-1] == copy


def test_a_tree_of_exactly_the_limit_is_kept_and_so_are_minified_files_on_demand(tmp_path):
    files = {"a.py": "x = 1\n", "b.py": "y = z(2)\n", "c.py": "w = [" + "1, " * 3000 + "]\n"}
    limit, larger = (len(parse(text, "python")) for text in list(files.values())[:2])
    skipped = build(tmp_path, files, max_nodes=limit, keep_minified=True).manifest["skipped"]
    examples = [f"src/b.py: {larger} nodes", "src/c.py: 3,004 nodes"]
    assert skipped == {f"over {limit} nodes": {"count": 2, "examples": examples}}


def test_equally_frequent_values_are_ranked_by_their_hash(corpus):
    values = corpus.values()
    assert len(values) > 1000
    keys = dict(zip(values, zip(-corpus.counts(), map(stable_hash, values), strict=True), strict=True))
    assert values == sorted(values, key=keys.get)
    counts = read_table(corpus.path / "types.arrow")
    pairs = list(zip(counts["type"].to_pylist(), counts["count"].to_pylist(), strict=True))
    assert pairs == sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    num_loads = sum(corpus.traversal(file).types.count("NameLoad") for file in corpus.split("train"))
    assert pairs[0] == ("NameLoad", num_loads)


def test_coverage_counts_occurrences_of_names_in_the_vocabulary_of_training(tmp_path):
    files = {"a/m.py": "b = a.c(a, 'c', 7, 7, 7, 7)\na = b\n", "t/m.py": "a = c = z = z\n"}
    train, validation, test = coverage(build(tmp_path, files, "train a\ntest t\n"))
    assert (train.num_identifiers, train.fractions["1"], train.fractions["20"]) == (6, 3 / 6, 1.0)
    assert (test.num_identifiers, test.fractions["1"], test.fractions["all"]) == (4, 1 / 4, 2 / 4)
    assert (validation.num_identifiers, validation.fractions["all"]) == (0, 0.0)


def great_line(has_bug, tokens, location, targets, candidates, path):
    example = {
        "has_bug": has_bug, "source_tokens": tokens, "error_location": location, "repair_targets": targets,
        "repair_candidates": candidates, "bug_kind_name": "VARIABLE_MISUSE" if has_bug else "NONE",
        "provenances": [{"datasetProvenance": {"filepath": path}}],
    }  # fmt: skip
    return json.dumps(example)


def test_published_bugs_and_their_clean_twins_are_not_near_duplicates(tmp_path):
    tokens = ["#NEWLINE#", "def f(", *["a", ",", "b", ")", ":", "#NEWLINE#", "#INDENT#", "return", "a", "+", "b"]]
    lines = []
    for owner in range(8):
        named = [f"{token}{owner // 2}" if token in "ab" else token for token in tokens]  # each example occurs twice
        wrong = [*named[:-1], named[2]]
        lines.append(great_line(False, named, 0, [], [2, 4, 10, 12], f"o{owner}/r/m.py"))
        lines.append(great_line(True, wrong, 12, [4], [2, 4, 10, 12], f"o{owner}/r/m.py"))
    (tmp_path / "dev.jsonl").write_text("\n".join(lines))
    prepare(tmp_path / "corpus", [str(tmp_path / "dev.jsonl")], PrepareConfig("tokens"))
    corpus = Corpus(tmp_path / "corpus")
    stored = [file for name in ("train", "validation", "test") for file in corpus.split(name)]
    assert len(stored) == 16
    assert all(file.functions.tolist() == [[0, 13]] for file in stored)
    buggy = [file for file in stored if file.bug and file.bug.location]
    assert len(buggy) == 8
    for file in buggy:
        assert file.values[12] == file.values[2] != file.values[4]
        assert file.bug.repair_targets == (4,)


def test_sources_without_code_are_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"no file is left for a corpus \(1 × syntax error\)"):
        build(tmp_path, {"a/broken.py": "def f(:\n"})


def test_a_folder_that_is_not_a_corpus_is_not_touched(tmp_path):
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(CorpusError, match="exists and is not a corpus; choose another folder"):
        prepare(tmp_path, ["stdlib"], SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_a_corpus_of_another_request_is_not_touched(corpus_folder, projects):
    for source, config in [(projects, PrepareConfig("python", seed=9)), (projects / "json", SETTINGS)]:
        with pytest.raises(CorpusError, match="made from another request; choose another folder or remove it"):
            prepare(corpus_folder, [str(source)], config)
    assert read_manifest(corpus_folder)["request"]["sources"] == [str(projects)]


@pytest.mark.parametrize("edited", ["list.txt", "splits.txt"])
def test_an_edited_list_is_another_request(tmp_path, projects, edited):
    (tmp_path / "list.txt").write_text(f"{projects / 'json'}\n{projects / 'html'}\n")
    (tmp_path / "splits.txt").write_text("train json\n")
    config = PrepareConfig("python", splits=tmp_path / "splits.txt")
    prepare(tmp_path / "corpus", [f"@{tmp_path / 'list.txt'}"], config)
    with (tmp_path / edited).open("a") as file:
        file.write("# edited\n")
    with pytest.raises(CorpusError, match="made from another request"):
        prepare(tmp_path / "corpus", [f"@{tmp_path / 'list.txt'}"], config)


def test_a_request_that_failed_at_once_can_be_corrected(tmp_path, projects):
    with pytest.raises(SourceError):
        prepare(tmp_path / "corpus", [str(projects / "jason")], SETTINGS)
    prepare(tmp_path / "corpus", [str(projects / "json")], SETTINGS)


def test_names_in_the_form_of_placeholders_are_in_no_vocabulary(tmp_path):
    """However frequent they are. Ranks of a corpus and names of a file give the same ids."""
    text = "def f{0}(VAR1, self):\n    VAR1 = VAR1 + VAR2 + VAR1\n    return self.x{0}, VAR1\n"
    corpus = build(tmp_path, {f"p{n}/m.py": text.format(n) for n in range(4)}, keep_near_duplicates=True)
    vocabulary = corpus.vocabulary(1)
    assert list(vocabulary) == ["self"]
    encoding = Encoding(vocabulary)
    ranking = corpus.ranking("names")
    for file in corpus.split("train"):
        ranks = np.where(file.values >= 0, ranking[file.values], file.values)
        from_names = encoding.encode(corpus.traversal(file).values).values
        assert encoding.encode_ranks(ranks).tolist() == from_names.tolist()
    assert coverage(corpus)[0].fractions["1"] < 0.25


def test_unfinished_work_belongs_to_its_request_and_its_files(tmp_path):
    write_projects(tmp_path / "src", {"a/m.py": "x = 1\n"})
    with pytest.raises(RarenameError, match="a worker process died"):
        prepare(tmp_path / "corpus", [str(tmp_path / "src")], SETTINGS, executor=StubExecutor("count_group"))
    for files, seed in (({}, 1), ({"b/m.py": "y = 1\n"}, 0)):
        with pytest.raises(CorpusError, match=r"the request or the files have changed since .* was begun; remove the"):
            build(tmp_path, files, seed=seed)


def test_wrong_settings_are_refused(tmp_path):
    with pytest.raises(UnknownName, match="no language 'cobol'; choose one of python, javascript, tokens"):
        PrepareConfig("cobol")
    with pytest.raises(UsageError, match="max_nodes is 0; expected 1 or more"):
        PrepareConfig("python", max_nodes=0)
    with pytest.raises(UsageError, match="split_by is 'author'; expected one of repository, owner"):
        SourceOptions(split_by="author")
    (tmp_path / "file").touch()
    with pytest.raises(CorpusError, match="file is a file; choose another folder"):
        prepare(tmp_path / "file", ["stdlib"], SETTINGS)


def test_a_folder_without_a_manifest_is_not_a_corpus(tmp_path):
    with pytest.raises(CorpusError, match=r"is not a corpus \(it has no manifest.json\); make one"):
        Corpus(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": "rarename-corpus", "version": 2}', "is damaged: language is missing"),
        ("[" * 200_000, "is damaged: it is nested too deep"),
        ('{"format": "rarename-corpus", "version": 99}', "99; this rarename reads rarename-corpus version 2"),
    ],
)
def test_an_unreadable_manifest_is_an_error(tmp_path, text, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(CorpusError, match=message):
        Corpus(tmp_path)


@pytest.mark.parametrize("size", [0, 100, 5000])
def test_a_truncated_table_is_an_error(tmp_path, corpus_folder, size):
    shutil.copy(corpus_folder / "values.arrow", tmp_path / "values.arrow")
    with (tmp_path / "values.arrow").open("r+b") as file:
        file.truncate(size)
    with pytest.raises(CorpusError, match=r"values\.arrow is missing or damaged"):
        read_table(tmp_path / "values.arrow")


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("language", "cobol", "language is 'cobol'; expected one of python, javascript, tokens"),
        ("language", ["python"], "language is"),
        ("request", {"settings": []}, r"request\.settings is \[\]; expected dict"),
        ("sources", 3, "sources is 3; expected list"),
        ("splits", [], r"splits is \[\]; expected dict"),
        ("splits", {}, r"splits\.train is missing"),
        ("splits", {"train": {"projects": "many"}}, r"splits\.train\.projects is 'many'; expected a whole number"),
        ("types", "7", "types is '7'"),
        ("values", None, "values is None"),
        ("values", -1, "values is -1"),
        ("digest", 1, "digest is 1"),
        ("tables", ["values.arrow"], "tables is"),
        ("skipped", "none", "skipped is 'none'"),
        ("skipped", {"minified": 2}, r"skipped\.minified is 2; expected dict"),
    ],
)
def test_a_manifest_with_wrong_types_is_an_error(tmp_path, corpus_folder, key, value, problem, capsys):
    manifest = json.loads((corpus_folder / "manifest.json").read_text()) | {key: value}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(CorpusError, match=rf"manifest\.json is damaged: {problem}"):
        Corpus(tmp_path)
    assert main(["inspect", str(tmp_path)]) == 2
    assert "unexpected" not in capsys.readouterr().err


@pytest.fixture
def copied(tmp_path, corpus_folder):
    return shutil.copytree(corpus_folder, tmp_path / "copied")


def forget_tables(folder, **changes):
    """A manifest as earlier versions wrote it."""
    manifest = json.loads((folder / "manifest.json").read_text()) | changes
    del manifest["tables"]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize("name", ["types.arrow", "values.arrow", "train-00000.arrow"])
@pytest.mark.parametrize("damage", ["flip", "copy", "remove"])
def test_a_table_that_prepare_did_not_write_is_an_error(copied, name, damage):
    Corpus(copied)
    content = bytearray((copied / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copied / name).unlink()
    if damage == "flip":
        (copied / name).write_bytes(content)
    elif damage == "copy":
        shutil.copy(copied / "test-00000.arrow", copied / name)
    with pytest.raises(CorpusError, match=rf"{name} is (damaged or was replaced|missing): its SHA-256 is not in manif"):
        Corpus(copied)
    forget_tables(copied)
    with pytest.raises(CorpusError, match="copied: a table is damaged, replaced or missing"):
        Corpus(copied)


def test_a_table_that_the_manifest_does_not_name_is_an_error(copied):
    shutil.copy(copied / "train-00000.arrow", copied / "train-00001.arrow")
    with pytest.raises(CorpusError, match=r"train-00001\.arrow is damaged or was replaced"):
        Corpus(copied)


def test_a_corpus_without_digests_of_its_tables_can_be_read(copied, corpus_folder):
    forget_tables(copied)
    assert Corpus(copied).digest() == Corpus(corpus_folder).digest()


@pytest.mark.parametrize("kind", ["offsets", "type", "nulls", "missing"])
def test_a_malformed_table_with_a_right_digest_is_an_error(copied, kind):
    path = copied / "train-00000.arrow"
    table, content = read_table(path), path.read_bytes()
    if kind == "offsets":
        offsets = table.column("values").chunk(0).offsets.to_numpy()
        wrong = offsets.copy()
        wrong[1] = 10**8  # far beyond the end
        assert offsets.tobytes() in content
        path.unlink()
        path.write_bytes(content.replace(offsets.tobytes(), wrong.tobytes()))
    else:
        table = table.drop_columns(["values"])
        if kind != "missing":
            kinds = {"type": pa.int32(), "nulls": pa.list_(pa.int32())}
            table = table.append_column("values", pa.nulls(table.num_rows, kinds[kind]))
        write_table(path, table)
    forget_tables(copied, digest=content_digest(table_digests(copied)))
    with pytest.raises(CorpusError, match=r"train-00000\.arrow is malformed"):
        Corpus(copied)


BUG = {"bug_location": 1, "repair_targets": [2], "repair_candidates": [1, 2], "bug_kind": "x"}


@pytest.mark.parametrize(
    "change",
    [
        {"bug_location": 10**9}, {"bug_location": -1}, {"bug_location": "x"}, {"bug_location": None},
        {"repair_targets": [10**9]}, {"repair_targets": [None]}, {"repair_candidates": [-1]}, {"bug_kind": 1},
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_label_with_a_right_digest_is_an_error(copied, change):
    path = copied / "train-00000.arrow"
    table = read_table(path)
    for label, is_right in ((BUG, True), (BUG | change, False)):
        labelled = table
        for name, value in label.items():
            try:
                column = pa.array([value] * table.num_rows, BUG_COLUMNS[name])
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                column = pa.array([value] * table.num_rows)
            labelled = labelled.append_column(name, column)
        path.unlink()
        write_table(path, labelled)
        forget_tables(copied, digest=content_digest(table_digests(copied)), tables={})
        if is_right:
            assert Corpus(copied).split("train")[0].bug.repair_targets == (2,)
        else:
            with pytest.raises(CorpusError, match=rf"train-00000\.arrow is malformed: .*{next(iter(change))}"):
                Corpus(copied)


OUT_OF_RANGE = {"types": [20_000, -1], "values": [10**9, -100], "parents": [7, -2], "roles": [99], "lines": [-1]}
OUT_OF_RANGE |= {"function_starts": [10**9, -1], "function_lengths": [10**6]}


@pytest.mark.parametrize(("column", "number"), [(name, each) for name in OUT_OF_RANGE for each in OUT_OF_RANGE[name]])
def test_a_number_out_of_range_with_a_right_digest_is_an_error(copied, column, number):
    path = copied / "train-00000.arrow"
    table = read_table(path)
    lists = table.column(column).to_pylist()
    next(numbers for numbers in lists if numbers)[0] = number
    changed = pa.array(lists, table.schema.field(column).type)
    path.unlink()
    write_table(path, table.set_column(table.column_names.index(column), column, changed))
    forget_tables(copied, digest=content_digest(table_digests(copied)))
    with pytest.raises(CorpusError, match=rf"malformed: {column} has a number out of range"):
        Corpus(copied)


def test_what_a_killed_process_left_is_removed_by_the_next_run(tmp_path, prepare_corpus, projects):
    folder, source = tmp_path / "corpus", projects / "json"
    part = folder / ".train-00000.arrow.0123456789ab.part"
    for _ in ("unfinished", "finished"):
        (folder / ".work").mkdir(parents=True)
        part.touch()
        prepare_corpus(folder, source)
        assert not part.exists() and not (folder / ".work").exists()


def test_a_file_beyond_the_end_is_an_index_error(corpus):
    split = corpus.split("train")
    with pytest.raises(IndexError, match="is out of range: the split has"):
        split[len(split)]
