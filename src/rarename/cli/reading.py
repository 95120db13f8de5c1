"""What several commands do first: find a file's language, read it, parse it."""

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

from rarename.errors import RarenameError, UsageError
from rarename.syntax import LANGUAGES, Language, Traversal, language_named, language_of


class ReadFile(NamedTuple):
    """A file that has been read and parsed."""

    language: Language
    encoding: str
    """What its bytes are in."""
    text: str
    traversal: Traversal


def add_file_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which file to read."""
    parser.add_argument("file", metavar="FILE", help="a source file, or - for standard input")
    parser.add_argument(
        "--language", choices=LANGUAGES, help="the language; by default told from the ending of the name"
    )


def read_bytes(arguments: argparse.Namespace) -> tuple[Language, bytes]:
    """The language of the file, and what is in it."""
    name = arguments.file
    if arguments.language:
        language = language_named(arguments.language)
    elif name == "-":
        raise UsageError("standard input has no name to tell the language from; say --language")
    else:
        language = language_of(name)
    try:
        return language, sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror or error}") from error


def read_file(arguments: argparse.Namespace) -> ReadFile:
    """Read and parse the file. Broken places are mended where the language's parser can, with a word."""
    name = arguments.file
    language, data = read_bytes(arguments)
    try:
        encoding, text = language.encoding(data), language.decode(data)
        try:
            traversal = language.parse(text, False)
        except RarenameError as error:
            traversal = language.parse(text, True)
            print(f"rarename: {name}: {error}; read on as well as possible", file=sys.stderr)
    except RarenameError as error:
        raise UsageError(f"{name}: {error}") from error
    return ReadFile(language, encoding, text, traversal)


def write(text: str, encoding: str = "utf-8") -> None:
    """Print a result as UTF-8, or as it was read, whatever the terminal is set to: names are not always ASCII."""
    sys.stdout.flush()
    left = memoryview(text.encode(encoding, "surrogatepass"))
    while left:  # an unbuffered stream takes no more than two gigabytes at a time
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def forget_reader() -> None:
    """Whoever read our output, `head` say, is gone: what is printed from here on goes nowhere, without complaint."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def minutes(text: str) -> float:
    """How long, for argparse."""
    if not (number := float(text)) >= 0:
        raise argparse.ArgumentTypeError(f"{text} is no time; expected 0 or more")
    return number


def positive(text: str) -> int:
    """A whole number from 1 on, for argparse."""
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number
