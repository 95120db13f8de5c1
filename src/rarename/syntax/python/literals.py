"""Literals, spelled as Python 2 spells them."""

from typing import Any


def literal(value: Any) -> tuple[str, str | None]:
    """The type and value of a literal."""
    kind = type(value)
    if kind is str or kind is bytes:
        return "Str", _string(value)
    if kind is int or kind is float or kind is complex:
        return "Num", number(value)
    if value is ...:
        return "Ellipsis", None
    return "NameLoad", str(value)  # None, True, False


def number(value: Any, is_negative: bool = False) -> str:
    """A number as Python 2 spells it: `1e11` is `1e+11`, twelve digits of a float are kept.

    >>> number(0x10), number(2.0), number(1 / 3), number(1j, is_negative=True)
    ('16', '2.0', '0.333333333333', '-1j')
    """
    if type(value) is complex:
        return f"{-value.imag if is_negative else value.imag:.12g}j"
    if is_negative:
        value = -value
    if type(value) is int:
        try:
            return str(value)
        except ValueError:  # thousands of digits, from a hexadecimal literal: decimal would take too long
            return hex(value)
    text = f"{value:.12g}"
    if "." in text or "e" in text or "n" in text:  # "inf" has an n
        return text
    if len(text.lstrip("-")) < 12:
        return text + ".0"
    mantissa, exponent = f"{value:.11e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"


def _string(value: str | bytes) -> str:
    """The characters of a literal; what is no character in UTF-8 is spelled with a backslash."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    try:
        value.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return value.encode("utf-8", "backslashreplace").decode()
    return value
