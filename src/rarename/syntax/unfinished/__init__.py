"""Unfinished source text: what stands before the name at a cursor."""

from rarename.syntax.unfinished.cursor import Cursor, at_cursor

__all__ = ["Cursor", "at_cursor"]
