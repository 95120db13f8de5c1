"""`python -m rarename.sweep.child train …` is `rarename train …`, but ends with the process that began it.

That process holds the other end of our standard input. Once it is gone, however it ended, the input is at its end,
and we are interrupted as by Ctrl-C: training saves its state.
"""

import os
import runpy
import signal
import threading
import time

SECONDS_TO_SAVE = 60.0


def _end_with_parent() -> None:
    # Not sys.stdin: its lock would be held when the interpreter shuts down.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(SECONDS_TO_SAVE)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    runpy.run_module("rarename", run_name="__main__", alter_sys=True)
