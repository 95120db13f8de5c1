"""tree-sitter's concrete syntax tree of a JavaScript text, as flat arrays that are cheap to walk."""

import re
import time
from dataclasses import dataclass

import tree_sitter
import tree_sitter_javascript

from rarename.errors import GAVE_UP, ParseError
from rarename.syntax.language import check_deadline

GRAMMAR = tree_sitter.Language(tree_sitter_javascript.language())
_IDS = range(GRAMMAR.node_kind_count)
_NAMES = [GRAMMAR.node_kind_for_id(kind) or "" for kind in _IDS]
_IS_NODE = [GRAMMAR.node_kind_is_named(kind) for kind in _IDS]
ERROR = "ERROR"  # the kind of what tree-sitter could not parse
_ERROR_ID = 0xFFFF
NODE_KINDS = frozenset(name for name, is_node in zip(_NAMES, _IS_NODE, strict=True) if is_node) | {ERROR}
"""The kinds of concrete nodes that are more than a token."""
TOKEN_PREFIX = "token "  # marks a token that has the name of a node: `class`, `import`
_KINDS = [
    TOKEN_PREFIX + name if name in NODE_KINDS and not is_node else name
    for name, is_node in zip(_NAMES, _IS_NODE, strict=True)
]
_DROPPED = frozenset({"comment", "html_comment", "hash_bang_line", "escape_sequence", "string_fragment"})
_TOKENS = frozenset(["async", "default", "of", "in", "var", "let", "const", "using"]).union(
    ["+", "-", "*", "/", "%", "**", "==", "!=", "===", "!==", "<", ">", "<=", ">=", "<<", ">>", ">>>", "&", "|"],
    ["^", "&&", "||", "??", "!", "~", "++", "--", "typeof", "void", "delete", "instanceof"],
)
_IS_KEPT = [kind in _TOKENS or (kind in NODE_KINDS and kind not in _DROPPED) for kind in _KINDS]
"""Whether the abstract tree needs a kind. Other tokens are kept only where tree-sitter had to insert them."""
_LEAVES = frozenset({"identifier", "number", "property_identifier", "regex", "string"})
_HAS_PARTS = [kind not in _LEAVES for kind in _KINDS]
"""Whether the abstract tree may need the parts of a kind."""
FIELDS = {GRAMMAR.field_name_for_id(field) or "": field for field in range(1, GRAMMAR.field_count + 1)}

RESERVED = frozenset(
    """
    break case catch class const continue debugger default delete do else enum export extends false finally for function
    if import in instanceof new null return super switch this throw true try typeof var void while with
    """.split()  # noqa: SIM905
)
_KEYWORD_AS_NAME = re.compile(
    rb"(?<=\bas )(?:%(reserved)s)(?=\s*[,}])"  # export {a as if}
    rb"|(?<=[{, ])(?:%(reserved)s)(?= as\b)"  # import {if as a}
    rb"|\busing\b(?!\s+[\w$])" % {b"reserved": "|".join(sorted(RESERVED)).encode()}  # using = 1
)
_PRIVATE_FIELD_END = re.compile(rb"^([ \t]*(?:static[ \t]+)?#[\w$]+[ \t\r]*)\n(?=\s*\[)", re.MULTILINE)
# Atomic and possessive groups never backtrack over a gap of comments and blanks.
_COMMENT = rb"(?>/\*.*?\*/)"
_LINE_END = re.compile(rb"(?:[^\S\r\n]|%b)*+(?:[\r\n]|//)" % _COMMENT, re.DOTALL)
_LET_AT_LINE_END = re.compile(rb"\blet\s*(?:[\r\n]|//|/\*)")
_GAP_BEFORE_NAME = re.compile(rb"(?:\s|//[^\n]*\n|%b)++(?=[\w$\\\[{\x80-\xff])" % _COMMENT, re.DOTALL)

_COMMENTS = re.compile(rb"(?:/\*.*?(?:\*/|\Z)|//[^\n]*+)(?:\s*+(?:/\*.*?(?:\*/|\Z)|//[^\n]*+))*+", re.DOTALL)
_FIRST_COMMENT = re.compile(rb"/\*.*?(?:\*/|\Z)|//[^\n]*+", re.DOTALL)
_MANY_COMMENTS = 100
_TEXT_KINDS = frozenset({"comment", "html_comment", "jsx_text", "regex_pattern", "string_fragment"})
_TO_BLANKS = bytes(byte if byte in b"\r\n" else ord(" ") for byte in range(256))

_CHUNK = 512  # bytes handed to tree-sitter at a time; the time limit is checked between two chunks
_MAX_SECONDS = 0.5  # of processor time
_MAX_SECONDS_PER_BYTE = 5e-6  # thirty times what correct code takes


@dataclass(frozen=True, slots=True)
class ConcreteTree:
    """tree-sitter's tree in pre-order, without punctuation and comments.

    The children of node `n` are `n + 1`, then the `after` of each child in turn, up to `after[n]`.
    """

    source: bytes
    kinds: list[str]
    starts: list[int]  # the byte at which each node starts
    ends: list[int]
    fields: list[int]  # the grammar's field that each node is in its parent; 0 for none
    after: list[int]  # the index after the subtree of each node
    errors: list[int]  # the nodes that tree-sitter could not parse or had to insert

    def children(self, node: int) -> list[int]:
        after, children = self.after, []
        end = after[node]
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

    Where tree-sitter's grammar is narrower than ECMAScript, tree-sitter parses a text that is written a little
    differently, with every name at the same offset. The tree's own `source` is always the original.
    """
    tree, text = _flattened(source, _parsed(source)), source
    if tree.errors:
        tree, text = _better(tree, text, _rewritten(text))
    if _LET_AT_LINE_END.search(source):
        tree, text = _better(tree, text, _with_declarations_joined(tree, text))
    return tree


def _better(tree: ConcreteTree, text: bytes, other_text: bytes) -> tuple[ConcreteTree, bytes]:
    """The tree of the other text, unless that has more errors."""
    if other_text == text:
        return tree, text
    other = _flattened(tree.source, _parsed(other_text))
    return (tree, text) if len(other.errors) > len(tree.errors) else (other, other_text)


def _rewritten(text: bytes) -> bytes:
    """The text with identifiers for keywords used as names, semicolons after private fields, and no NULs."""
    text = text.replace(b"\0", b" ")
    text = _KEYWORD_AS_NAME.sub(lambda keyword: b"_" * len(keyword[0]), text)
    return _PRIVATE_FIELD_END.sub(rb"\1;", text)


def _with_declarations_joined(tree: ConcreteTree, text: bytes) -> bytes:
    """The text with blanks between a `let` at the end of a line and the name that it declares.

    tree-sitter ends a statement after such a `let`, ECMAScript does not.
    """
    joined = bytearray(text)
    for node, kind in enumerate(tree.kinds):
        if kind == "expression_statement" and text.startswith(b"let", tree.starts[node]):
            match = _GAP_BEFORE_NAME.match(text, tree.starts[node] + len(b"let"))
            if match:
                joined[match.start() : match.end()] = b" " * (match.end() - match.start())
    return bytes(joined)


def _parsed(source: bytes) -> tree_sitter.Tree:
    """tree-sitter's own tree, without some of its comments.

    At each comment tree-sitter looks for the end of all that follow: quadratic time for many in a row. Most of these
    are blanked out. If what was blanked out is not comments, but part of a string or the like, the source is parsed.
    """
    text, starts = bytearray(source), []
    for found in _COMMENTS.finditer(source):
        if found[0].count(b"*/") + found[0].count(b"\n") > _MANY_COMMENTS:
            first = _FIRST_COMMENT.match(source, found.start())
            assert first is not None  # it stays, so that a text between tags is not blank
            text[first.end() : found.end()] = source[first.end() : found.end()].translate(_TO_BLANKS)
            starts.append(first.end())
    tree = parsed_in_time(bytes(text))
    nodes = (tree.root_node.descendant_for_byte_range(start, start + 1) for start in starts)
    return parsed_in_time(source) if any(node is None or node.type in _TEXT_KINDS for node in nodes) else tree


def parsed_in_time(source: bytes) -> tree_sitter.Tree:
    """tree-sitter's own tree; a ParseError when the text takes unreasonably long.

    Error recovery can take quadratic time on hostile text. tree-sitter has no time limit, and its progress callback
    crashes (0.26), so the text ends at the deadline.
    """
    check_deadline()
    max_seconds = _MAX_SECONDS + len(source) * _MAX_SECONDS_PER_BYTE
    deadline = time.thread_time() + max_seconds
    was_cut = False

    def read(offset: int, _point: tuple[int, int]) -> bytes:
        nonlocal was_cut
        was_cut = was_cut or time.thread_time() > deadline
        return b"" if was_cut else source[offset : offset + _CHUNK]

    tree = tree_sitter.Parser(GRAMMAR).parse(read)
    if was_cut:
        raise ParseError(GAVE_UP, f"{max_seconds:.1f} seconds")
    return tree


def _flattened(source: bytes, tree: tree_sitter.Tree) -> ConcreteTree:
    """Copy a tree into arrays in one walk: a Python object per node would cost far more."""
    is_kept, has_parts, names = _IS_KEPT, _HAS_PARTS, _KINDS
    flat = ConcreteTree(source, [], [], [], [], [], [])
    kinds, starts, ends, fields, after = flat.kinds, flat.starts, flat.ends, flat.fields, flat.after
    errors: list[int] = []
    open_nodes: list[int] = []
    cursor = tree.walk()
    to_first_child, to_next_sibling, to_parent = cursor.goto_first_child, cursor.goto_next_sibling, cursor.goto_parent
    has_error = tree.root_node.has_error
    while True:
        node = cursor.node
        assert node is not None
        kind = node.kind_id
        is_error = has_error and (kind == _ERROR_ID or node.is_missing)
        if is_error or is_kept[kind]:
            if is_error:
                errors.append(len(kinds))
            kinds.append(ERROR if is_error and kind == _ERROR_ID else names[kind])
            starts.append(node.start_byte)
            ends.append(node.end_byte)
            fields.append(cursor.field_id or 0)
            after.append(0)
            if (has_error or has_parts[kind]) and to_first_child():
                open_nodes.append(len(kinds) - 1)
                continue
            after[-1] = len(kinds)
        while not to_next_sibling():
            if not to_parent():
                flat.errors.extend(error for error in errors if not _is_automatic_semicolon(flat, error))
                return flat
            after[open_nodes.pop()] = len(kinds)


def _is_automatic_semicolon(tree: ConcreteTree, node: int) -> bool:
    """Whether tree-sitter inserted a semicolon where the end of a line counts as one.

    It does so in a class, between a field without a value and a computed name.
    """
    return tree.kinds[node] == ";" and _LINE_END.match(tree.source, tree.starts[node]) is not None
