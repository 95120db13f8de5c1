"""`rarename check`: variables that may be misused."""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarename.cli.common import number, write
from rarename.discovery import CHECKED, STDIN, Files
from rarename.errors import ParseError, UsageError
from rarename.io import write_text
from rarename.printable import escaped
from rarename.syntax import language_named

if TYPE_CHECKING:
    from rarename.assist.baseline import Entry, KnownFindings
    from rarename.assist.diagnostics import CheckResult, Diagnostic
    from rarename.assist.file_check import CheckedFile
    from rarename.assist.settings import Configuration

EXAMPLE = """  rarename check src/
  rarename check src/ --min-confidence 0.5 --output-format json
  rarename check --since main                                   only functions that changed
  rarename check --baseline old.json --write-baseline           old findings stay silent from now on
  rarename check src/ --unsafe-fixes --diff                     what the repairs would change
  git show HEAD:src/loader.py | rarename check - --stdin-filename src/loader.py
A comment `# noqa: RN001` (`// noqa: RN001` in JavaScript) suppresses findings on its line.
Settings are read from rarename.toml or [tool.rarename] in pyproject.toml; options win over them.
Exit code 0: nothing found; 1: findings; 2: no file could be checked."""

MAX_SKIPS_SHOWN = 10
FORMAT_NAMES = {
    "text": "one line per finding",
    "full": "with the source line",
    "json": "one object",
    "json-lines": "one object per finding",
    "github": "workflow annotations",
    "gitlab": "Code Quality",
    "junit": "JUnit XML",
    "sarif": "SARIF 2.1.0",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument
    paths = "a source file, a folder, or - for standard input (default: the current folder)"
    option("paths", nargs="*", metavar="PATH", help=paths)
    runs = "a folder made by `rarename train misuse`; repeat it for other languages (default: the packaged models)"
    option("--model", action="append", default=[], type=Path, metavar="RUN", help=runs)
    languages = "check only this language; named files may have any suffix (default: by suffix)"
    option("--language", choices=[language.name for language in CHECKED], help=languages)
    confidence = "confidence threshold; 0 reports a variable in every function (default: the threshold of the model)"
    option("--min-confidence", type=number(float, 0, 1), metavar="X", help=confidence)
    option("--since", metavar="REV", help="only functions that changed since a revision of git")
    option("--stdin-filename", metavar="PATH", help="the path of standard input, for its language and its settings")
    option("--explain", metavar="CODE", choices=["RN001", "RN100"], help="explain a code, such as RN001, and exit")

    group = parser.add_argument_group("settings").add_argument
    group("--config", type=Path, metavar="FILE", help="read the settings from this file only")
    group("--isolated", action="store_true", help="read no file with settings")
    group("--exclude", action="append", metavar="PATTERN", help="files and folders to leave out, as in .gitignore")
    group("--extend-exclude", action="append", metavar="PATTERN", help="the same, besides those left out by default")
    group("--force-exclude", action="store_true", default=None, help="leave out excluded files even if named")
    group(
        "--no-respect-gitignore",
        action="store_false",
        dest="respect_gitignore",
        default=None,
        help="check what git ignores",
    )

    group = parser.add_argument_group("output").add_argument
    explained = "; ".join(f"{name}: {explanation}" for name, explanation in FORMAT_NAMES.items())
    group("--output-format", choices=FORMAT_NAMES, help=f"{explained} (default: full on a terminal, else text)")
    group("--output-file", type=Path, metavar="FILE", help="write the findings to a file")
    group("--verbose", action="store_true", help="text, full: with the next two candidates of each function")
    group("--statistics", action="store_true", help="count the findings instead of listing them")
    group(
        "--jobs", type=number(int, 1), default=os.cpu_count() or 1, metavar="N", help="processes (default: all cores)"
    )
    group("--no-cache", action="store_true", help="compute all findings, also those of files that did not change")
    group("--exit-zero", action="store_true", help="exit with 0 even if there are findings")

    group = parser.add_argument_group("old findings").add_argument
    group("--baseline", type=Path, metavar="FILE", help="old findings, which are not reported; it shrinks by itself")
    group("--write-baseline", action="store_true", help="write all findings to the baseline")
    group("--add-noqa", action="store_true", help="add a comment that suppresses it to the line of each finding")
    group("--report-unused-noqa", action="store_true", help="report comments that name RN001 and suppress nothing")

    group = parser.add_argument_group("repairs").add_argument
    group("--fix", action="store_true", help="apply safe repairs; those of a model never are: add --unsafe-fixes")
    group("--unsafe-fixes", action="store_true", help="let --fix and --diff use the suggestions of the model")
    group("--diff", action="store_true", help="print what --fix would change as a patch, and change nothing")


def run(arguments: argparse.Namespace) -> int:
    from rarename.assist.baseline import KnownFindings, read_baseline
    from rarename.assist.cache import Cache
    from rarename.assist.formats import FORMATS, PARTS, describe_skipped, explain, statistics, summary
    from rarename.assist.run import CheckRun
    from rarename.assist.selection import Selection
    from rarename.cli.interrupt import GracefulInterrupt

    if arguments.explain:
        write(explain(arguments.explain))
        return 0
    started = time.monotonic()
    configuration = _configuration(arguments)
    settings = configuration.settings_for(Path.cwd())
    if arguments.write_baseline and not settings.baseline:
        raise UsageError("--write-baseline needs the name of a file: --baseline FILE")
    if arguments.write_baseline and arguments.since is not None:
        raise UsageError("--write-baseline writes all findings; leave out --since")
    changes_files = arguments.diff or arguments.fix or arguments.add_noqa
    paths = arguments.paths or ["-" if arguments.stdin_filename else "."]
    if STDIN in paths and (changes_files or arguments.write_baseline):
        raise UsageError("--fix, --diff, --add-noqa and --write-baseline need files, not standard input")
    changed = None
    if arguments.since is not None:
        from rarename.assist.changed_lines import changed_lines, is_touched

        changed = changed_lines(Path.cwd(), arguments.since)
    check = CheckRun(arguments.model, jobs=arguments.jobs, cache=None if arguments.no_cache else Cache())
    only = language_named(arguments.language) if arguments.language else None
    if only:
        check.threshold(only)  # raises if the models are for other languages
    files = Files(paths, check.languages, only, Selection(configuration, changed), arguments.stdin_filename)
    real_paths = files.real_paths
    entries = read_baseline(settings.baseline) if settings.baseline and not arguments.write_baseline else []
    known = KnownFindings(entries)
    name = settings.output_format or ("full" if sys.stdout.isatty() and not arguments.output_file else "text")
    is_whole = changes_files or arguments.write_baseline or arguments.statistics or arguments.output_file
    shown = PARTS.get(name)
    if shown and arguments.verbose and name in ("text", "full"):
        shown = _with_alternatives(shown)
    part = None if is_whole else shown  # writes a finding at once

    checked: list[CheckedFile] = []
    num_known = 0
    with ExitStack() as stack, GracefulInterrupt() as interrupt:
        display = None
        for file in check.checked_files(files, report_unused=arguments.report_unused_noqa, should_stop=interrupt):
            found = known.new(file.diagnostics)
            num_known += len(file.diagnostics) - len(found)
            if changed is not None and file.path in real_paths:
                found = [each for each in found if is_touched(each, changed.get(real_paths[file.path]))]
            checked.append(replace(file, diagnostics=found))
            if part and found:
                with display.hidden() if display and sys.stdout.isatty() else nullcontext():
                    write("".join(map(part, found)))
            if display:
                display.advance()
            elif time.monotonic() - started > 1:
                from rarename.cli.display import Display  # not needed for what takes less time than its import

                display = stack.enter_context(Display(started))
                display.start("checking", len(files))
                display.advance(len(checked))
    result = replace(check.put_together(checked, files, started), num_in_baseline=num_known)

    if not interrupt.is_requested:
        if arguments.write_baseline and settings.baseline:
            result = _write_baseline(settings.baseline, result, real_paths)
        elif settings.baseline:
            _shrink_baseline(settings.baseline, entries, known, result, real_paths)
        if changes_files:
            result = _change_files(arguments, result, real_paths)
    if name not in ("json", "sarif"):  # these contain what was skipped
        for line in describe_skipped(result.skipped, MAX_SKIPS_SHOWN):
            print(line, file=sys.stderr)
    if part:
        text = summary(result) + "\n" if name in ("text", "full") else ""
    else:
        text = statistics(result) if arguments.statistics else FORMATS[name](result)
        if shown and arguments.verbose and name in ("text", "full") and not arguments.statistics:
            text = "".join(map(shown, result.findings)) + summary(result) + "\n"
    if not arguments.diff:
        if arguments.output_file:
            write_text(arguments.output_file, text)
        else:
            write(text)
    if name == "github" or arguments.output_file or arguments.diff or arguments.statistics:
        print(summary(result), file=sys.stderr)
    if interrupt.is_requested:
        print(f"rarename check: interrupted after {len(checked):,} of {len(files):,} files", file=sys.stderr)
        return 130
    if result.exit_code == 2:
        print("rarename check: no file could be checked", file=sys.stderr)
    return 0 if arguments.exit_zero and result.exit_code == 1 else result.exit_code


def _with_alternatives(shown: Callable[["Diagnostic"], str]) -> Callable[["Diagnostic"], str]:
    from rarename.assist.formats import alternatives_text

    return lambda each: shown(each) + alternatives_text(each)


def _configuration(arguments: argparse.Namespace) -> "Configuration":
    from rarename.assist.settings import Configuration, Patterns

    keys = ("min_confidence", "output_format", "force_exclude", "respect_gitignore")
    overrides: dict[str, Any] = {key: value for key in keys if (value := getattr(arguments, key)) is not None}
    if arguments.baseline:
        overrides["baseline"] = arguments.baseline.absolute()
    for key in ("exclude", "extend_exclude"):
        if patterns := getattr(arguments, key):
            overrides[key] = Patterns.of(Path.cwd(), patterns)
    if arguments.config and not arguments.config.is_file():
        raise UsageError(f"{arguments.config}: there is no such file")
    return Configuration(overrides, arguments.config, arguments.isolated)


def _write_baseline(path: Path, result: "CheckResult", real_paths: dict[str, Path]) -> "CheckResult":
    """Write all findings to the baseline; the result has the others."""
    from rarename.assist import baseline

    folder = path.parent.resolve()
    old = baseline.read_baseline(path) if path.exists() else []
    misuses = [each for each in result.findings if each.fingerprint]
    new = baseline.entries_of(misuses, real_paths, folder)
    entries = baseline.merged_entries(old, new, folder, _thresholds(result, real_paths))
    baseline.write_baseline(path, entries)
    print(escaped(f"rarename check: wrote {len(entries):,} findings to {path}"), file=sys.stderr)
    others = [each for each in result.findings if not each.fingerprint]
    return replace(result, findings=others, num_in_baseline=len(misuses))


def _shrink_baseline(
    path: Path, entries: "list[Entry]", known: "KnownFindings", result: "CheckResult", real_paths: dict[str, Path]
) -> None:
    """Remove from the baseline what is gone, and note what has moved. It gets new findings only on request."""
    from rarename.assist import baseline

    folder = path.parent.resolve()
    matched = baseline.entries_of(known.matched, real_paths, folder)
    remaining = baseline.remaining_entries(entries, matched, folder, _thresholds(result, real_paths))
    num_gone, num_moved = len(entries) - len(remaining), (Counter(remaining) - Counter(entries)).total()
    if not (num_gone or num_moved):
        return
    try:
        baseline.write_baseline(path, remaining)
    except OSError as error:
        message = f"rarename check: {path} cannot be written ({error.strerror}); old entries stay in it"
    else:
        message = f"rarename check: {num_gone:,} findings are gone, {num_moved:,} are in other files; wrote {path}"
    print(escaped(message), file=sys.stderr)


def _thresholds(result: "CheckResult", real_paths: dict[str, Path]) -> dict[Path, float]:
    return {real_paths[name]: value for name, value in result.thresholds.items() if name in real_paths}


def _change_files(arguments: argparse.Namespace, result: "CheckResult", real_paths: dict[str, Path]) -> "CheckResult":
    """Write repairs or comments into the files, or print the patch."""
    from rarename.assist import fixes

    fixable = [each for each in result.findings if each.fix is not None or (arguments.add_noqa and each.fingerprint)]
    if not (arguments.unsafe_fixes or arguments.add_noqa):
        if fixable:
            message = f"{len(fixable):,} repairs are suggestions of a model, never safe; add --unsafe-fixes to use them"
            print(f"rarename check: {message}", file=sys.stderr)
        return result
    by_path: dict[str, list[Diagnostic]] = defaultdict(list)
    for each in fixable:
        if each.path in real_paths:
            by_path[each.path].append(each)
    done: list[Diagnostic] = []
    for shown, diagnostics in by_path.items():
        path = real_paths[shown]
        language = next(each for each in CHECKED if each.name == result.languages[shown])
        try:
            old = path.read_bytes()
            left: list[Diagnostic] = []
            if arguments.add_noqa:
                new, left = fixes.with_noqa(old, diagnostics, language)
            else:
                new = fixes.fixed(old, diagnostics, language)
            if arguments.diff:
                patch = fixes.diff(old, new, os.path.relpath(path))
                if sys.stdout.isatty():
                    text = patch.decode(language.encoding(old), "replace")
                    write("".join(escaped(line.removesuffix("\r")) + "\n" for line in text.split("\n")[:-1]))
                else:
                    write(patch.decode("latin-1"), "latin-1")  # each byte as it is in the file
            elif new != old:
                fixes.replace_file(path, old, new)
                done += [each for each in diagnostics if each not in left]
        except (ParseError, OSError, UnicodeError) as error:
            print(escaped(f"{shown}: not changed: {error}"), file=sys.stderr)
    remaining: Sequence[Diagnostic] = [each for each in result.findings if each not in done]
    return replace(result, findings=list(remaining), num_fixed=len(done))
