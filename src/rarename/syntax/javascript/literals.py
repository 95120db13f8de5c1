"""The values that a JavaScript engine gives to literals, as JS150 prints them."""

import re
from decimal import Decimal

_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([0-3][0-7]{0,2}|[4-7][0-7]?)"
    r"|(\r\n|[\n\r\u2028\u2029])|(.))",
    re.DOTALL,
)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}
_IDENTIFIER_ESCAPE = re.compile(r"\\u(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{4}))")
_LAST_CODE_POINT = 0x10FFFF
_BASES = {"0x": 16, "0o": 8, "0b": 2}


def cooked_string(raw: str) -> str:
    r"""The value of the text between the quotes of a string.

    >>> cooked_string(r"caf\xe9 \u{1F600}")
    'café 😀'
    """
    return _without_lone_surrogates(_ESCAPE.sub(_cooked_escape, raw)) if "\\" in raw else raw


def cooked_template(raw: str) -> str:
    """The value of a piece of template text, where every line end counts as one newline."""
    return cooked_string(raw.replace("\r\n", "\n").replace("\r", "\n"))


def cooked_identifier(raw: str) -> str:
    r"""The name that an identifier means, which may hold escapes: `\u0061b` is `ab`."""
    if "\\" not in raw:
        return raw
    return _without_lone_surrogates(_IDENTIFIER_ESCAPE.sub(lambda match: _code_point(match[1] or match[2]), raw))


def _cooked_escape(match: re.Match[str]) -> str:
    braced, four, two, octal, line_end, other = match.groups()
    if other is not None:
        return _SINGLE.get(other, other)
    if line_end is not None:
        return ""
    return chr(int(octal, 8)) if octal is not None else _code_point(braced or four or two)


def _code_point(digits: str) -> str:
    """The character of a hexadecimal number; U+FFFD beyond Unicode, which only broken code has."""
    digits = digits.lstrip("0") or "0"
    number = int(digits, 16) if len(digits) <= 6 else _LAST_CODE_POINT + 1
    return chr(number) if number <= _LAST_CODE_POINT else "\ufffd"


def _without_lone_surrogates(text: str) -> str:
    """Surrogate pairs joined; a surrogate alone becomes U+FFFD, because UTF-8 cannot hold it."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def cooked_number(raw: str) -> str:
    """A number as JavaScript prints its value, a BigInt without its `n`.

    >>> [cooked_number(raw) for raw in ("0x10", ".5", "1.0", "1e21", "017", "1_000", "1e400", "0x10n")]
    ['16', '0.5', '1', '1e+21', '15', '1000', 'Infinity', '16']
    """
    digits = raw.replace("_", "").lower()
    if digits.endswith("n"):
        return _big_integer(digits[:-1])
    try:
        if digits[:2] in _BASES:
            return _printed(float(_integer(digits)))
        if digits.isdigit() and digits[0] == "0" and not set(digits) & {"8", "9"}:
            return _printed(float(int(digits, 8)))
        return _printed(float(digits))
    except OverflowError:
        return "Infinity"
    except ValueError:  # only broken code: `1e`, `0.0.1`
        return raw


def _big_integer(digits: str) -> str:
    if digits[:2] not in _BASES:
        return digits.lstrip("0") or "0"
    # Python refuses to print integers of thousands of digits; Decimal does not.
    return f"{Decimal(_integer(digits)):f}"


def _integer(digits: str) -> int:
    try:
        return int(digits[2:], _BASES[digits[:2]])
    except ValueError:  # only broken code: `0x`, `0b2`
        return 0


def _printed(number: float) -> str:
    """ECMAScript's Number::toString: Python's shortest digits, JavaScript's point and exponent."""
    if number == float("inf"):
        return "Infinity"
    if number.is_integer() and number < 1e16:
        return str(int(number))
    _, digit_tuple, exponent = Decimal(repr(number)).normalize().as_tuple()
    digits = "".join(map(str, digit_tuple))
    point = len(digits) + int(exponent)  # digits before the decimal point; may be negative or exceed their count
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{tail}e{point - 1:+d}"


def cooked_regexp(raw: str) -> str:
    """A regular expression as JavaScript prints it: with its flags in alphabetical order."""
    pattern, _, flags = raw.rpartition("/")
    return f"{pattern}/{''.join(sorted(flags))}"
