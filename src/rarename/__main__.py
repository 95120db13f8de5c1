"""`python -m rarename`, and the console script."""

import sys


def main() -> int:
    """Run a command. Ctrl-C while modules are imported ends like any other: with a word and exit code 130."""
    try:
        from rarename.cli.main import main as run_command

        return run_command()
    except KeyboardInterrupt:
        print("rarename: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
