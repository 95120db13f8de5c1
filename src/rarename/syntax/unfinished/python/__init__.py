"""Unfinished Python. Reading order: scanning, mending, scope."""

from rarename.syntax.unfinished.python.mending import STATEMENT_END, cut, names_defined_in
from rarename.syntax.unfinished.python.scanning import Scan
from rarename.syntax.unfinished.python.scope import in_scope

__all__ = ["STATEMENT_END", "Scan", "cut", "in_scope", "names_defined_in"]
