"""Files that somebody else may have written: kind, size, types and ranges are checked before anything is made of them.

Every function here raises only `OSError` and `ValueError`. The reader of each kind of file (`encoding.json`,
`manifest.json`, `config.toml`, results …) turns them into an error that names the file and the remedy.
"""

import errno
import json
import math
import os
import re
import stat
import tomllib
from io import BufferedReader
from pathlib import Path
from reprlib import repr as shorten
from typing import Any

MAX_TEXT_BYTES = 100_000_000
"""The limit of a JSON or TOML file; the largest that rarename writes are about a hundredth of it."""

_MAX_KEY_PARTS = 100  # of a dotted key in TOML: reading one takes quadratic time
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]++|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w\\-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MAX_KEY_PARTS}}}")


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file, or a link to one. A pipe or a device is an error: reading it might never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read_text(path: Path, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """Read a regular file in UTF-8, with or without a byte order mark, up to a limit."""
    with open_regular(path) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(f"it has more than {max_bytes:,} bytes")
    return content.decode("utf-8-sig")


def read_json(path: Path) -> Any:
    """Read a JSON file. Infinity, NaN and numbers too large for a float are refused."""
    try:
        return json.loads(
            read_text(path), parse_constant=_refuse_constant, parse_float=_finite_float, parse_int=_finite_int
        )
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read_toml(path: Path) -> dict[str, Any]:
    """Read a TOML file. Whole numbers have at most 64 bits, as TOML says: longer ones cannot always be shown."""
    text = read_text(path)
    if _LONG_KEY.search(text):
        raise ValueError(f"a key has more than {_MAX_KEY_PARTS} parts")
    try:
        content = tomllib.loads(text)
        _check_whole_numbers(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    return content


def _refuse_constant(name: str) -> None:
    raise ValueError(f"it contains {name}, which is not a number")


def _finite_float(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"it contains {shorten(text)}, which is too large")
    return number


def _finite_int(text: str) -> int:
    _finite_float(text)
    return int(text)


def _check_whole_numbers(value: Any) -> None:
    if isinstance(value, int) and value.bit_length() > 64:
        raise ValueError("it contains a whole number of more than 64 bits")
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_whole_numbers(item)


def check_shape(value: Any, shape: Any, name: str = "the content") -> None:
    """Raise ValueError unless a value of JSON or TOML has a shape.

    A shape is a type, a range of whole numbers, a tuple of choices, a list with the shape of every item, or a dict:
    with the shape of some keys (others are allowed), or with that of every key, `{str: shape}`.

    >>> check_shape({"size": 3, "names": ["a"]}, {"size": range(10), "names": [str]})
    >>> check_shape({"size": 3, "names": ["a", None]}, {"size": range(10), "names": [str]})
    Traceback (most recent call last):
        ...
    ValueError: names[1] is None; expected str
    """
    expected = _mismatch(value, shape)
    if expected:
        raise ValueError(f"{name} is {shorten(value)}; expected {expected}")
    if isinstance(shape, list):
        for number, item in enumerate(value):
            check_shape(item, shape[0], f"{name}[{number}]")
    elif isinstance(shape, dict):
        prefix = "" if name == "the content" else f"{name}."
        for key in value if str in shape else shape:
            if key not in value:
                raise ValueError(f"{prefix}{key} is missing")
            check_shape(value[key], shape.get(str, shape.get(key)), f"{prefix}{key}")


def _mismatch(value: Any, shape: Any) -> str:
    """What was expected, if the value itself (not its items) does not fit."""
    if isinstance(shape, range):
        fits, expected = type(value) is int and value in shape, f"a whole number from {shape[0]} to {shape[-1]}"
    elif isinstance(shape, tuple):
        fits, expected = type(value) is str and value in shape, f"one of {', '.join(shape)}"
    else:
        kind = shape if isinstance(shape, type) else type(shape)
        fits, expected = type(value) is kind or (type(value), kind) == (int, float), kind.__name__
    return "" if fits else expected
