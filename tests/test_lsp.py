"""The language server: positions, and sessions of pygls' own client and of Neovim with a real server process."""

import _pydecimal
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient
from pygls.workspace import Workspace

from rarename.assist import Checker, Completer
from rarename.lsp import Assistant, Positions
from rarename.syntax import JAVASCRIPT, PYTHON

TEXT = 's = "😋"; \x0c\ndef area(width, height):\n    return width * width\n'
URI = "file:///area.py"


@pytest.mark.parametrize(("encoding", "units"), [("utf-8", 9), ("utf-16", 7), ("utf-32", 6)])
def test_columns_are_in_the_units_of_the_client(encoding, units):
    positions = Positions('s = "😋"\nx', PYTHON, encoding)
    assert positions.to_client(1, 7) == types.Position(0, units)
    assert positions.from_client(types.Position(0, units)) == (1, 7)
    assert positions.from_client(types.Position(0, 99)) == (1, 8)
    assert positions.from_client(types.Position(99, 99)) == (2, 2)


def test_lines_of_the_client_are_not_those_of_the_parser():
    text = "a;\rb;\x0cc;\nd"
    assert Positions(text, PYTHON, "utf-16").to_client(2, 4) == types.Position(1, 3)
    assert Positions(text, JAVASCRIPT, "utf-16").to_client(1, 4) == types.Position(1, 0)
    assert Positions(text, JAVASCRIPT, "utf-16").from_client(types.Position(2, 1)) == (2, 2)


class Editor:
    """The handlers without a transport and with models that record their inputs, and wait if told to."""

    def __init__(self, monkeypatch, debounce_seconds):
        self.inputs, self.versions, self.published = [], 0, asyncio.Queue()
        self.started, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()
        self.should_stop = []  # of each check
        monkeypatch.setattr(Checker, "load", lambda: SimpleNamespace(check=self.check))
        completer = SimpleNamespace(complete_at=lambda cursor, _: self.compute(cursor.word))
        monkeypatch.setattr(Completer, "load", lambda _: completer)
        self.workspace = Workspace(None)
        publish = self.published.put_nowait
        server = SimpleNamespace(workspace=self.workspace, text_document_publish_diagnostics=publish)
        self.assistant = Assistant(server, debounce_seconds)

    def check(self, text, language, path, threshold, should_stop):
        self.should_stop.append(should_stop)
        return self.compute(text)

    def compute(self, given):
        self.inputs.append(given)
        self.started.set()
        assert self.may_end.wait(60)
        return []

    def write(self, text):
        """Open the document or change all of it."""
        self.versions += 1
        item = types.TextDocumentItem(URI, "python", self.versions, text)
        self.workspace.put_text_document(item)
        if self.versions == 1:
            self.assistant.opened(types.DidOpenTextDocumentParams(item))
        else:
            document = types.VersionedTextDocumentIdentifier(self.versions, URI)
            self.assistant.changed(types.DidChangeTextDocumentParams(document, []))

    def complete(self, character):
        params = types.CompletionParams(types.TextDocumentIdentifier(URI), types.Position(0, character))
        return asyncio.create_task(self.assistant.complete(params))

    async def start(self):
        """Wait until a model computes."""
        assert await asyncio.to_thread(self.started.wait, 60)


def test_a_burst_of_changes_is_checked_once(monkeypatch):
    async def session():
        editor = Editor(monkeypatch, debounce_seconds=0.2)
        for text in "abcdef":
            editor.write(text)
        assert (await editor.published.get()).version == 6
        assert editor.inputs == ["f"]

    asyncio.run(asyncio.wait_for(session(), 60))


def test_nothing_is_checked_before_the_delay_has_passed(monkeypatch):
    async def session():
        editor = Editor(monkeypatch, debounce_seconds=3600)
        editor.write("a")
        await editor.published.get()
        for text in "bcd":
            editor.write(text)
            await asyncio.sleep(0.02)
        assert editor.inputs == ["a"]

    asyncio.run(asyncio.wait_for(session(), 60))


def test_the_check_of_an_older_version_is_stopped_and_its_result_dropped(monkeypatch):
    async def session():
        editor = Editor(monkeypatch, debounce_seconds=0)
        editor.may_end.clear()
        editor.write("a")
        await editor.start()
        assert not editor.should_stop[0]()
        editor.write("b")
        await asyncio.sleep(0.01)
        assert editor.should_stop[0]()
        editor.may_end.set()
        assert (await editor.published.get()).version == 2
        assert editor.inputs == ["a", "b"]
        assert editor.published.empty()

    asyncio.run(asyncio.wait_for(session(), 60))


def test_a_completion_does_not_wait_for_a_check(monkeypatch):
    async def session():
        editor = Editor(monkeypatch, debounce_seconds=0)
        editor.may_end.clear()
        editor.write("abc")
        await editor.start()
        monkeypatch.setattr(editor, "compute", lambda word: [])
        assert not (await editor.complete(1)).items
        assert editor.published.empty()
        editor.may_end.set()
        await editor.published.get()

    asyncio.run(asyncio.wait_for(session(), 60))


def test_a_newer_request_and_a_change_cancel_completions(monkeypatch):
    async def session():
        editor = Editor(monkeypatch, debounce_seconds=3600)
        editor.write("abc")
        await editor.published.get()
        editor.started.clear()
        editor.may_end.clear()
        running = editor.complete(1)
        await editor.start()
        waiting = editor.complete(2)
        outdated = types.CompletionList(is_incomplete=True, items=[])
        assert await running == outdated
        editor.write("abcd")
        assert await waiting == outdated
        editor.may_end.set()
        await editor.complete(3)
        assert editor.inputs == ["abc", "a", "abc"]  # the second request never reached the model

    asyncio.run(asyncio.wait_for(session(), 60))


class Client(LanguageClient):
    def __init__(self):
        super().__init__("test", "1")
        self.published = asyncio.Queue()
        self.shown = []
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self.published.put_nowait(params))
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.shown.append(params.message))
        self.watched = []
        self.feature(types.CLIENT_REGISTER_CAPABILITY)(lambda params: self.watched.extend(params.registrations))

    async def start(self, *, encoding="utf-16", command=("-m", "rarename", "lsp", "--stdio"), root=None, **options):
        await self.start_io(sys.executable, *command)
        general = types.GeneralClientCapabilities(position_encodings=[encoding])
        files = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
        workspace = types.WorkspaceClientCapabilities(did_change_watched_files=files)
        capabilities = types.ClientCapabilities(general=general, workspace=workspace)
        params = types.InitializeParams(capabilities, initialization_options=options, root_uri=root)
        self.server_capabilities = (await self.initialize_async(params)).capabilities
        self.initialized(types.InitializedParams())

    def open(self, text, uri=URI, language="python"):
        item = types.TextDocumentItem(uri, language, 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, text, version):
        document = types.VersionedTextDocumentIdentifier(version, URI)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def complete(self, line, character):
        document, position = types.TextDocumentIdentifier(URI), types.Position(line, character)
        return await self.text_document_completion_async(types.CompletionParams(document, position))

    async def actions(self, where, only=None):
        context = types.CodeActionContext([], only=only)
        document = types.TextDocumentIdentifier(URI)
        return await self.text_document_code_action_async(types.CodeActionParams(document, where, context))

    async def end(self):
        await self.shutdown_async(None)
        self.exit(None)
        assert await self._server.wait() == 0
        await self.stop()


@pytest.mark.slow
def test_a_session():
    async def session():
        client = Client()
        await client.start(**{"min-confidence": 0})
        client.open(TEXT)
        published = await client.published.get()
        (found,) = published.diagnostics
        assert (published.version, found.code, found.range.start.line) == (1, "RN001", 2)
        (action,) = await client.actions(found.range)
        assert list(action.edit.changes[URI]) == [types.TextEdit(found.range, "height")]
        assert not await client.actions(found.range, [types.CodeActionKind.SourceFixAll])
        # Two changes within the debounce: only the last one is checked, and until then there is no action.
        client.change(TEXT + "(", 2)
        client.change(TEXT + "x = area(1, he", 3)
        assert not await client.actions(found.range)
        completed = await client.complete(2, 21)
        assert completed.items[0].text_edit.range == types.Range(types.Position(2, 19), types.Position(2, 21))
        assert "width" in [item.label for item in completed.items]
        assert not (await client.complete(0, 6)).items  # in a string
        published = await client.published.get()
        assert (published.version, list(published.diagnostics)) == (3, [])  # it does not parse
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(URI)))
        assert not (await client.published.get()).diagnostics
        await client.end()

    asyncio.run(asyncio.wait_for(session(), 120))


@pytest.mark.slow
def test_each_document_has_the_settings_of_its_nearest_file(tmp_path):
    (tmp_path / "sub/vendor").mkdir(parents=True)
    (tmp_path / "rarename.toml").write_text("min-confidence = 1.0\n")
    settings = tmp_path / "sub/pyproject.toml"
    settings.write_text("[tool.rarename]\n")
    (tmp_path / "sub/area.py").write_text(TEXT)
    files = [tmp_path / name for name in ("area.py", "sub/area.py", "sub/vendor/area.py")]

    async def session():
        client = Client()
        await client.start(root=tmp_path.as_uri(), **{"extend-exclude": ["vendor"]})

        async def counts(text=None):
            """The number of findings of each document, checked again because a file with settings has changed."""
            if text is not None:
                settings.write_text(f"[tool.rarename]\n{text}\n")
                client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
            published = {each.uri: each for each in [await client.published.get() for _ in files]}
            return [len(published[file.as_uri()].diagnostics) for file in files]

        for file in files:
            client.open(TEXT, file.as_uri())
        assert await counts() == [0, 1, 0]
        assert [each["globPattern"] for each in client.watched[0].register_options["watchers"]] == [
            "**/rarename.toml", "**/pyproject.toml",
        ]  # fmt: skip
        assert await counts("per-file-ignores = {'area.py' = ['RN001']}") == [0, 0, 0]
        assert await counts("extend-exclude = []") == [0, 1, 0]  # the client's options win
        arguments = ["--baseline", tmp_path / "old.json", "--write-baseline"]
        subprocess.run([sys.executable, "-m", "rarename", "check", tmp_path / "sub", *arguments], check=True)
        assert await counts("baseline = '../old.json'") == [0, 0, 0]
        await client.end()

    asyncio.run(asyncio.wait_for(session(), 120))


@pytest.mark.slow
def test_wrong_settings_are_shown_once_and_the_server_lives(tmp_path):
    settings, file = tmp_path / "rarename.toml", tmp_path / "area.py"
    settings.write_text("excude = []")

    async def session():
        client = Client()
        await client.start(**{"min-confidense": 0.5})
        client.open(TEXT, file.as_uri())
        for _ in range(3):
            document = types.TextDocumentIdentifier(file.as_uri())
            client.text_document_did_save(types.DidSaveTextDocumentParams(document))
            await client.text_document_completion_async(types.CompletionParams(document, types.Position(2, 19)))
        while len(client.shown) < 2:
            await asyncio.sleep(0.01)
        settings.write_text("")
        client.text_document_did_save(types.DidSaveTextDocumentParams(document))
        assert (await client.published.get()).diagnostics
        options, unknown = client.shown
        assert "initialization options: unknown setting 'min-confidense'; did you mean 'min-confidence'?" in options
        assert f"{settings}: unknown setting 'excude'; did you mean 'exclude'?" in unknown
        await client.end()

    asyncio.run(asyncio.wait_for(session(), 120))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encoding", "units", "language", "text"),
    [
        ("utf-8", 4, "python", 'def area(width, height): s = "😋"; return width * width\n'),
        ("utf-16", 2, "javascript", 'function area(width, height) { let s = "😋"; return width * width; }\n'),
        ("utf-32", 1, "javascriptreact", 'function area(width, height) { let s = "😋"; return width * width; }\n'),
    ],
    ids=["utf-8 python", "utf-16 javascript", "utf-32 javascriptreact"],
)
def test_encodings_and_languages(encoding, units, language, text):
    column = text.rindex("width") - 1 + units  # the emoji is one character

    async def session():
        client = Client()
        await client.start(encoding=encoding, **{"min-confidence": 0})
        assert client.server_capabilities.position_encoding == encoding
        client.open(text, "untitled:1", language)
        (found,) = (await client.published.get()).diagnostics
        assert found.range == types.Range(types.Position(0, column), types.Position(0, column + len("width")))
        await client.end()

    asyncio.run(asyncio.wait_for(session(), 120))


# A server whose first completion fails, whose second waits for a file, and whose others are those of the model.
FAILING = """
import sys, time
from pathlib import Path
from rarename import lsp

complete_at, calls = lsp.Completer.complete_at, []

def fail(*arguments):
    calls.append(arguments)
    if len(calls) == 1:
        raise MemoryError("too little")
    while len(calls) == 2 and not Path(sys.argv[1]).exists():
        time.sleep(0.01)
    return complete_at(*arguments)

lsp.Completer.complete_at = fail
lsp.make_server().start_io()
"""


@pytest.mark.slow
def test_the_server_lives_after_a_crash_and_a_cancelled_request(tmp_path):
    async def session():
        client, release = Client(), tmp_path / "release"
        await client.start(command=("-c", FAILING, str(release)))
        client.open(TEXT)
        with pytest.raises(JsonRpcException, match="too little"):
            await client.complete(2, 21)
        position = types.Position(2, 21)
        params = types.CompletionParams(types.TextDocumentIdentifier(URI), position)
        pending = client.protocol.send_request("textDocument/completion", params, msg_id="waits")
        client.cancel_request(types.CancelParams("waits"))
        with pytest.raises(JsonRpcException, match="cancel"):
            await asyncio.wrap_future(pending)
        release.touch()
        assert "width" in [item.label for item in (await client.complete(2, 21)).items]
        await client.end()
        assert b"MemoryError: too little" in await client._server.stderr.read()  # the log

    asyncio.run(asyncio.wait_for(session(), 120))


NVIM = shutil.which("nvim")


@pytest.mark.slow
@pytest.mark.skipif(NVIM is None, reason="needs Neovim")
def test_a_session_in_neovim_with_more_than_5000_lines(tmp_path):
    file, result = tmp_path / "area.py", tmp_path / "result.json"
    library = Path(_pydecimal.__file__).read_text()
    file.write_text(f"{library}\n\ndef area(width, height):\n    return width * width\n")
    num_lines = library.count("\n") + 4
    assert num_lines > 5000
    docs = Path(__file__).parents[1] / "docs/editors.md"
    [configuration] = re.findall(r"```lua\n(local client.*?)```", docs.read_text(), re.DOTALL)
    (tmp_path / "init.lua").write_text(configuration)
    script = Path(__file__).with_name("neovim.lua")
    command = [NVIM, "--headless", "-u", tmp_path / "init.lua", "-i", "NONE", "-n", "-S", script, file]
    own = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "RARENAME_RESULT": str(result)}
    own |= {f"XDG_{each}_HOME": str(tmp_path) for each in ("CONFIG", "DATA", "STATE", "CACHE")}
    ended = subprocess.run(
        command, env=os.environ | own, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    assert result.exists(), ended.stderr
    seen = json.loads(result.read_text())
    (found,) = seen["diagnostics"]
    assert (found["code"], found["lnum"], found["col"]) == ("RN001", num_lines - 1, 19)
    assert seen["lines"] == [*file.read_text().splitlines()[:-1], "    return width * height"]
    assert seen["completed"][0] == "width"
