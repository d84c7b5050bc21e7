"""A newcomer's first minutes, by the README alone: `make test-newcomer`.

Copies the files of the repository elsewhere and runs the commands of one section of the README there, in a shell of its
own without this checkout: from nothing to a trained agent, a recorded data set, and a look at it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECTION = "From nothing to a trained agent"
MAX_COMMANDS, MAX_SECONDS = 10, 300.0
#: What has to be there in the end.
MADE = ("recordings/*.envrec", "datasets/cartpole/ppo-v0", "agent.gif")


def blocks(text: str) -> tuple[list[str], str]:
    """Returns the commands and the program of the section."""
    section = re.split(r"^## ", text.split(f"## {SECTION}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [line for line in shell.splitlines() if line.strip()], program


def copied(to: Path) -> None:
    """Copies the files of the repository, as a fresh clone has them."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(
        ["tar", "--create", "--null", "--files-from=-", f"--file={to}.tar"],
        cwd=ROOT,
        input=files.stdout,
        check=True,
    )
    to.mkdir()
    subprocess.run(["tar", "--extract", f"--file={to}.tar", f"--directory={to}"], check=True)


def timed(command: str) -> str:
    """Returns a line of shell that runs a command and says how long it took."""
    shown = command.replace("'", "'\\''")
    return f"echo '$ {shown}'; begun=$SECONDS\n{command}\necho \"  $((SECONDS - begun)) s\"\n"


def main() -> int:
    """Runs the commands; fails when one fails, or they are too many or take too long."""
    commands, program = blocks((ROOT / "README.md").read_text(encoding="utf-8"))
    if len(commands) > MAX_COMMANDS:
        print(f"{len(commands)} commands; {MAX_COMMANDS} are allowed")
        return 1
    with tempfile.TemporaryDirectory(prefix="newcomer-") as scratch:
        where = Path(scratch) / "envwire"
        copied(where)
        (where / "train.py").write_text(program, encoding="utf-8")
        script = "set -e\ntrap 'kill $(jobs -p) 2>/dev/null' EXIT\n" + "".join(map(timed, commands))
        kept = {"HOME", "LANG", "PATH"} | {name for name in os.environ if name.startswith("PIP_")}
        env = {name: os.environ[name] for name in kept & os.environ.keys()}
        env["MINARI_DATASETS_PATH"] = str(where / "datasets")
        begun = time.monotonic()
        status = subprocess.run(["bash", "-c", script], cwd=where, env=env, check=False).returncode
        seconds = time.monotonic() - begun
        missing = [pattern for pattern in MADE if not any(where.glob(pattern))]
    print(
        f"{len(commands)} commands, {seconds:.0f} s, status {status}; missing: {missing or 'nothing'}"
    )
    if seconds > MAX_SECONDS:
        print(f"more than {MAX_SECONDS:.0f} s: where does the time go?")
    return int(status != 0 or bool(missing) or seconds > MAX_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
