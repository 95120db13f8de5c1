"""Frozen behaviour: outputs, scores, corpora and training must stay as recorded in `tests/golden/*.json`.

Each function in `GOLDEN` computes one of these files; `OMP_NUM_THREADS=1 python tests/test_golden.py [NAME ...]` writes
them again after an intended change. Of `parse` and `anonymize` only digests are recorded: to see what differs, run the
command with the code before and after the change.
"""

import contextlib
import hashlib
import io
import json
import re
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from rarename.anonymize import STRATEGIES
from rarename.assist import Checker, Completer
from rarename.cli.main import main
from rarename.corpus.store import Corpus
from rarename.errors import RarenameError

# Names of options, files, keys and settings: a rename changes only these tables.
FORMAT, TOP_K = "--output-format", "--top-k"
TRAINER_STATE, MODEL_PREFIX = "trainer_state.safetensors", "model."
RENAMED_KEYS: dict[str, str] = {}  # keys of JSON outputs, new name to recorded name
VOLATILE_KEYS = {"seconds", "$schema", "tool"}  # their values depend on time or version
EVERY_RUN = "encoding.vocabulary_size=60 training.eval_every_examples=1 training.eval_examples=8"
MISUSE, COMPLETION = "training.num_epochs=5.0 training.max_batch_nodes=1500", "training.num_epochs=6.7"
RUNS = {
    "misuse": MISUSE,
    "misuse, recipe of check": f"{MISUSE} encoding.strategy=randomized encoding.num_subtokens=50 "
    "task.bug_sampler=local task.similarity_weight=4.0 task.pointer_head=conditional task.usage_features=true "
    "task.multi_bug_epochs=1",
    "completion": COMPLETION,
    "completion, pointer": f"{COMPLETION} training.lr_scheduler=cosine encoding.strategy=standard "
    "task.copy_pointer=true",
}
CORPORA = {
    "python": "--language python --splits tests/golden/splits.txt",
    "python, near-duplicates kept": "--language python --seed 1 --keep-near-duplicates --max-nodes 540",
    "javascript": "--language javascript",
    "javascript, minified kept": "--language javascript --seed 2 --keep-minified --max-file-bytes 2400",
}

ROOT = Path(__file__).parents[1]
INPUTS = "tests/golden/inputs"
PATTERNS = (f"{INPUTS}/*/*.*", "tests/cases/anonymize/*.*")
FILES = sorted(path.relative_to(ROOT).as_posix() for pattern in PATTERNS for path in ROOT.glob(pattern))


def run(*arguments: object) -> tuple[int, str]:
    """Exit code and stdout of a command."""
    stdout = io.TextIOWrapper(io.BytesIO(), newline="")
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(io.StringIO()):
        code = main([str(argument) for argument in arguments])
    stdout.seek(0)
    return code, stdout.read()


def parsed(output: str) -> Any:
    return json.loads(output or "null", object_pairs_hook=lambda pairs: {
        RENAMED_KEYS.get(key, key): value for key, value in pairs if key not in VOLATILE_KEYS
    })  # fmt: skip


def result(*arguments: object) -> list[Any]:
    """Exit code and parsed stdout of a command; the last argument is its output format."""
    code, output = run(*arguments)
    return [code, parsed(output) if arguments[-1] in ("json", "sarif") else output]


def digest(*arguments: object) -> str:
    return hashlib.sha256(json.dumps(result(*arguments), sort_keys=True).encode()).hexdigest()[:16]


def parse() -> dict[str, Any]:
    return {file: [digest("parse", file, FORMAT, name) for name in ("tree", "record", "json")] for file in FILES}


def anonymize() -> dict[str, Any]:
    options = {name: f"--strategy {name} --vocabulary-size 100 --seed 3".split() for name in STRATEGIES}
    options["12 placeholders"] = ["--vocabulary-size", "0", "--num-placeholders", "12"]
    return {
        name: {file: [digest("anonymize", file, *given, FORMAT, form) for form in ("source", "json")] for file in FILES}
        for name, given in options.items()
    }


def check() -> dict[str, Any]:
    default = {name: result("check", *FILES, FORMAT, name) for name in ("text", "github")}
    low = {name: result("check", *FILES, "--min-confidence", 0.28, FORMAT, name) for name in ("text", "json", "sarif")}
    return default | {f"{name}, more": content for name, content in low.items()}


def complete() -> dict[str, Any]:
    cursors = Path("tests/golden/cursors.txt").read_text().splitlines()
    commands = {cursor: ["complete", *cursor.split(), TOP_K, 4, FORMAT] for cursor in cursors}
    return {cursor: result(*command, "text") + result(*command, "json") for cursor, command in commands.items()}


def scores() -> dict[str, Any]:
    """Predictions of the packaged models: the most suspicious variable of each function, names at many cursors."""
    recorded: dict[str, Any] = {}
    for language, suffixes in {"python": (".py",), "javascript": (".js", ".jsx", ".mjs")}.items():
        checker, completer = Checker.load(threshold=0.0), Completer.load(language)
        misuses = recorded[f"misuse in {language}"] = {}
        names = recorded[f"completion in {language}"] = {}
        for file in (file for file in FILES if file.endswith(suffixes)):
            text = Path(file).read_text(encoding="utf-8")
            with contextlib.suppress(RarenameError):  # some files are broken on purpose
                for each in checker.check(text, language):
                    misuses[f"{file}:{each.line}:{each.column}"] = [each.name, each.suggestion, each.confidence]
            for word in list(re.finditer(r"[^\W\d]\w*", text))[7::29]:
                before = text[: word.start()]
                line, column = before.count("\n") + 1, word.start() - before.rfind("\n")
                with contextlib.suppress(RarenameError):  # nothing is suggested in strings and comments
                    for form, given in {"whole": text, "cut": before}.items():
                        likely = {each.name: each.probability for each in completer.complete(given, line, column)}
                        names[f"{file}:{line}:{column} {form}"] = {name: p for name, p in likely.items() if p > 0.04}
    return recorded


def corpora() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: _contents(_prepare(Path(folder) / name, name)) for name in CORPORA}


def _prepare(folder: Path, name: str) -> Corpus:
    assert run("prepare", folder, INPUTS, "--jobs", 1, *CORPORA[name].split())[0] == 0
    return Corpus(folder)


def _contents(corpus: Corpus) -> dict[str, Any]:
    files = [(split, file) for split in ("train", "validation", "test") for file in corpus.split(split)]
    columns = [[column for column in vars(file).values() if isinstance(column, np.ndarray)] for _, file in files]
    return {
        "splits": corpus.manifest["splits"],
        "skipped": {reason: entry["count"] for reason, entry in corpus.manifest["skipped"].items()},
        "types": list(corpus.types)[:30],
        "names": list(corpus.vocabulary(30)),
        "values": [[corpus.value(rank), count] for rank, count in enumerate(corpus.counts()[:30].tolist())],
        "files": [[split, file.project, file.path, len(file.types), len(file.functions)] for split, file in files],
        "checksums": [[zlib.crc32(column.astype("<i8").tobytes()) for column in of_file] for of_file in columns],
    }


def training() -> dict[str, Any]:
    """Running loss after each step, and norms of the final weights; gradients of biases may be nothing but noise."""
    recorded = {}
    with tempfile.TemporaryDirectory() as folder:
        corpus = _prepare(Path(folder) / "corpus", "python")
        for name, settings in RUNS.items():
            run_dir = Path(folder) / name
            command = ["train", name.split(",")[0], run_dir, "--corpus", corpus.path, "--preset", "tiny"]
            options = [f"--set={setting}" for setting in f"{EVERY_RUN} {settings}".split()]
            log = {each["step"]: each for each in map(parsed, run(*command, *options, FORMAT, "json")[1].splitlines())}
            state = load_file(run_dir / TRAINER_STATE)
            weights = [state[key] for key in state if key.startswith(MODEL_PREFIX) and state[key].ndim > 1]
            recorded[name] = {
                "steps": [[each["examples"], each["loss"]] for each in log.values()],
                "validation": log[len(log)]["validation"],
                "norms": sorted(float(np.linalg.norm(tensor)) for tensor in weights),
            }
    return recorded


GOLDEN = {compute.__name__: compute for compute in (parse, anonymize, check, complete, scores, corpora, training)}


def leaves(content: Any, at: str) -> dict[str, Any]:
    if not isinstance(content, dict | list):
        return {at: content}
    items = content.items() if isinstance(content, dict) else enumerate(content)
    return {path: leaf for key, value in items for path, leaf in leaves(value, f"{at} > {key}").items()}


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", GOLDEN)
def test_behaviour_is_as_recorded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    recorded = leaves(json.loads(Path(f"tests/golden/{name}.json").read_text(encoding="utf-8")), name)
    tolerance = 1.1e-4 if name == "check" else 1e-5  # its JSON outputs have four digits
    close = partial(pytest.approx, abs=tolerance, rel=tolerance)
    expected = {at: close(value) if isinstance(value, float) else value for at, value in recorded.items()}
    found = leaves(json.loads(json.dumps(GOLDEN[name]())), name)
    wrong = [at for at in expected | found if found.get(at) != expected.get(at)]
    assert not wrong, "\n".join(f"{at}: {found.get(at)}, expected {expected.get(at)}" for at in wrong[:30])


if __name__ == "__main__":
    with contextlib.chdir(ROOT):
        for name in sys.argv[1:] or GOLDEN:
            lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in GOLDEN[name]().items()]
            Path(f"tests/golden/{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
