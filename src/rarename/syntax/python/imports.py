"""Names of modules at a cursor."""

import re

from rarename.syntax.cursor import ModuleName, SplitSource
from rarename.syntax.traversal import Traversal

_RELATIVE = re.compile(r"\bfrom[ \t]+(?P<dots>\.[ \t.]*)[\w.]*\Z")
_STATEMENT = re.compile(
    r"^[ \t]*from[ \t]+(?P<dots>\.[ \t.]*)(?P<module>[\w.]*)[ \t]*\bimport\b[ \t]*(?:\((?P<group>[^)]*)|(?P<names>.*))",
    re.MULTILINE,
)
_NAME = re.compile(r"(?:^|,)\s*(\w+)")

_IMPORT, _ALIAS, _FROM = "Import", "alias", "ImportFrom"
"""The types of the nodes that name modules: `import a.b` is an Import with an alias, `from a.b import c` the last."""


def module_at(traversal: Traversal, node: int, split: SplitSource) -> ModuleName | None:
    """The module that a node names, if it names one."""
    prefix = (traversal.values[node] or "").partition(split.dummy)[0]
    if traversal.types[node] == _FROM:
        return ModuleName(prefix, relative_modules(split.before, split.after))
    is_imported = traversal.types[node] == _ALIAS and traversal.types[traversal.parents[node]] == _IMPORT
    return ModuleName(prefix) if is_imported else None


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
