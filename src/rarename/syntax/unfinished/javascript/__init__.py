"""Unfinished JavaScript. Reading order: scanning, mending, scope."""

from rarename.syntax.unfinished.javascript.mending import STATEMENT_END, cut, names_defined_in
from rarename.syntax.unfinished.javascript.scanning import Scan
from rarename.syntax.unfinished.javascript.scope import in_scope

__all__ = ["STATEMENT_END", "Scan", "cut", "in_scope", "names_defined_in"]
