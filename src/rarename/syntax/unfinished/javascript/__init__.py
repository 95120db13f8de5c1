"""Unfinished JavaScript. Reading order: scanning, mending, scope."""

from rarename.syntax.unfinished.javascript.mending import mended
from rarename.syntax.unfinished.javascript.scope import in_scope

__all__ = ["in_scope", "mended"]
