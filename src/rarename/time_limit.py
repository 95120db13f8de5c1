"""A limit of the processor time that reading one file may take, whatever it is that takes long."""

import math
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from types import FrameType

from rarename.errors import GAVE_UP, ParseError
from rarename.syntax import Language, language_named
from rarename.syntax.language import deadline

SECONDS, SECONDS_PER_MB = 10, 20  # ordinary code takes one second per megabyte
_LARGE_CHARS = 300_000  # a shorter text keeps a parser in C, which nothing interrupts, for a few seconds at most


@contextmanager
def time_limit(text: str, language: Language | None = None) -> Iterator[None]:
    """Raise ParseError in the block when it takes too long for a text of this length.

    A signal interrupts Python code and regular expressions, but not a parser in C. So a long text, if its language is
    given, is first parsed in another process, which can be killed. Python allows signals in the main thread only;
    elsewhere, a parser that would start after the limit raises the error.
    """
    seconds = SECONDS + SECONDS_PER_MB * len(text) / 1e6
    problem = ParseError(GAVE_UP, f"{seconds:.0f} seconds")

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise problem

    if language is not None and len(text) > _LARGE_CHARS:
        import subprocess  # loads much that is seldom needed

        command = [sys.executable, "-P", "-m", __name__, language.name, str(math.ceil(seconds))]
        code = subprocess.run(command, input=text.encode("utf-8", "surrogatepass"), check=False).returncode
        if code < 0:
            raise problem if code == -signal.SIGXCPU else ParseError("the parser crashed")
    previous_deadline = deadline.set(time.thread_time() + seconds)
    is_main = current_thread() is main_thread()
    if is_main:
        previous = signal.signal(signal.SIGPROF, stop)
        signal.setitimer(signal.ITIMER_PROF, seconds, 1)  # again each second, should a library drop the exception
    try:
        yield
    finally:
        if is_main:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, previous)
        deadline.reset(previous_deadline)


def _parse_stdin(language: str, seconds: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass")
    with suppress(ParseError):  # the caller finds it too
        language_named(language).parse(text, False)


if __name__ == "__main__":
    _parse_stdin(*sys.argv[1:])
