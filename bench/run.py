"""Run every benchmark, print the table, and write `bench/results.json`.

Usage: run.py [NAME ...], where a name is `start` for `bench_start.py`, and so on.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from harness import Result

HERE = Path(__file__).parent
ROW = "{:<44} {:>10} {:<5} {:<24} {:>7} {:>7}  {}"


def main() -> int:
    """Exit with 1 when a target is missed."""
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    print(ROW.format("what", "figure", "", "against", "ratio", "target", "holds"))
    results: list[Result] = []
    for name in names:
        for result in import_module(f"bench_{name}").benchmarks():
            results.append(result)
            target = "-" if result.target is None else f"{result.target:g}"
            holds = "-" if result.target is None else "yes" if result.holds else "NO"
            print(
                ROW.format(
                    result.name,
                    f"{result.figure:.3g}",
                    result.unit,
                    result.peer,
                    f"{result.ratio:.2f}",
                    target,
                    holds,
                ),
                flush=True,
            )
    _write(results)
    return 0 if all(result.holds for result in results) else 1


def _write(results: list[Result]) -> None:
    """Write the results; those of benchmarks that were not run this time stay."""
    file = HERE / "results.json"
    rows: dict[str, Any] = {}
    if file.exists():
        rows = {row["name"]: row for row in msgspec.json.decode(file.read_bytes())}
    rows |= {result.name: {**msgspec.to_builtins(result), "holds": result.holds} for result in results}
    file.write_bytes(msgspec.json.format(msgspec.json.encode(list(rows.values()))) + b"\n")


if __name__ == "__main__":
    sys.exit(main())
