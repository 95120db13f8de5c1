"""What can be open in JavaScript: the kinds of levels."""

from collections.abc import Sequence
from dataclasses import dataclass

from rarename.syntax.unfinished.levels import Level

BLOCK, SWITCH, CLASS, OBJECT, SPECIFIERS, EXPRESSION = "block", "switch", "class", "object", "specifiers", "expression"
"""What a brace can hold. An expression stands in the braces of JSX and of a template."""
TAG, CHILDREN, CLOSING_TAG, TEMPLATE = "tag", "children", "closing tag", "template"
"""The levels that are no bracket."""
MEMBER = "member"
"""The token for a name behind a dot, which may be spelled like a keyword."""
STATEMENTS = frozenset({BLOCK, SWITCH})
"""The levels that hold statements."""


@dataclass(slots=True)
class Open(Level):
    """A level, and what it is."""

    kind: str = ""
    name: str = ""
    """The name of an element of JSX."""
    is_done: bool = False
    """Whether the last token ended a statement, unless an `else` or the like follows."""
    start: int = 0
    """Where its content starts in the text."""
    is_group: bool = False
    """Whether it is a bracket where an operand may stand: it groups, or holds the parameters of an arrow function."""
    has_default: bool = False
    """Whether an element before the current one was `name = …`: then braces hold no literal but a pattern."""


def statement_start(stack: Sequence[Open], depth: int, end: int) -> int:
    """Where the current statement of a level starts: at its first token, or at the bracket that it starts with."""
    if stack[depth].starts:
        return stack[depth].starts[0]
    return stack[depth + 1].start - len(stack[depth + 1].opener) if depth + 1 < len(stack) else end
