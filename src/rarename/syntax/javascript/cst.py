"""JavaScript text to tree-sitter's concrete tree, as flat arrays that are cheap to walk."""

import re
import time
from dataclasses import dataclass

import tree_sitter
import tree_sitter_javascript

from rarename.errors import ParseError

GRAMMAR = tree_sitter.Language(tree_sitter_javascript.language())
_NUM_KINDS = GRAMMAR.node_kind_count
KIND_NAMES = [GRAMMAR.node_kind_for_id(kind) or "" for kind in range(_NUM_KINDS)] + ["ERROR"]
"""The name of each kind of concrete node. Several kinds may share a name."""
IS_NAMED = [GRAMMAR.node_kind_is_named(kind) for kind in range(_NUM_KINDS)] + [True]
"""Whether a kind is more than a token."""
ERROR_KIND = _NUM_KINDS
"""Our number for tree-sitter's error node, whose own number lies far outside the grammar's."""

_TREE_SITTER_ERROR = 0xFFFF
_KEPT_TOKENS = frozenset({"async", "default", "of", "in", "var", "let", "const", "using"})
_OPERATORS = frozenset(
    ["+", "-", "*", "/", "%", "**", "==", "!=", "===", "!==", "<", ">", "<=", ">=", "<<", ">>", ">>>", "&", "|"]
).union(["^", "&&", "||", "??", "!", "~", "++", "--", "typeof", "void", "delete", "instanceof"])
_DROPPED = frozenset({"comment", "html_comment", "hash_bang_line", "escape_sequence", "string_fragment"})
_IS_KEPT = [
    name in _KEPT_TOKENS or name in _OPERATORS or (IS_NAMED[kind] and name not in _DROPPED)
    for kind, name in enumerate(KIND_NAMES)
]
"""Whether a kind says something that the abstract tree needs; punctuation and comments do not."""

_EXPRESSION_STATEMENTS = frozenset(k for k, name in enumerate(KIND_NAMES) if name == "expression_statement")
_RESERVED = (
    b"break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|export|extends|false|finally|for"
    b"|function|if|import|in|instanceof|new|null|return|super|switch|this|throw|true|try|typeof|var|void|while|with"
)
_KEYWORD_AS_NAME = re.compile(
    rb"(?<=\bas )(?:%(reserved)s)(?=\s*[,}])"  # export {a as if}
    rb"|(?<=[{, ])(?:%(reserved)s)(?= as\b)"  # import {if as a}
    rb"|\busing\b(?!\s+[\w$])" % {b"reserved": _RESERVED}  # using = 1
)
_PRIVATE_FIELD_END = re.compile(rb"^([ \t]*(?:static[ \t]+)?#[\w$]+[ \t\r]*)\n(?=\s*\[)", re.MULTILINE)
_SEMICOLON = KIND_NAMES.index(";")
_LINE_END = re.compile(rb"(?:[^\S\r\n]|/\*.*?\*/)*(?:[\r\n]|//)", re.DOTALL)
_LET_AT_LINE_END = re.compile(rb"\blet\s*(?:[\r\n]|//|/\*)")
_GAP_BEFORE_NAME = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)+(?=[\w$\\\[{\x80-\xff])", re.DOTALL)

_CHUNK = 512
"""Bytes handed to tree-sitter at a time: between two chunks the clock is looked at."""
_PATIENCE_SECONDS = 10.0
_PATIENCE_SECONDS_PER_BYTE = 4e-6


@dataclass(frozen=True, slots=True)
class ConcreteTree:
    """tree-sitter's tree in pre-order, without punctuation and comments.

    The children of node `n` are `n + 1`, then the `after` of each child in turn, up to `after[n]`.
    """

    source: bytes
    kinds: list[int]
    starts: list[int]
    """The byte at which each node starts."""
    ends: list[int]
    fields: list[int]
    """The grammar's field that each node is in its parent; 0 for none."""
    after: list[int]
    """The index behind the last node of each node's subtree."""
    errors: list[int]
    """The nodes that tree-sitter could not understand or had to make up."""

    def children(self, node: int) -> list[int]:
        """The children of a node, in order."""
        after = self.after
        end = after[node]
        children = []
        node += 1
        while node < end:
            children.append(node)
            node = after[node]
        return children

    def parents(self) -> list[int]:
        """The parent of every node; -1 for the root."""
        parents = [-1] * len(self.kinds)
        open_nodes = [0]
        for node in range(1, len(self.kinds)):
            while self.after[open_nodes[-1]] <= node:
                open_nodes.pop()
            parents[node] = open_nodes[-1]
            open_nodes.append(node)
        return parents

    def line(self, node: int) -> int:
        """The line, from 1, on which a node starts."""
        return self.source.count(b"\n", 0, self.starts[node]) + 1


def concrete_tree(source: bytes) -> ConcreteTree:
    """The concrete tree of UTF-8 text, whether or not it is correct.

    Where tree-sitter's grammar is narrower than ECMAScript, it is given a text that is spelled a little
    differently, with everything at the same place. The tree's own `source` is always the original.
    """
    tree, text = _flat(source, _parsed(source)), source
    if tree.errors:
        tree, text = _better(tree, text, _respelled(text))
    if _LET_AT_LINE_END.search(source):
        tree, text = _better(tree, text, _with_declarations_joined(tree, text))
    return tree


def _better(tree: ConcreteTree, text: bytes, other_text: bytes) -> tuple[ConcreteTree, bytes]:
    """The tree of the other spelling, unless that has more errors."""
    if other_text == text:
        return tree, text
    other = _flat(tree.source, _parsed(other_text))
    return (tree, text) if len(other.errors) > len(tree.errors) else (other, other_text)


def _respelled(text: bytes) -> bytes:
    """The text with names for keywords that are names, semicolons behind private fields, no NULs in strings."""
    text = text.replace(b"\0", b" ")
    text = _KEYWORD_AS_NAME.sub(lambda keyword: b"_" * len(keyword[0]), text)
    return _PRIVATE_FIELD_END.sub(rb"\1;", text)


def _with_declarations_joined(tree: ConcreteTree, text: bytes) -> bytes:
    """The text with blanks between a `let` at the end of a line and the name that it declares.

    tree-sitter ends a statement after such a `let`, ECMAScript does not.
    """
    joined = bytearray(text)
    for node, kind in enumerate(tree.kinds):
        if kind in _EXPRESSION_STATEMENTS and text.startswith(b"let", tree.starts[node]):
            match = _GAP_BEFORE_NAME.match(text, tree.starts[node] + len(b"let"))
            if match:
                joined[match.start() : match.end()] = b" " * (match.end() - match.start())
    return bytes(joined)


def _parsed(source: bytes) -> tree_sitter.Tree:
    """tree-sitter's own tree; a ParseError when the text takes unreasonably long.

    Error recovery can take quadratic time on hostile text. tree-sitter has no time limit of its own
    and its progress callback crashes (0.26), so the text simply ends when patience does.
    """
    patience = _PATIENCE_SECONDS + len(source) * _PATIENCE_SECONDS_PER_BYTE
    deadline = time.monotonic() + patience
    was_cut = False

    def read(offset: int, _point: tuple[int, int]) -> bytes:
        nonlocal was_cut
        was_cut = was_cut or time.monotonic() > deadline
        return b"" if was_cut else source[offset : offset + _CHUNK]

    tree = tree_sitter.Parser(GRAMMAR).parse(read)
    if was_cut:
        raise ParseError("gave up after too long", f"{patience:.0f} seconds")
    return tree


def _flat(source: bytes, tree: tree_sitter.Tree) -> ConcreteTree:
    """Copy a tree into arrays in one walk: a Python object per node would cost far more."""
    kinds: list[int] = []
    starts: list[int] = []
    ends: list[int] = []
    fields: list[int] = []
    after: list[int] = []
    errors: list[int] = []
    open_nodes: list[int] = []
    is_kept = _IS_KEPT
    cursor = tree.walk()
    goto_first_child, goto_next_sibling, goto_parent = (
        cursor.goto_first_child,
        cursor.goto_next_sibling,
        cursor.goto_parent,
    )
    has_error = tree.root_node.has_error
    while True:
        node = cursor.node
        assert node is not None
        kind = node.kind_id
        if has_error and (kind == _TREE_SITTER_ERROR or node.is_missing):
            errors.append(len(kinds))
            kind = ERROR_KIND if kind == _TREE_SITTER_ERROR else kind
        if is_kept[kind] or (errors and errors[-1] == len(kinds)):
            kinds.append(kind)
            starts.append(node.start_byte)
            ends.append(node.end_byte)
            fields.append(cursor.field_id or 0)
            after.append(0)
            if goto_first_child():
                open_nodes.append(len(kinds) - 1)
                continue
            after[-1] = len(kinds)
        while not goto_next_sibling():
            if not goto_parent():
                errors = [node for node in errors if not _is_automatic_semicolon(source, kinds[node], starts[node])]
                return ConcreteTree(source, kinds, starts, ends, fields, after, errors)
            after[open_nodes.pop()] = len(kinds)


def _is_automatic_semicolon(source: bytes, kind: int, start: int) -> bool:
    """Whether a semicolon that tree-sitter misses is one that the end of a line stands for.

    So it is in a class, between a field without a value and a computed name.
    """
    return kind == _SEMICOLON and _LINE_END.match(source, start) is not None
