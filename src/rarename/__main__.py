"""`python -m rarename`."""

import sys

from rarename.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
