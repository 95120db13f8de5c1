"""The command line: finds the command, words the errors, owns the exit code.

0: fine; 1: there are findings; 2: the work could not be done. Results go to stdout, all else to stderr.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from rarename._version import __version__
from rarename.errors import RarenameError

COMMANDS = {
    "parse": "show the syntax tree of a file, or write it as a published record",
    "anonymize": "replace the rare names of a file by placeholders",
    "prepare": "make a corpus from folders, archives, packages or published records",
    "inspect": "show what is in a corpus, and how much a vocabulary covers",
    "train": "train a model on a corpus",
    "evaluate": "measure a trained model on a split that it has not seen",
    "sweep": "train and measure all cells of an experiment file",
    "report": "make tables and figures from the results of many runs",
    "check": "find places where the wrong variable may stand",
    "complete": "suggest names for a cursor in unfinished code",
}
"""Each is a module of this package with `add_arguments(parser)`, `run(arguments)` and `EXAMPLE`.
Only the module of the command that is called is imported: `--help` answers at once."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    try:
        return _main(arguments)
    except KeyboardInterrupt:
        print("rarename: interrupted", file=sys.stderr)
        return 130


def _main(arguments: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = argparse.ArgumentParser(
        prog="rarename",
        description="Placeholders for rare identifiers in neural models of source code.",
        epilog="Each command has its own help with an example: rarename anonymize --help",
    )
    parser.add_argument("--version", action="version", version=f"rarename {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if words and words[0] == name:
            module = import_module(f"rarename.cli.{name}")
            command = commands.add_parser(
                name,
                help=summary,
                description=f"{summary[0].upper()}{summary[1:]}.",
                epilog=f"example:\n{module.EXAMPLE}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            module.add_arguments(command)
            command.set_defaults(call=module.run)
        else:
            commands.add_parser(name, help=summary)
    parsed = parser.parse_args(words)
    try:
        code = int(parsed.call(parsed))
        sys.stdout.flush()
    except RarenameError as error:
        print(f"rarename {parsed.command}: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "safetensors"):
            raise
        needed = error.name
        print(f"rarename {parsed.command}: needs {needed}; install it with pip install {needed}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        from rarename.cli.reading import forget_reader

        forget_reader()  # Python would complain once more at exit
        return 0
    except OSError as error:
        # A full disk, a folder without permission: the system's own words say it best.
        print(f"rarename {parsed.command}: {error}", file=sys.stderr)
        return 2
    return code
