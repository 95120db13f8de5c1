"""The entry point: selects the command, prints errors, returns the exit code.

Exit codes: 0 success, 1 diagnostics were found, 2 failure, 130 interrupted. Results go to stdout, all else to stderr.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from shlex import quote

from rarename._version import __version__
from rarename.cli.common import discard_unwritten, open_streams
from rarename.errors import RarenameError
from rarename.printable import escaped

COMMANDS = {
    "parse": "show the syntax tree of a file, or write it in the format of PY150 or JS150",
    "anonymize": "replace the rare names of a file with placeholders",
    "prepare": "build a corpus from folders, archives, packages or published data sets",
    "inspect": "show the contents of a corpus and the coverage of its vocabulary",
    "mine": "collect real fixes of misused variables from git histories",
    "train": "train a model on a corpus",
    "evaluate": "evaluate a trained model on the validation or test split",
    "sweep": "train and evaluate all trials of an experiment file",
    "report": "summarize the results of many runs in tables and figures",
    "export": "write a trained model for use without torch",
    "check": "find variables that may be misused",
    "complete": "suggest names at a cursor in incomplete code",
    "lsp": "serve completions and findings to an editor",
}
"""Each command is a module of this package with `add_arguments(parser)`, `run(arguments)` and `EXAMPLE`.
Only the module of the chosen command is imported, so that `--help` is fast."""

EXTRAS = {
    "cloudpickle": "cluster",
    "distributed": "cluster",
    "filelock": "train",
    "onnx": "export",
    "onnxscript": "export",
    "lsprotocol": "lsp",
    "psutil": "cluster",
    "pygls": "lsp",
    "pyarrow": "train",
    "safetensors": "train",
    "tomli_w": "train",
    "torch": "train",
    "matplotlib": "report",
    "scipy": "report",
    "sklearn": "report",
    "tensorboard": "tensorboard",
}
"""Modules that an extra of this package installs. Any other module is missing only if the installation is broken."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    open_streams()
    code = 2
    try:
        return _run_command(words)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        code, message = 130, "interrupted"
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    except RarenameError as error:
        message = str(error)
    except Exception as error:  # exit code 1, which Python would give, means findings
        missing = (error.name or "rarename").partition(".")[0] if isinstance(error, ModuleNotFoundError) else "rarename"
        requirement = f"rarename[{EXTRAS[missing]}]" if missing in EXTRAS else missing
        message = f"needs {missing}, which is not installed; run: pip install {quote(requirement)}"
        if missing == "rarename":
            message = _describe_unexpected(error)
    finally:
        discard_unwritten()
    with suppress(OSError):
        print(escaped(f"{' '.join(['rarename', *words[:1]])}: {message}"), file=sys.stderr)
    discard_unwritten()
    return code


def _describe_unexpected(error: Exception) -> str:
    if os.environ.get("RARENAME_TRACEBACK"):
        traceback.print_exception(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"unexpected {type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno}, rarename "
        f"{__version__}); this is a bug: report it with the output under RARENAME_TRACEBACK=1 (see SECURITY.md)"
    )


def _run_command(words: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="rarename",
        description="Placeholders for rare identifiers in neural models of source code.",
        epilog="Each command has its own help with an example: rarename anonymize --help",
    )
    parser.add_argument("--version", action="version", version=f"rarename {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if words[:1] == [name]:
            module = import_module(f"rarename.cli.{name}")
            command.description = f"{summary[0].upper()}{summary[1:]}."
            command.epilog = f"example:\n{module.EXAMPLE}"
            module.add_arguments(command)
            command.set_defaults(run_command=module.run)
    parsed, unknown = parser.parse_known_args(words)
    if unknown:
        commands.choices[words[0]].error(f"unrecognized arguments: {' '.join(unknown)}")
    code = int(parsed.run_command(parsed))
    sys.stdout.flush()
    return code
