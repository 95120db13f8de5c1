"""Module names at a cursor."""

import re

from rarename.syntax.cursor import ModuleName, SplitSource
from rarename.syntax.traversal import Traversal

_RELATIVE = re.compile(r"\bfrom[ \t]++(?P<dots>\.[ \t.]*+)[\w.]*+\Z")
_IMPORT_FROM = re.compile(
    r"^[ \t]*+from[ \t]++(?P<dots>\.[ \t.]*+)(?P<module>(?:(?!import\b)[\w.]++)?+)[ \t]*+"
    r"\bimport\b[ \t]*+(?:\((?P<group>[^)]*+)|(?P<names>.*))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:^|,)\s*(\w+)")


def module_at(traversal: Traversal, node: int, split: SplitSource) -> ModuleName | None:
    """The module that a node names, if it names one."""
    prefix = (traversal.values[node] or "").partition(split.dummy)[0]
    if traversal.types[node] == "ImportFrom":
        return ModuleName(prefix, relative_modules(split.before, split.after))
    is_imported = traversal.types[node] == "alias" and traversal.types[traversal.parents[node]] == "Import"
    return ModuleName(prefix) if is_imported else None


def relative_modules(before: str, after: str) -> frozenset[str] | None:
    """The modules that the text imports from the package of the import at the cursor; None if that is absolute.

    The tree lacks the dots before a module, so this needs the text.

    >>> sorted(relative_modules("from .a.b import c\\nfrom . import d as e, f\\nfrom .", ""))
    ['a.b', 'd', 'f']
    """
    cursor = _RELATIVE.search(before)
    if cursor is None:
        return None
    modules = set[str]()
    for found in _IMPORT_FROM.finditer(f"{before}\n{after}"):
        if found["dots"].count(".") == cursor["dots"].count("."):
            names = found["group"] or found["names"] or ""
            modules.update([found["module"]] if found["module"] else _NAME.findall(names))
    return frozenset(modules)
