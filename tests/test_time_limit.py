"""A file that takes too long is skipped, whatever takes long: Python code, a regular expression, or a parser in C."""

import re
import signal
import time
from threading import Thread

import pytest

from rarename import time_limit
from rarename.assist.check import Checker
from rarename.corpus.document import Document, PrepareConfig
from rarename.corpus.shards import _parse as parse_document
from rarename.discovery import Files
from rarename.errors import ParseError
from rarename.syntax import PYTHON

SLOW_IN_C = "import a" + "\\\n.a" * 120_000 + "\n"  # CPython joins the name anew for each part


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
    with pytest.raises(ParseError, match="gave up after too long"), time_limit.time_limit(SLOW_IN_C, PYTHON):
        raise AssertionError
    assert time.process_time() - started < 1


def test_other_threads_have_no_limit_by_signals():
    done = []

    def work():
        with time_limit.time_limit("", PYTHON):
            done.append(True)

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done


@pytest.mark.usefixtures("_short_limit")
def test_check_and_prepare_skip_a_file_that_takes_too_long(tmp_path):
    (tmp_path / "slow.py").write_text(SLOW_IN_C)
    (tmp_path / "fine.py").write_text("def area(width, height):\n    return width * height\n")
    result = Checker.load().check_files(Files([str(tmp_path)]))
    assert [(each.path, each.reason) for each in result.skipped] == [(f"{tmp_path}/slow.py", "gave up after too long")]
    assert result.num_functions == 1
    document = Document("slow.py", "project", SLOW_IN_C.encode())
    assert parse_document(document, PYTHON, PrepareConfig("python")).reason == "gave up after too long"
