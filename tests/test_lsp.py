"""The language server: positions, and sessions of pygls' own client and of Neovim with a real server process."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from rarename.lsp import Positions
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


class Client(LanguageClient):
    def __init__(self):
        super().__init__("test", "1")
        self.published = asyncio.Queue()
        self.shown = []
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda params: self.published.put_nowait(params))
        self.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.shown.append(params.message))

    async def start(self, **options):
        await self.start_io(sys.executable, "-m", "rarename", "lsp", "--stdio")
        general = types.GeneralClientCapabilities(position_encodings=["utf-16"])
        capabilities = types.ClientCapabilities(general=general)
        await self.initialize_async(types.InitializeParams(capabilities, initialization_options=options))
        self.initialized(types.InitializedParams())

    def open(self, text):
        item = types.TextDocumentItem(URI, "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, text, version):
        document = types.VersionedTextDocumentIdentifier(version, URI)
        whole = types.TextDocumentContentChangeWholeDocument(text)
        self.text_document_did_change(types.DidChangeTextDocumentParams(document, [whole]))

    async def complete(self, line, character):
        document, position = types.TextDocumentIdentifier(URI), types.Position(line, character)
        return await self.text_document_completion_async(types.CompletionParams(document, position))

    async def actions(self, where):
        context = types.CodeActionContext([])
        document = types.TextDocumentIdentifier(URI)
        return await self.text_document_code_action_async(types.CodeActionParams(document, where, context))

    async def end(self):
        await self.shutdown_async(None)
        self.exit(None)
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
def test_wrong_options_are_shown_and_the_server_lives():
    async def session():
        client = Client()
        await client.start(**{"min-confidence": 2})
        client.open("def f(a):\n    return a\n")
        assert not (await client.published.get()).diagnostics
        assert "from 0 to 1" in client.shown[0]
        await client.end()

    asyncio.run(asyncio.wait_for(session(), 120))


NVIM = shutil.which("nvim")


@pytest.mark.slow
@pytest.mark.skipif(NVIM is None, reason="needs Neovim")
def test_a_session_in_neovim(tmp_path):
    file, result = tmp_path / "area.py", tmp_path / "result.json"
    file.write_text("def area(width, height):\n    return width * width\n")
    script = Path(__file__).with_name("neovim.lua")
    command = [NVIM, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-S", script, file]
    own = {"RARENAME_PYTHON": sys.executable, "RARENAME_RESULT": str(result)}
    own |= {f"XDG_{each}_HOME": str(tmp_path) for each in ("CONFIG", "DATA", "STATE", "CACHE")}
    ended = subprocess.run(
        command, env=os.environ | own, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    assert result.exists(), ended.stderr
    seen = json.loads(result.read_text())
    (found,) = seen["diagnostics"]
    assert (found["code"], found["lnum"], found["col"]) == ("RN001", 1, 19)
    assert seen["lines"] == ["def area(width, height):", "    return width * height"]
    assert seen["completed"][0] == "width"
