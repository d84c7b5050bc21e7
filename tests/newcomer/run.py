"""Newcomers' first minutes, by the documentation alone: `make test-newcomer`.

Each path of `paths.py` begins in a fresh copy of the files of the repository, without this checkout, and runs the
commands and programs that the pages show. The table says how long it took to reach what a newcomer came for.

    python -m tests.newcomer.run                    # all paths
    python -m tests.newcomer.run operator author    # some
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.newcomer.pages import ROOT
from tests.newcomer.paths import PATHS, SkippedError
from tests.newcomer.shell import Shell, Taken


def copied(to: Path) -> None:
    """Copies the files of the repository, as a fresh clone has them."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    archive = subprocess.run(
        ["tar", "--create", "--null", "--files-from=-"],
        cwd=ROOT,
        input=files.stdout,
        capture_output=True,
        check=True,
    )
    to.mkdir()
    subprocess.run(["tar", "--extract", f"--directory={to}"], input=archive.stdout, check=True)


def walked(name: str) -> tuple[dict[str, Taken], str]:
    """Walks a path; returns what it took to reach each thing, and why it ended before its end, if it did."""
    print(f"\n== {name}: {PATHS[name].__doc__}", flush=True)
    with tempfile.TemporaryDirectory(prefix="newcomer-", ignore_cleanup_errors=True) as scratch:
        copied(where := Path(scratch) / "envwire")
        with closing(Shell(where)) as shell:
            try:
                PATHS[name](shell)
            except SkippedError as reason:
                return shell.reached, f"skipped: {reason}"
            except (RuntimeError, LookupError, StopIteration, subprocess.TimeoutExpired) as failure:
                return shell.reached, f"failed: {failure}"
    return shell.reached, ""


def main(names: list[str]) -> int:
    """Walks the paths and prints the table; fails when a path fails."""
    results = {name: walked(name) for name in names or PATHS}
    print("\n| path | reached | minutes | of processor time |\n|---|---|---|---|")
    for name, (reached, ended) in results.items():
        for what, taken in reached.items():
            print(f"| {name} | {what} | {taken.seconds / 60:.1f} | {taken.processor / 60:.1f} |")
        if ended:
            print(f"| {name} | {ended.splitlines()[0]} | | |")
    return int(any(ended.startswith("failed") for _, ended in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
