"""Unfinished Python. Reading order: scanning, mending, scope, imports, arguments."""

from rarename.syntax.unfinished.python.arguments import argument_names
from rarename.syntax.unfinished.python.imports import module_at
from rarename.syntax.unfinished.python.mending import STATEMENT_END, cut, names_bound_in
from rarename.syntax.unfinished.python.scanning import Scan
from rarename.syntax.unfinished.python.scope import in_scope, reserved

__all__ = [
    "STATEMENT_END",
    "Scan",
    "argument_names",
    "cut",
    "in_scope",
    "module_at",
    "names_bound_in",
    "reserved",
]
