"""Arguments, input and output that several commands share."""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rarename.errors import RarenameError, UsageError
from rarename.printable import escaped
from rarename.syntax import LANGUAGES, Language, Traversal, language_named, language_of
from rarename.time_limit import time_limit

if TYPE_CHECKING:
    from rarename.cluster import ClusterExecutor

AVX512_HELP = "let MKL use AVX-512 on an AMD processor, which shortens a training step (docs/experiments.md)"


@dataclass(frozen=True)
class ParsedFile:
    language: Language
    encoding: str  # such as utf-8
    text: str
    traversal: Traversal


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a source file, or - for standard input")
    parser.add_argument("--language", choices=LANGUAGES, help="default: by the suffix of the file name")


def add_output_format(parser: argparse.ArgumentParser, **formats: str) -> None:
    """Add `--output-format` with an explanation of each format; the first format is the default."""
    default = next(iter(formats))
    explained = "; ".join(f"{name}: {explanation}" for name, explanation in formats.items())
    parser.add_argument("--output-format", choices=formats, default=default, help=f"{explained} (default: {default})")


def add_cluster_arguments(parser: argparse.ArgumentParser) -> None:
    option = parser.add_argument_group("cluster").add_argument
    option("--cluster", metavar="ADDRESS", help="use the workers of a Dask scheduler: tcp://…, tls://… or its file")
    for name, file in (("ca-file", "certificate of the authority"), ("cert", "certificate"), ("key", "private key")):
        option(f"--tls-{name}", type=Path, metavar="FILE", help=f"{file} for --cluster (default: Dask's configuration)")


def cluster(
    arguments: argparse.Namespace, folders: Sequence[Path], **options: Any
) -> "AbstractContextManager[ClusterExecutor | None]":
    """The workers of `--cluster`, which must see these folders; None without it. See `rarename.cluster.connect`."""
    if not arguments.cluster:
        return nullcontext()
    from rarename.cluster import ClusterConfig, connect

    files = arguments.tls_ca_file, arguments.tls_cert, arguments.tls_key
    resources = dict(getattr(arguments, "resource", None) or ())
    return connect(ClusterConfig(arguments.cluster, *files, resources), folders, **options)


def number(kind: type[float], minimum: float, maximum: float = math.inf) -> Callable[[str], float]:
    """Return an argparse type: an `int` or `float` from `minimum` to `maximum`."""

    def convert(text: str) -> float:
        with suppress(ValueError):
            if minimum <= (value := kind(text)) <= maximum:
                return value
        expected = "a whole number" if kind is int else "a number"
        limits = f"from {minimum} to {maximum}" if maximum < math.inf else f"of at least {minimum}"
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected} {limits}")

    return convert


def vocabulary_size(text: str) -> int:
    """An argparse type: a whole number, or `max` for all values."""
    from rarename.config import MAX_SIZE  # imports numpy

    return MAX_SIZE if text == "max" else int(number(int, 0)(text))


def read_bytes(arguments: argparse.Namespace) -> tuple[Language, bytes]:
    """Return the language and the content of the file."""
    is_stdin = arguments.file == "-"
    if is_stdin and not arguments.language:
        raise UsageError("standard input has no file name to detect the language; add --language")
    language = language_named(arguments.language) if arguments.language else language_of(arguments.file)
    return language, sys.stdin.buffer.read() if is_stdin else Path(arguments.file).read_bytes()


def parse_file(arguments: argparse.Namespace) -> ParsedFile:
    """Read and parse the file. A syntax error is only a warning if the parser of the language can recover."""
    language, data = read_bytes(arguments)
    try:
        encoding, text = language.encoding(data), language.decode(data)
        with time_limit(text, language):
            try:
                traversal = language.parse(text, False)
            except RarenameError as error:
                traversal = language.parse(text, True)
                warning = f"rarename: {arguments.file}: {error}; parsed with error recovery"
                print(escaped(warning), file=sys.stderr)
    except RarenameError as error:
        raise UsageError(f"{arguments.file}: {error}") from error
    return ParsedFile(language, encoding, text, traversal)


def write(text: str, encoding: str = "utf-8") -> None:
    """Write a result to stdout in UTF-8 or in the encoding of its file, whatever the encoding of the terminal is.

    If the reader of stdout (such as `head`) has exited, the rest is discarded, and the exit code stays what it is.
    """
    try:
        sys.stdout.buffer.write(text.encode(encoding, "surrogatepass"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        discard_unwritten()


def write_json(content: Any, indent: int | None = None) -> None:
    """Write JSON in which every character that a terminal might act on is escaped."""
    text = json.dumps(content, indent=indent, ensure_ascii=False)
    if not text.replace("\n", "").isprintable():
        text = "".join(char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1] for char in text)
    write(text + "\n")


def open_streams() -> None:
    """Replace each standard stream that is closed by the null device. Escape what the encoding of stdout lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 (stays open)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # as stderr does


def discard_unwritten() -> None:
    """Discard output that cannot be written. Python would fail again at exit, with another exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
