"""The language server: completions, diagnostics and code actions for editors. Needs the extra `lsp`.

Models compute in two threads, one for completions and one for checks, so the event loop never waits for them. Work on a
document that has changed since is cancelled: a check stops after its batch of functions, and its result is dropped.
"""

import asyncio
import logging
import re
import threading
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from rarename._version import __version__
from rarename.assist import CODE, Checker, Completer, Diagnostic
from rarename.assist.baseline import KnownFindings, read_baseline
from rarename.assist.selection import Selection
from rarename.assist.settings import CONFIG_FILES, Configuration, field_values
from rarename.discovery import CHECKED, MAX_FILE_BYTES
from rarename.errors import ParseError, RarenameError, UsageError
from rarename.syntax import Language
from rarename.syntax.cursor import at_cursor
from rarename.time_limit import time_limit

DEBOUNCE_SECONDS = 0.3  # a document is checked when it has not changed for this long
MAX_ITEMS = 20  # names in a completion list
_LANGUAGE_IDS = {"javascriptreact": "javascript"}
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}  # codec, bytes of a unit

_Found = list[tuple[types.Diagnostic, str | None]]  # findings and their repairs

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
        self._found: dict[str, tuple[int | None, _Found]] = {}  # with the version that was checked
        self._options: dict[str, Any] = {}  # win over the files with settings
        self._shown: dict[str, str] = {}  # the last error of each document

    def initialize(self, params: types.InitializeParams) -> None:
        """Read the options: settings of the workspace."""
        options = params.initialization_options or {}
        try:
            if not isinstance(options, dict):
                raise UsageError(f"the initialization options are {options!r}; expected settings")
            self._options = field_values(options, "initialization options", self._root())
        except UsageError as error:
            self._show("", error)

    def initialized(self, _: types.InitializedParams) -> None:
        """Ask the client to report changes of files with settings."""
        workspace = self._server.client_capabilities.workspace
        files = workspace and workspace.did_change_watched_files
        if files and files.dynamic_registration:
            watchers = [types.FileSystemWatcher(f"**/{name}") for name in CONFIG_FILES]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            wanted = types.Registration("settings", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self._server.client_register_capability(types.RegistrationParams([wanted]))

    def settings_changed(self, _: types.DidChangeWatchedFilesParams) -> None:
        for uri in list(self._server.workspace.text_documents):
            self._check_later(uri, 0)

    def opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._check_later(params.text_document.uri, 0)
        if language := _language(self._server.workspace.get_text_document(params.text_document.uri)):
            self._completion_thread.submit(self._completer, language)  # the first completion need not load it

    def changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._cancel(params.text_document.uri)
        self._check_later(params.text_document.uri, self._debounce_seconds)

    def saved(self, params: types.DidSaveTextDocumentParams) -> None:
        self._check_later(params.text_document.uri, 0)

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
        except asyncio.CancelledError:
            if self._completions.get(uri) is future:  # the client has cancelled
                raise
            return types.CompletionList(is_incomplete=True, items=[])  # an error would be shown by some editors
        finally:
            if self._completions.get(uri) is future:
                del self._completions[uri]

    def actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """One action for each finding at the range, if the document has not changed since the check."""
        uri, wanted, kind = params.text_document.uri, params.range, types.CodeActionKind.QuickFix
        version, found = self._found.get(uri, (None, []))
        is_wanted = params.context.only is None or any(kind.startswith(each) for each in params.context.only)
        if not is_wanted or version != self._server.workspace.get_text_document(uri).version:
            return []
        actions = []
        for diagnostic, fix in found:
            if fix is not None and diagnostic.range.start <= wanted.end and wanted.start <= diagnostic.range.end:
                edit = types.WorkspaceEdit(changes={uri: [types.TextEdit(diagnostic.range, fix)]})
                actions.append(types.CodeAction(f"Replace with {fix!r}", kind, [diagnostic], edit=edit))
        return actions

    def _cancel(self, uri: str) -> None:
        for pending in (self._completions.pop(uri, None), self._checks.pop(uri, None)):
            if pending is not None:
                pending.cancel()

    def _check_later(self, uri: str, seconds: float) -> None:
        if uri in self._checks:
            self._checks[uri].cancel()
        self._checks[uri] = asyncio.get_running_loop().create_task(self._check_and_publish(uri, seconds))

    async def _check_and_publish(self, uri: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        document = self._server.workspace.get_text_document(uri)
        language, text, version = _language(document), document.source, document.version
        if language is None:
            return
        run, stopped = asyncio.get_running_loop().run_in_executor, threading.Event()
        try:
            arguments = text, language, self._path(document), stopped
            self._found[uri] = version, await run(self._check_thread, self._check, *arguments)
        except Exception as error:
            logger.exception("the check of %s failed", uri)
            self._show(uri, error)
            return
        finally:
            stopped.set()  # a check that is cancelled ends after the batch of functions that it computes
        self._shown.pop(uri, None)
        diagnostics = [diagnostic for diagnostic, _ in self._found[uri][1]]
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _check(self, text: str, language: Language, path: Path, stopped: threading.Event) -> _Found:
        """The findings in a text; none while it cannot be parsed, or if the settings leave its file out."""
        selection = Selection(configuration := Configuration(self._options | {"force_exclude": True}))
        if len(text) > MAX_FILE_BYTES or selection.leaves_out_named(path):
            return []
        try:
            found = self._checker.check(text, language, str(path), selection.min_confidence(path), stopped.is_set)
        except ParseError:
            return []
        if baseline := configuration.settings_for(path.parent).baseline:
            found = KnownFindings(read_baseline(baseline)).new(found)
        positions = self._positions(text, language)
        return [(_diagnostic(each, positions), each.fix) for each in found]

    def _path(self, document: TextDocument) -> Path:
        """The file of a document. One that is not saved yet has the settings of its workspace."""
        is_file = document.uri.startswith("file:") and document.path
        return Path(document.path).resolve() if is_file else self._root() / "untitled"

    def _root(self) -> Path:
        return Path(self._server.workspace.root_path or ".").resolve()

    def _complete(self, text: str, language: Language, position: types.Position) -> types.CompletionList:
        positions = self._positions(text, language)
        line, column = positions.from_client(position)
        try:
            if len(text) > MAX_FILE_BYTES:
                raise ParseError("over the size limit")
            with time_limit(text):
                cursor = at_cursor(text, language, line, column)
        except RarenameError:  # no name can be here: a string, a comment, or directly after an operand
            return types.CompletionList(is_incomplete=False, items=[])
        found = self._completer(language).complete_at(cursor, MAX_ITEMS)
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

    def _completer(self, language: Language) -> Completer:
        if language.name not in self._completers:
            self._completers[language.name] = Completer.load(language.name)
        return self._completers[language.name]

    def _positions(self, text: str, language: Language) -> Positions:
        return Positions(text, language, types.PositionEncodingKind(self._server.workspace.position_encoding).value)

    def _show(self, uri: str, error: Exception) -> None:
        """Show an error, but the same one only once for a document."""
        message = f"rarename: {error if isinstance(error, RarenameError) else f'the check of {uri} failed: {error!r}'}"
        if self._shown.get(uri) != message:
            self._shown[uri] = message
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, message))


def make_server() -> LanguageServer:
    """A server with all features."""
    # Full texts: pygls applies partial changes with lines that also end at form feeds, which the protocol's do not.
    server = LanguageServer("rarename", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
    assistant = Assistant(server)
    features: dict[str, tuple[Any, Any]] = {
        types.INITIALIZE: (assistant.initialize, None),
        types.INITIALIZED: (assistant.initialized, None),
        types.TEXT_DOCUMENT_DID_OPEN: (assistant.opened, None),
        types.TEXT_DOCUMENT_DID_CHANGE: (assistant.changed, None),
        types.TEXT_DOCUMENT_DID_SAVE: (assistant.saved, None),
        types.TEXT_DOCUMENT_DID_CLOSE: (assistant.closed, None),
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES: (assistant.settings_changed, None),
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
