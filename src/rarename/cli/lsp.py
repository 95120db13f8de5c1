"""`rarename lsp`: the language server."""

import argparse
import os
import sys
from contextlib import redirect_stdout

EXAMPLE = """  rarename lsp
An editor starts it and speaks the language server protocol over standard input and output."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="the default, and the only transport; some editors pass it"
    )


def run(arguments: argparse.Namespace) -> int:
    from rarename.lsp import make_server

    # The server closes its output at the end, and nothing else may write to it.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    with redirect_stdout(sys.stderr):
        make_server().start_io(stdout=output)
    return 0
