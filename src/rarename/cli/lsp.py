"""`rarename lsp`: the language server."""

import argparse

EXAMPLE = """  rarename lsp
An editor starts it and speaks the language server protocol over standard input and output."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--stdio", action="store_true", help="the default, and the only transport; some editors pass it"
    )


def run(arguments: argparse.Namespace) -> int:
    from rarename.lsp import make_server

    make_server().start_io()
    return 0
