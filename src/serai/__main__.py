"""`python -m serai`: the command, where its script is not on the path."""

from __future__ import annotations

import sys

from serai.cli import main

if __name__ == "__main__":
    sys.exit(main())
