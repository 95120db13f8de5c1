"""Text from files and file names, made safe to print: the one place where it is escaped."""


def escaped(text: str) -> str:
    """Escape each byte of an unprintable character: controls, line breaks, marks that reorder text, surrogates.

    Every name, path and source line that reaches a terminal, a log or a report is escaped here. A percent sign stays:
    the result is for reading, not for decoding.

    >>> escaped("\\x1b[31mred"), escaped("a\\n::error::b"), escaped("\\u202eabc\\udcff"), escaped("100 % größer")
    ('%1B[31mred', 'a%0A::error::b', '%E2%80%AEabc%FF', '100 % größer')
    """
    return text if text.isprintable() else "".join(char if char.isprintable() else _escape(char) for char in text)


def _escape(char: str) -> str:
    # A byte of a file name that is not UTF-8 is one of these surrogates.
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", errors))
