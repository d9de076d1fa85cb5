"""Check or fetch the browser modules that the page brings with it.

Usage: vendor.py check | fetch

`check` compares each file with its sha256 in `vendor.toml`. `fetch` packs the packages anew with npm,
rewrites what the table says, and writes files and hashes: run it after changing a version.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "src" / "serai" / "web" / "page" / "vendor"
TABLE = FOLDER / "vendor.toml"


def main() -> int:
    """Exit with 1 when a file is not what the table says."""
    match sys.argv[1:]:
        case ["check"]:
            problems = check()
            print("\n".join(problems) or "All vendored files are as they should be.")
            return 1 if problems else 0
        case ["fetch"]:
            fetch()
            return 0
        case _:
            print(__doc__)
            return 2


def check() -> list[str]:
    """What differs between the folder and its table, one sentence each."""
    wanted = {file: digest for package in packages() for file, digest in package["sha256"].items()}
    found = {
        path.relative_to(FOLDER).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in FOLDER.rglob("*")
        if path.is_file() and path != TABLE and not path.name.endswith(".d.ts")  # those are ours
    }
    return [
        *(f"{file}: is not there" for file in sorted(wanted.keys() - found.keys())),
        *(f"{file}: is not in vendor.toml" for file in sorted(found.keys() - wanted.keys())),
        *(
            f"{file}: was changed"
            for file in sorted(wanted.keys() & found.keys())
            if wanted[file] != found[file]
        ),
    ]


def packages() -> list[dict[str, Any]]:
    """The packages of the table."""
    return tomllib.loads(TABLE.read_text())["package"]


def fetch() -> None:
    """Write all files of the table from npm, and their hashes into it."""
    text = TABLE.read_text()
    for package in packages():
        with tempfile.TemporaryDirectory() as folder:
            name = f"{package['name']}@{package['version']}"
            packed = ["npm", "pack", "--silent", "--pack-destination", folder, name]
            subprocess.run(packed, check=True, stdout=subprocess.DEVNULL)
            with tarfile.open(next(Path(folder).glob("*.tgz"))) as archive:
                archive.extractall(folder, filter="data")
            copies = {**package["files"], f"licences/{package['licence_file']}": "LICENSE"}
            for ours, theirs in copies.items():
                content = (Path(folder) / "package" / theirs).read_text()
                # Our addresses are no source maps, and bare names mean nothing to a browser.
                lines = [line for line in content.split("\n") if not line.startswith("//# sourceMappingURL=")]
                content = "\n".join(lines)
                for before, after in package.get("rewrite", {}).items():
                    content = content.replace(before, after)
                (FOLDER / ours).parent.mkdir(parents=True, exist_ok=True)
                (FOLDER / ours).write_text(content)
                digest = hashlib.sha256(content.encode()).hexdigest()
                text = text.replace(
                    f'"{ours}" = "{package["sha256"].get(ours, "")}"', f'"{ours}" = "{digest}"'
                )
    TABLE.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
