"""The language server: completions, diagnostics and code actions for editors. Needs the extra `lsp`.

Models compute in two threads, one for completions and one for checks, so the event loop never waits for them. Work on a
document that has changed since is cancelled; work that already runs ends, and its result is dropped.
"""

import asyncio
import logging
import re
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from rarename._version import __version__
from rarename.assist import CODE, Checker, Completer, Diagnostic
from rarename.discovery import CHECKED, MAX_FILE_BYTES
from rarename.errors import ParseError, RarenameError, UsageError
from rarename.syntax import Language
from rarename.syntax.cursor import at_cursor

DEBOUNCE_SECONDS = 0.3  # a document is checked when it has not changed for this long
MAX_ITEMS = 20  # names in a completion list
_LANGUAGE_IDS = {"javascriptreact": "javascript"}
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}  # codec, bytes of a unit

logger = logging.getLogger(__name__)


class Positions:
    """Converts positions: ours count lines as the parser does and columns in characters, the client's in its units."""

    def __init__(self, text: str, language: Language, encoding: str) -> None:
        self._text, (self._codec, self._unit) = text, _UNITS[encoding]
        self._client_starts = [0, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]
        own_breaks = re.finditer(language.line_break.decode(), text)
        self._own_starts = [int(text.startswith("\ufeff")), *(found.end() for found in own_breaks)]

    def to_client(self, line: int, column: int) -> types.Position:
        """The client's position of a line and a column that count from 1."""
        offset = self._own_starts[line - 1] + column - 1
        row = bisect_right(self._client_starts, offset) - 1
        before = self._text[self._client_starts[row] : offset].encode(self._codec, "surrogatepass")
        return types.Position(row, len(before) // self._unit)

    def from_client(self, position: types.Position) -> tuple[int, int]:
        """Line and column, from 1. A position after the end of a line or of the text is the end."""
        row = min(position.line, len(self._client_starts) - 1)
        start, stop = self._client_starts[row], [*self._client_starts, len(self._text)][row + 1]
        content = self._text[start:stop].rstrip("\r\n").encode(self._codec, "surrogatepass")
        offset = start + len(content[: position.character * self._unit].decode(self._codec, "replace"))
        line = max(1, bisect_right(self._own_starts, offset))
        return line, max(0, offset - self._own_starts[line - 1]) + 1


class Assistant:
    """The handlers of the server and what they keep between requests."""

    def __init__(self, server: LanguageServer, debounce_seconds: float = DEBOUNCE_SECONDS) -> None:
        self._server, self._checker, self._debounce_seconds = server, Checker.load(), debounce_seconds
        self._completers: dict[str, Completer] = {}  # by language; each keeps its KV cache
        self._completion_thread, self._check_thread = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self._completions: dict[str, asyncio.Future[types.CompletionList]] = {}  # by URI
        self._checks: dict[str, asyncio.Task[None]] = {}
        self._found: dict[str, tuple[int | None, list[tuple[types.Diagnostic, str | None]]]] = {}  # version, with fixes

    def initialize(self, params: types.InitializeParams) -> None:
        """Read the options of the workspace."""
        options = params.initialization_options or {}
        try:
            if not isinstance(options, dict) or options.keys() - {"min-confidence"}:
                raise UsageError(f"the initialization options are {options!r}; expected only min-confidence")
            threshold = options.get("min-confidence")
            if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
                raise UsageError(f"min-confidence is {threshold!r}; expected a number from 0 to 1")
            self._checker = Checker.load(threshold=threshold)
        except UsageError as error:
            self._show(f"{error}; the defaults are used")

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._check_later(params.text_document.uri, 0)

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._cancel(params.text_document.uri)
        self._check_later(params.text_document.uri, self._debounce_seconds)

    def closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._cancel(uri)
        self._found.pop(uri, None)
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    async def complete(self, params: types.CompletionParams) -> types.CompletionList:
        """Names at the cursor. A newer request or a change of the document cancels it."""
        uri = params.text_document.uri
        document = self._server.workspace.get_text_document(uri)
        language = _language(document)
        if language is None:
            return types.CompletionList(is_incomplete=False, items=[])
        if uri in self._completions:
            self._completions[uri].cancel()
        arguments = (document.source, language, params.position)
        future = asyncio.get_running_loop().run_in_executor(self._completion_thread, self._complete, *arguments)
        self._completions[uri] = future
        try:
            return await future
        finally:
            if self._completions.get(uri) is future:
                del self._completions[uri]

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """One action for each finding at the range, if the document has not changed since the check."""
        uri, wanted = params.text_document.uri, params.range
        version, found = self._found.get(uri, (None, []))
        if version != self._server.workspace.get_text_document(uri).version:
            return []
        actions = []
        for diagnostic, fix in found:
            if fix is not None and diagnostic.range.start <= wanted.end and wanted.start <= diagnostic.range.end:
                edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(diagnostic.range, fix)]})
                kind = types.CodeActionKind.QuickFix
                actions.append(types.CodeAction(f"Replace with {fix!r}", kind, [diagnostic], edit=edit))
        return actions

    def _cancel(self, uri: str) -> None:
        for pending in (self._completions.pop(uri, None), self._checks.pop(uri, None)):
            if pending is not None:
                pending.cancel()

    def _check_later(self, uri: str, seconds: float) -> None:
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check_and_publish(uri, seconds))

    async def _check_and_publish(self, uri: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        document = self._server.workspace.get_text_document(uri)
        language, text, version = _language(document), document.source, document.version
        if language is None:
            return
        try:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._check_thread, self._check, text, language, document.path)
            positions = self._positions(text, language)
            self._found[uri] = version, [(_diagnostic(each, positions), each.fix) for each in found]
        except Exception as error:
            logger.exception("the check of %s failed", uri)
            self._show(f"the check of {uri} failed: {error}")
            return
        diagnostics = [diagnostic for diagnostic, _ in self._found[uri][1]]
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _check(self, text: str, language: Language, path: str) -> list[Diagnostic]:
        """The findings in a text; none while it cannot be parsed."""
        try:
            return self._checker.check(text, language, path) if len(text) <= MAX_FILE_BYTES else []
        except ParseError:
            return []

    def _complete(self, text: str, language: Language, position: types.Position) -> types.CompletionList:
        positions = self._positions(text, language)
        line, column = positions.from_client(position)
        try:
            cursor = at_cursor(text, language, line, column)
        except RarenameError:  # no name can be here: a string, a comment, or directly after an operand
            return types.CompletionList(is_incomplete=False, items=[])
        if language.name not in self._completers:
            self._completers[language.name] = Completer.load(language.name)
        found = self._completers[language.name].complete_at(cursor, MAX_ITEMS)
        end = positions.to_client(line, column)
        word = types.Range(positions.to_client(line, column - len(cursor.word)), end)
        items = []
        for rank, each in enumerate(found):
            name, kind = each.name + "=" * each.is_argument, types.CompletionItemKind.Variable
            # The order is that of the model, not of the alphabet.
            order, percent = f"{rank:03}", f"{100 * each.probability:.0f} %"
            edit = types.TextEdit(word, name)
            items.append(types.CompletionItem(name, kind=kind, detail=percent, sort_text=order, text_edit=edit))
        return types.CompletionList(is_incomplete=len(items) == MAX_ITEMS, items=items)

    def _positions(self, text: str, language: Language) -> Positions:
        return Positions(text, language, types.PositionEncodingKind(self._server.workspace.position_encoding).value)

    def _show(self, message: str) -> None:
        shown = types.ShowMessageParams(types.MessageType.Error, f"rarename: {message}")
        self._server.window_show_message(shown)


def make_server() -> LanguageServer:
    """A server with all features."""
    # Full texts: pygls applies partial changes with lines that also end at form feeds, which the protocol's do not.
    server = LanguageServer("rarename", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    assistant = Assistant(server)
    features: dict[str, tuple[Any, Any]] = {
        types.INITIALIZE: (assistant.initialize, None),
        types.TEXT_DOCUMENT_DID_OPEN: (assistant.opened, None),
        types.TEXT_DOCUMENT_DID_CHANGE: (assistant.changed, None),
        types.TEXT_DOCUMENT_DID_CLOSE: (assistant.closed, None),
        types.TEXT_DOCUMENT_COMPLETION: (assistant.complete, types.CompletionOptions(trigger_characters=[".", "#"])),
        types.TEXT_DOCUMENT_CODE_ACTION: (
            assistant.actions,
            types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
        ),
    }
    for name, (handler, options) in features.items():
        server.feature(name, options)(_as_function(handler))
    return server


def _as_function(method: Any) -> Any:
    """A function that pygls can mark: it sets attributes on handlers, and methods have none."""
    if asyncio.iscoroutinefunction(method):

        async def handle_async(params: Any) -> Any:
            return await method(params)

        return handle_async
    return lambda params: method(params)


def _language(document: TextDocument) -> Language | None:
    """The language that the client names, or that of the file's ending."""
    name = _LANGUAGE_IDS.get(document.language_id or "", document.language_id)
    by_ending = (each for each in CHECKED if (document.path or "").lower().endswith(each.suffixes))
    return next((each for each in CHECKED if each.name == name), None) or next(by_ending, None)


def _diagnostic(found: Diagnostic, positions: Positions) -> types.Diagnostic:
    start = positions.to_client(found.line, found.column)
    where = types.Range(start, positions.to_client(found.end_line, found.end_column))
    message = f"{found.message} ({found.confidence:.2f})"
    return types.Diagnostic(where, message, types.DiagnosticSeverity.Warning, code=CODE, source="rarename")
