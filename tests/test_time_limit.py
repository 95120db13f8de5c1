"""A file that takes too long is skipped, whatever takes long: Python code, a regular expression, or a parser in C."""

import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest
from lsprotocol import types

from rarename import time_limit
from rarename.assist.check import Checker
from rarename.assist.complete import Completer, Suggestion
from rarename.cli.main import main
from rarename.corpus.document import Document, PrepareConfig
from rarename.corpus.shards import _parse as parse_document
from rarename.discovery import Files
from rarename.errors import ParseError
from rarename.lsp import Assistant
from rarename.syntax import JAVASCRIPT, LANGUAGES, PYTHON
from rarename.syntax.language import check_deadline

LARGE = "x=1\n" * 1_000_000


@pytest.fixture
def _short_limit(monkeypatch):
    monkeypatch.setattr(time_limit, "SECONDS", 0.3)
    monkeypatch.setattr(time_limit, "SECONDS_PER_MB", 0)


def loop_for_ever():
    while True:
        pass


@pytest.mark.usefixtures("_short_limit")
@pytest.mark.parametrize("work", [loop_for_ever, lambda: re.match("(?:a|a)*b", "a" * 60)])
def test_python_code_and_regular_expressions_are_interrupted(work):
    previous = signal.getsignal(signal.SIGPROF)
    with pytest.raises(ParseError, match=r"gave up after too long: 0 seconds"), time_limit.time_limit("", PYTHON):
        work()
    assert signal.getsignal(signal.SIGPROF) is previous
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


@pytest.mark.usefixtures("_short_limit")
def test_a_parser_in_c_runs_first_where_it_can_be_killed():
    started = time.process_time()
    with pytest.raises(ParseError, match="gave up after too long"), time_limit.time_limit(LARGE, PYTHON):
        raise AssertionError
    assert time.process_time() - started < 1


@pytest.mark.parametrize("language", [PYTHON, JAVASCRIPT])
def test_in_other_threads_no_parser_starts_after_the_limit(monkeypatch, language):
    monkeypatch.setattr(time_limit, "SECONDS", -1)
    language.parse("x = 1", False)

    def work():
        with pytest.raises(ParseError, match="gave up after too long"), time_limit.time_limit("", language):
            language.parse("x = 1", False)
        return language.parse("x = 1", False)

    with ThreadPoolExecutor(1) as threads:
        assert len(threads.submit(work).result()) > 1


@pytest.mark.usefixtures("_short_limit")
def test_check_and_prepare_skip_a_file_that_takes_too_long(tmp_path):
    slow = LARGE[:999_000]
    (tmp_path / "slow.py").write_text(slow)
    (tmp_path / "fine.py").write_text("def area(width, height):\n    return width * height\n")
    result = Checker.load().check_files(Files([str(tmp_path)]))
    assert [(each.path, each.reason) for each in result.skipped] == [(f"{tmp_path}/slow.py", "gave up after too long")]
    assert result.num_functions == 1
    document = Document("slow.py", "project", slow.encode())
    assert parse_document(document, PYTHON, PrepareConfig("python")).reason == "gave up after too long"


@pytest.mark.usefixtures("_short_limit")
@pytest.mark.parametrize("words", [["parse"], ["anonymize"], ["complete", "--line=1", "--column=1"]])
def test_commands_for_one_file_give_up(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(
        LANGUAGES, "python", replace(PYTHON, parse=lambda text, tolerant: check_deadline() or loop_for_ever())
    )
    (tmp_path / "slow.py").write_text("x = 1\n")
    assert main([*words, f"{tmp_path}/slow.py", "--language=python"]) == 2
    assert "slow.py: gave up after too long" in capsys.readouterr().err


def test_the_language_server_gives_up(monkeypatch):
    editor = SimpleNamespace(workspace=SimpleNamespace(position_encoding="utf-16"))
    monkeypatch.setattr(Checker, "load", lambda: None)
    monkeypatch.setattr(
        Completer, "load", lambda _: SimpleNamespace(complete_at=lambda cursor, _: [Suggestion("x", 1, True)])
    )
    assistant = Assistant(editor)
    with ThreadPoolExecutor(1) as threads:
        for seconds, num_items in ((10, 1), (-1, 0)):
            monkeypatch.setattr(time_limit, "SECONDS", seconds)
            found = threads.submit(assistant._complete, f"{seconds}\n", PYTHON, types.Position(1, 0)).result()
            assert len(found.items) == num_items
