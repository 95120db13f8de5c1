"""Literals, written as Python 2 writes them."""

from typing import Any


def literal(value: Any) -> tuple[str, str | None]:
    """The type and value of the node of a literal."""
    kind = type(value)
    if kind is str or kind is bytes:
        return "Str", _string(value)
    if kind is int or kind is float or kind is complex:
        return "Num", number(value)
    if value is ...:
        return "Ellipsis", None
    return "NameLoad", str(value)  # None, True, False


def number(value: Any, is_negative: bool = False) -> str:
    """A number in Python 2: `1e11` is `1e+11`, a float has at most twelve digits.

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
        except ValueError:  # more than 4,300 digits, from a hexadecimal literal
            return hex(value)
    text = f"{value:.12g}"
    if "." in text or "e" in text or "n" in text:  # "inf" has an n
        return text
    if len(text.lstrip("-")) < 12:
        return text + ".0"
    mantissa, exponent = f"{value:.11e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{exponent}"


def _string(value: str | bytes) -> str:
    """The text of a literal; bytes that are not UTF-8, and lone surrogates, are written with a backslash."""
    data = value if isinstance(value, bytes) else value.encode("utf-8", "backslashreplace")
    return data.decode("utf-8", "backslashreplace")
