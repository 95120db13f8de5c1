"""Unfinished JavaScript. Reading order: levels, scanning, closing, mending, scope."""

from rarename.syntax.unfinished.javascript.mending import STATEMENT_END, cut, names_bound_in
from rarename.syntax.unfinished.javascript.scanning import Scan
from rarename.syntax.unfinished.javascript.scope import in_scope, reserved

__all__ = ["STATEMENT_END", "Scan", "cut", "in_scope", "names_bound_in", "reserved"]
