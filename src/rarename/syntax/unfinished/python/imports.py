"""Modules that are named relative to the package of a text."""

import re

_RELATIVE = re.compile(r"\bfrom[ \t]+(?P<dots>\.[ \t.]*)[\w.]*\Z")
_STATEMENT = re.compile(
    r"^[ \t]*from[ \t]+(?P<dots>\.[ \t.]*)(?P<module>[\w.]*)[ \t]*\bimport\b[ \t]*(?:\((?P<group>[^)]*)|(?P<names>.*))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:^|,)\s*(\w+)")


def relative_modules(before: str, after: str) -> frozenset[str] | None:
    """The modules that the text imports from where the statement at the cursor does; None if that is not relative.

    The tree has no dots before a module, so the text must tell.

    >>> sorted(relative_modules("from .a.b import c\\nfrom . import d as e, f\\nfrom .", ""))
    ['a.b', 'd', 'f']
    """
    here = _RELATIVE.search(before)
    if here is None:
        return None
    modules: set[str] = set()
    for found in (*_STATEMENT.finditer(before), *_STATEMENT.finditer(after)):
        if found["dots"].count(".") != here["dots"].count("."):
            continue
        modules |= {found["module"]} if found["module"] else set(_NAME.findall(found["group"] or found["names"] or ""))
    return frozenset(modules)
