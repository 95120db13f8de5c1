"""Unfinished Python. Reading order: scanning, mending, scope."""

from rarename.syntax.unfinished.python.mending import mended
from rarename.syntax.unfinished.python.scope import in_scope

__all__ = ["in_scope", "mended"]
