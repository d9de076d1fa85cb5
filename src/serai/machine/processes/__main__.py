"""`python -m serai.machine.processes DIRECTORY` ends what dead hosts left in these records."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from serai.machine.processes.leftovers import end_leftovers

if __name__ == "__main__":
    asyncio.run(end_leftovers(Path(sys.argv[1])))
