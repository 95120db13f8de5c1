"""Properties that hold for every text, and a fuzzer that searches for texts for which they do not.

    make fuzz SECONDS=600         (or: python tests/fuzzing.py --seconds 600 --seed 7)

Texts are mutated pieces of real files. Each worker process notes the text that it is at, so a text that crashes it or
keeps it busy for minutes is a failure like any other. Failures become files in tests/cases/fuzz, which are tests.
"""

import argparse
import faulthandler
import functools
import hashlib
import json
import random
import re
import subprocess
import sys
import sysconfig
import time
import traceback
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from rarename.anonymize_text import anonymize_source
from rarename.assist.check import Checker
from rarename.assist.complete import Completer
from rarename.assist.diagnostics import CheckResult
from rarename.assist.fixes import FixError, fixed, with_noqa
from rarename.assist.formats import FORMATS
from rarename.errors import ParseError, RarenameError
from rarename.syntax import LANGUAGES, Language
from rarename.syntax.cursor import at_cursor
from rarename.syntax.javascript import cst
from rarename.syntax.javascript.literals import cooked_identifier
from rarename.syntax.javascript.walker import MISSING_NAME
from rarename.syntax.lines import Lines, identifiers
from rarename.syntax.records import read_record, write_record
from rarename.syntax.traversal import Traversal

ROOT = Path(__file__).parent.parent
CASES = ROOT / "tests" / "cases" / "fuzz"
MAX_SECONDS = 600  # that one text may keep a worker

_CONTROL = re.compile(r"[\0-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True)
class Case:
    """A text, and a position in it as a fraction of its length."""

    language: str
    text: str
    cursor: float = 1.0
    unit: str = ""  # for `takes_linear_time`: is repeated in the middle of the text


# -- properties -----------------------------------------------------------------------------------------------


def _parsed(case: Case, *, tolerant: bool) -> Traversal | None:
    try:
        return LANGUAGES[case.language].parse(case.text, tolerant)
    except ParseError as error:
        assert error.reason
        assert error.line >= 0
        return None


def has_exact_spans(case: Case) -> None:
    """Each name is at its span, and a record of the tree is read as the same tree."""
    language = LANGUAGES[case.language]
    for tolerant in (False, True):
        if (tree := _parsed(case, tolerant=tolerant)) is None:
            continue
        lines = Lines(case.text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-8", "surrogatepass"), language)
        if case.language != "python":
            lines = Lines(case.text.encode("utf-8", "surrogatepass"), language)
        for node, is_identifier in enumerate(identifiers(tree, language)):
            span, value = tree.span(node), tree.values[node] or ""
            assert 0 <= span.line <= span.end_line <= lines.count, span
            if is_identifier and span.line and value != MISSING_NAME:
                text = lines.text(span)
                assert _names(text, value, case.language), (value, text)
        record = read_record(write_record(tree, language.record))
        stored = [
            value and value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") for value in tree.values
        ]
        assert (list(record.types), list(record.values), list(record.parents)) == (
            list(tree.types),
            stored,
            list(tree.parents),
        )


def _names(text: str, value: str, language: str) -> bool:
    if language == "python":
        text = re.sub(r"#[^\n]*|\\\n|\s", "", text)
        return unicodedata.normalize("NFKC", text) == value
    if "\ud800" <= max(text, default="") <= "\udfff":
        text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    return cooked_identifier(text.strip("#\"'")) == value.removeprefix("#") or text[:1] in "\"'"


def restores_exactly(case: Case) -> None:
    """Anonymization is undone exactly, and the new text has the tree of the old one with the new values."""
    language = LANGUAGES[case.language]
    for strategy in ("ordered", "randomized", "by_frequency", "full"):
        try:
            result = anonymize_source(case.text, language, strategy=strategy)
        except ParseError:
            return
        assert result.restore() == case.text
        again = language.parse(result.text, False)
        assert list(again.types) == list(result.traversal.types)
        has_span = [result.traversal.span(node).line > 0 for node in range(len(again))]
        for new, value, spanned, is_name in zip(
            again.values, result.values, has_span, identifiers(result.traversal, language), strict=True
        ):
            assert new == value or not (spanned and is_name), (new, value)


def completes(case: Case) -> None:
    """Names at any position are found, or there is an error that says why not."""
    language = LANGUAGES[case.language]
    if language.cursor is None:
        return
    text = case.text[: int(case.cursor * len(case.text))]
    lines = re.split(language.line_break.decode(), text.removeprefix("\ufeff"))
    for whole in (case.text, text):
        try:
            cursor = at_cursor(whole, language, len(lines), len(lines[-1]) + 1)
            for found in _completer(case.language).complete_at(cursor, top_k=5):
                assert 0 <= found.probability <= 1.0001
        except RarenameError as error:
            assert str(error)


def is_checked(case: Case) -> None:
    """Every output format of `check` is valid and free of control characters; fixes change only names."""
    language = LANGUAGES[case.language]
    if not language.function_types:
        return
    path = "src/a\x1bb.py"
    try:
        diagnostics = _checker().check(case.text, language, path)
    except ParseError:
        return
    result = CheckResult(diagnostics, [], 1, 1, 0, 0.0, 0.0)
    for name, write in FORMATS.items():
        text = write(result)
        assert not _CONTROL.search(text), (name, _CONTROL.search(text))
        if name in ("json", "gitlab", "sarif"):
            json.loads(text)
        elif name == "json-lines":
            assert len([json.loads(line) for line in text.splitlines()]) == len(diagnostics)
        elif name == "junit":
            ElementTree.fromstring(text.encode())
        elif name in ("text", "github"):
            assert len(text.splitlines()) == len(diagnostics) + (name == "text")
    content = case.text.encode("utf-8", "replace")
    fixable = [each for each in diagnostics if each.fix is not None]
    for change in (lambda: fixed(content, fixable, language), lambda: with_noqa(content, diagnostics, language)):
        try:
            change()
        except FixError as error:
            assert error.reason
        except ParseError:
            pass


def takes_linear_time(case: Case) -> None:
    """Twice the length takes about twice the processor time, apart from tree-sitter, which has a limit of its own."""
    if not case.unit:
        return
    limits = {name: getattr(cst, name) for name in ("_MAX_SECONDS", "_MAX_SECONDS_PER_BYTE")}
    cst._MAX_SECONDS, cst._MAX_SECONDS_PER_BYTE = 0.02, 1e-6
    try:
        _check_times(case)
    finally:
        vars(cst).update(limits)


def _check_times(case: Case) -> None:
    middle = int(case.cursor * len(case.text))
    before, after = case.text[:middle], case.text[middle:]
    for work in (_parse_all, _complete_at_end):
        length, seconds = 1_000, [0.0, 0.0]
        while seconds[-1] < 1 and length < 500_000:
            length *= 2
            text = before + case.unit * (length // len(case.unit) + 1) + after
            started = time.process_time()
            with suppress(RarenameError):
                work(text, LANGUAGES[case.language])
            seconds.append(time.process_time() - started)
        is_quadratic = seconds[-1] > 1 and seconds[-1] > 3 * seconds[-2] and seconds[-2] > 3 * seconds[-3]
        assert not is_quadratic, (work.__name__, length, seconds)


def _parse_all(text: str, language: Language) -> None:
    list(language.find_comments(text))
    for tolerant in (False, True):
        with suppress(ParseError):
            language.roles(language.parse(text, tolerant))


def _complete_at_end(text: str, language: Language) -> None:
    lines = re.split(language.line_break.decode(), text.removeprefix("\ufeff"))
    at_cursor(text, language, len(lines), len(lines[-1]) + 1)


PROPERTIES: dict[str, Callable[[Case], None]] = {
    each.__name__: each for each in (has_exact_spans, restores_exactly, completes, is_checked, takes_linear_time)
}


@functools.cache
def _completer(language: str) -> Completer:
    return Completer.load(language)


@functools.cache
def _checker() -> Checker:
    return Checker.load(threshold=0)


# -- texts ----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
_PIECES = {
    "": "\0 \x1b \x85 \xa0 \u2028 \u202e \ufeff \ud800 \udfff 😀 é ﬁ 𝐱 µ ª \r \r\n \n \t \f \\ \\\n ' \" # ( ) [ ] { } "
    "; , . : = @ ` 0x 1e 1_0 9**9 999999999999999999999999",
    "python": "f' f\" f'{ ''' \"\"\" rb' \\N{DASH} {x!r:>{y}} lambda :: := ... -> async await match case _ def class "
    "import from * ** global nonlocal del yield try except finally with as else elif # noqa:RN001",
    "javascript": "`${ `} ${ // /* */ <!-- --> #! /[ /x/g => ?. ?? ... <a> </a> <a/> {...x} \\u0061 \\u{62} "
    "\\u{110000} let const var function* async await yield class static get set #x new.target import.meta "
    "10n using of in // noqa:RN001",
}


@functools.cache
def real_texts(language: str) -> list[str]:
    """Real files of a language: those of installed packages, or those of the tests."""
    if language == "python":
        folders = [Path(sysconfig.get_paths()[name]) for name in ("stdlib", "purelib")]
    else:
        folders = [
            ROOT / ".cache/acorn/node_modules",
            Path("/usr/lib/node_modules"),
            Path("/usr/local/lib/node_modules"),
        ]
    folders.append(ROOT / "tests" / "golden" / "inputs")
    suffixes = LANGUAGES[language].suffixes
    paths = sorted(
        path for folder in folders for suffix in suffixes for path in folder.rglob(f"*{suffix}") if path.is_file()
    )
    texts = []
    for path in random.Random(0).sample(paths, min(400, len(paths))):
        text = path.read_bytes()[:30_000].decode("utf-8", "replace")
        texts.append(text[: text.rfind("\n") + 1])
    return [text for text in texts if text]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A piece of a real file with a few mutations."""
    language = draw(st.sampled_from(["python", "javascript"]))
    lines = draw(st.sampled_from(real_texts(language))).splitlines(keepends=True)
    first = draw(st.integers(0, len(lines) - 1))
    tokens = _TOKEN.findall("".join(lines[first : first + draw(st.integers(1, 40))]))
    pieces = [" ", *(_PIECES[""] + " " + _PIECES[language]).split(" ")]
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(tokens)))
        stop = min(len(tokens), start + draw(st.integers(0, 8)))
        change = draw(st.sampled_from(["insert", "replace", "delete", "repeat", "move", "rename"]))
        if change in ("insert", "replace"):
            new = [draw(st.sampled_from(pieces)) * draw(st.sampled_from([1, 1, 1, 2, 30]))]
            tokens[start : start if change == "insert" else stop] = new
        elif change == "delete":
            del tokens[start:stop]
        elif change == "repeat":
            tokens[start:start] = tokens[start:stop] * draw(st.integers(1, 20))
        elif change == "move":
            moved = tokens[start:stop]
            del tokens[start:stop]
            target = draw(st.integers(0, len(tokens)))
            tokens[target:target] = moved
        else:
            names = [token for token in tokens if token.isidentifier()] or ["x"]
            old, new_name = draw(st.sampled_from(names)), draw(st.sampled_from([*names, "VAR1", "UNK", "é", "ﬁ"]))
            tokens = [new_name if token == old else token for token in tokens]
    unit = ""
    if draw(st.integers(0, 9)) == 0:
        words = st.one_of(st.sampled_from(pieces), st.sampled_from(tokens or ["x"]))
        unit = "".join(draw(st.lists(words, min_size=1, max_size=3)))
    return Case(language, "".join(tokens), draw(st.floats(0, 1)), unit)


# -- the fuzzer -----------------------------------------------------------------------------------------------


def store(case: Case, folder: Path) -> Path:
    """Write a failure as a case; the name tells cases apart."""
    content = json.dumps(asdict(case), indent=1) + "\n"
    path = folder / f"{case.language}-{hashlib.sha256(content.encode()).hexdigest()[:8]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def work(number: int, num_cases: int, folder: Path, current: Path, seconds: float) -> int:
    """Try some texts; store the simplest one that fails."""
    tried: list[Case] = []
    end = time.monotonic() + seconds

    @seed(number)
    @settings(
        max_examples=num_cases, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink), print_blob=False,
    )  # fmt: skip
    @given(cases())
    def try_one(case: Case) -> None:
        if time.monotonic() > end and not tried:
            return
        current.write_text(json.dumps(asdict(case)))
        faulthandler.dump_traceback_later(MAX_SECONDS, exit=True)
        try:
            for check in PROPERTIES.values():
                check(case)
        except Exception:
            tried.append(case)
            raise
        finally:
            faulthandler.cancel_dump_traceback_later()

    try:
        try_one()
    except Exception:
        traceback.print_exc(limit=-3)
        print(f"seed {number}: stored as {store(tried[-1], folder)}", file=sys.stderr)
        return 1
    return 0


def fuzz(seconds: float, first_seed: int, num_cases: int, folder: Path) -> int:
    """Run workers one after the other until the time is over; returns the number of failures."""
    end, number, failures = time.monotonic() + seconds, first_seed, 0
    current = folder / ".current.json"
    folder.mkdir(parents=True, exist_ok=True)
    while (left := end - time.monotonic()) > 0:
        command = [sys.executable, __file__, "--worker", str(number), "--cases", str(num_cases), "--seconds", str(left)]
        code = subprocess.run([*command, "--folder", str(folder)], check=False).returncode
        if code < 0 or code > 1 or (code == 1 and current.exists()):
            print(f"seed {number}: the process ended with {code}", file=sys.stderr)
            print(f"stored as {store(Case(**json.loads(current.read_text())), folder)}", file=sys.stderr)
        failures += code != 0
        number += 1
    current.unlink(missing_ok=True)
    print(f"{(number - first_seed) * num_cases:,} texts at most, {failures} failures", file=sys.stderr)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--cases", type=int, default=200, help="texts of each worker process")
    parser.add_argument("--folder", type=Path, default=CASES, help="for failures (default: %(default)s)")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is None:
        return min(1, fuzz(arguments.seconds, arguments.seed, arguments.cases, arguments.folder))
    current = arguments.folder / ".current.json"
    code = work(arguments.worker, arguments.cases, arguments.folder, current, arguments.seconds)
    current.unlink(missing_ok=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
