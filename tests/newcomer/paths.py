"""The paths of newcomers: which commands of which pages they run, and what they have then."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable

from tests.newcomer.pages import ROOT, Page
from tests.newcomer.shell import Shell

README = "README.md"
AGENT = "From nothing to a trained agent"
FARM = "docs/tutorials/farm.md"
ENVIRONMENT = "docs/tutorials/own-environment.md"


class SkippedError(Exception):
    """A path needs a tool that is not there."""


def student(shell: Shell) -> None:
    """Sees the demo, trains an agent, records it, films it and exports its steps."""
    shell.follow(Page(README).command("make demo"))
    shell.reach("the demo")
    page = Page(README, AGENT)
    shell.env["MINARI_DATASETS_PATH"] = str(shell.folder / "datasets")
    shell.write("train.py", page.program("python"))
    for command in page.commands():
        shell.follow(command)
        if "train.py" in command:
            shell.reach("a trained agent")
    for made in ("recordings/*.envrec", "datasets/cartpole/ppo-v0", "agent.gif"):
        if not any(shell.folder.glob(made)):
            raise RuntimeError(f"there is no {made}")
    shell.reach("its film and its data set")


def operator(shell: Shell) -> None:
    """Starts a farm, kills a server under a training, then drains one with a token."""
    page = Page(FARM)
    _enter_environment(shell)
    shell.run(page.command("pip install"))
    farm = shell.start(page.command("envwire farm up -n 4 CartPole"), "ready:")
    shell.run(page.command("envwire farm status"))
    shell.reach("a farm")
    shell.write("farm_training.py", page.program("python"))
    training = shell.start("python farm_training.py")
    page.command("envwire top")  # runs until it is stopped
    _until_stepping(shell, page.command("envwire sessions"))
    process = _busy_server(shell.run(page.command("envwire farm status")))[6]
    shell.run(page.command("kill -KILL PID").replace("PID", process))
    if re.search(r"lost=0|recovered=0", training.finish()):
        raise RuntimeError("no environment was lost and recovered")
    shell.reach("a killed server survived")
    farm.stop()

    token, line = _token(shell.run(page.command("envwire token")))
    shell.write("accepted-tokens", f"{line}\n")
    farm = shell.start(
        page.command("envwire farm up -n 4 --tokens").replace("FILE", "accepted-tokens"), "ready:"
    )
    variable = page.command("export ENVWIRE_TOKEN").removeprefix("export ").partition("=")[0]
    shell.env[variable] = token
    training = shell.start("python farm_training.py")
    _until_stepping(shell, "envwire sessions localhost:50050")
    address = _busy_server(shell.run(page.command("envwire farm status")))[0]
    shell.run(page.command("envwire drain").replace("127.0.0.1:PORT", address))
    if "lost=0" not in training.finish():
        raise RuntimeError("an environment was lost")
    shell.reach("a server drained")


def author(shell: Shell) -> None:
    """Writes an environment in Python, serves it, and checks it."""
    page = Page(ENVIRONMENT)
    _enter_environment(shell)
    shell.run(_install())
    shell.write("lab.py", page.program("python", "gym.register"))
    shell.start(page.command("envwire serve"), "ready:")
    shell.run(page.command("envwire check"))
    shell.reach("an environment, served and checked")


def author_in_typescript(shell: Shell) -> None:
    """Drives a server, then serves an environment and checks it, with the TypeScript library."""
    _need("node", "npm")
    page = Page("client/typescript/README.md")
    _enter_environment(shell)
    shell.run(_install())
    for command in (page.command("(cd client"), page.command("npm install")):
        shell.run(command)
    shell.write("agent.mts", page.program("ts"))
    served = shell.start("envwire serve CartPole-v1", "ready:")
    shell.run(page.command("npx"))
    served.stop()
    shell.reach("an agent in TypeScript")
    shell.write("counter.mjs", page.program("js", "serve("))
    shell.start(page.command("node counter.mjs"), "serving at")
    shell.run(page.command("envwire check"))
    shell.reach("an environment in TypeScript")


def author_in_cpp(shell: Shell) -> None:
    """Builds the C++ library, then serves an environment in a project of its own, and checks it."""
    _need("cmake", "c++", "protoc", "grpc_cpp_plugin")
    page = Page("client/cpp/README.md")
    _enter_environment(shell)
    shell.run(_install())
    shell.run(page.command("cmake -S client/cpp"))
    shell.run(page.command("cmake --build"))
    place = shell.env["CMAKE_PREFIX_PATH"] = str(shell.folder / "installed")
    shell.run(f"{page.command('cmake --install')} --prefix {place}")
    shell.reach("the library, built")
    shell.enter("own-project")
    shell.write("agent.cc", page.program("cpp", "class Walk"))
    shell.write("CMakeLists.txt", page.program("cmake"))
    shell.run(page.command("cmake -S ."))
    shell.start(page.command("./build/agent"), "50051")
    shell.run(page.command("envwire check"))
    shell.reach("an environment in C++")


def agent_in_go(shell: Shell) -> None:
    """Generates Go's code from the protos in a folder of its own, and drives a server with it."""
    _need("go", "protoc")
    page = Page("docs/languages.md", "Generating code")
    _enter_environment(shell)
    shell.run(_install())
    shell.start("envwire serve CartPole-v1", "ready:")
    program = (ROOT / "examples/go/main.go").read_text(encoding="utf-8")
    shell.enter("../agent")
    shell.run(page.command("go mod init"))
    shell.run(page.command("protoc"))
    shell.write("main.go", program.replace("envwire.example/", "agent/"))
    shell.run(page.command("go mod tidy"))
    shell.run("go run . localhost:50051")
    shell.reach("an agent in Go")


PATHS: dict[str, Callable[[Shell], None]] = {
    "student": student,
    "operator": operator,
    "author": author,
    "author, TypeScript": author_in_typescript,
    "author, C++": author_in_cpp,
    "agent, Go": agent_in_go,
}


def _enter_environment(shell: Shell) -> None:
    page = Page(README, AGENT)
    shell.follow(page.command("python3 -m venv"))
    shell.follow(page.command(". .venv"))


def _install() -> str:
    """Returns the command that installs what serves and checks environments."""
    return Page(ENVIRONMENT).command("pip install")


def _need(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool) is None]
    if missing:
        raise SkippedError(f"{', '.join(missing)}: not installed")


def _until_stepping(shell: Shell, sessions: str) -> None:
    """Waits until the training steps, so that there is something to lose or to move."""
    for _ in range(60):
        if "CartPole-v1" in shell.run(f"sleep 0.5; {sessions}"):
            return
    raise RuntimeError("the training made no environments")


def _busy_server(status: str) -> list[str]:
    """Returns the row of a server that holds sessions: address, state, sessions, slots, ids, silence, process, ..."""
    rows = [line.split("\t") for line in status.splitlines() if "\t" in line]
    return next(row for row in rows if row[2] != "0")


def _token(printed: str) -> tuple[str, str]:
    """Returns the token and its line for the file."""
    token = next(line for line in printed.splitlines() if line.startswith("envwire_"))
    line = next(line for line in printed.splitlines() if re.search(r" [0-9a-f]{64}$", line))
    return token, line
