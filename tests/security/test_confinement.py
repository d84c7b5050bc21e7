"""An environment reads neither the server's secrets nor the memory of others, where the kernel sees to it."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from envwire.client import Credentials, RemoteEnv, SessionLostError
from envwire.server import Server, ServerConfig
from envwire.server._auth.scopes import Scope
from envwire.server._auth.secret_files import followed, is_exposed, warn_of_exposed
from envwire.server._auth.tokens import TokenFile
from envwire.server._recording.files import path_of
from envwire.server._worker.confining.landlock import landlock_version
from envwire.server._worker.confining.system_calls import filters_calls
from tests.conftest import ROOT
from tests.secured import certificates, write_tokens

SPY = "hostile/Spy-v0"
WITH_REFER, WITH_TRUNCATE, WITH_SCOPES = 2, 3, 6
filtered = pytest.mark.skipif(not filters_calls(), reason="a kernel without seccomp")
SYS_ADMIN, SYS_RESOURCE = 21, 24
#: Begins programs that are confined as on a server with the token file that their first argument names.
CONFINED = """
import os, sys
from pathlib import Path
from envwire.server import ServerConfig
from envwire.server._auth.tokens import TokenFile
from envwire.server._auth.secret_files import followed
from envwire.server._worker.confining.confinement import Confinement
confinement = Confinement(ServerConfig(("*",), tokens=sys.argv[1]))
confinement.prepare()
confinement.apply()
"""
#: Writes a file: its name and contents are the arguments.
LEAVE = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.argv[2])"
#: Tries to read a secret, and writes down what came of it.
SPYING = """
import pathlib
try:
    found = pathlib.Path({secret!r}).read_text()
except OSError:
    found = "refused"
pathlib.Path({read!r}).write_text(found)
"""
landlocked = pytest.mark.skipif(not landlock_version(), reason="a kernel without Landlock")


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """Where no environment works: not in the temporary directory, and not at home."""
    try:
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="envwire-") as path:
            yield Path(path)
    except OSError:
        pytest.skip("no directory for secrets")


@pytest.fixture(scope="module")
def spies(directory: Path) -> Iterator[tuple[RemoteEnv, RemoteEnv, Server]]:
    tokens = write_tokens(directory / "tokens", {"alice": [Scope.PLAY]})
    known = certificates()
    for name in ("server", "server-key"):
        (directory / f"{name}.pem").write_bytes(known.path(name).read_bytes())
    credentials = Credentials(ca=known.path("ca"), cert=None, key=None, token=tokens["alice"])
    with Server(
        [SPY],
        imports=["tests.security.hostile_envs"],
        sys_path=(ROOT,),
        tokens=directory / "tokens",
        tls_cert=directory / "server.pem",
        tls_key=directory / "server-key.pem",
        record=directory / "recordings",
    ) as server:
        envs = [RemoteEnv(server.target, SPY, credentials=credentials) for _ in range(2)]
        for env in envs:
            env.reset(seed=1)
        yield envs[0], envs[1], server
        for env in envs:
            env.close()


def ask(env: RemoteEnv, method: str, *args: Any) -> Any:
    return env.get_wrapper_attr(method)(*args)


def processes_around(spies: tuple[RemoteEnv, RemoteEnv, Server]) -> list[int]:
    """Returns the pids of the front, the fork server and the other session's process."""
    spy, other, server = spies
    return [server.pid, ask(spy, "pids")[1], ask(other, "pids")[0]]


def test_pipes_that_an_environment_has_open_are_not_those_of_others(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    """A byte in the pipe that ends a session process with the front killed those of all clients."""
    spy, other, _ = spies
    copy = spy.fork()
    recording = path_of(directory / "recordings", copy.recorded_as)
    with pytest.raises(SessionLostError, match="SIGKILL"):
        ask(copy, "scribble")
    assert all(ask(env, "pids") for env in (spy, other))
    recording.unlink()


@landlocked
def test_an_environment_cannot_read_key_and_tokens(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    open_to_it = [str(directory / "server.pem"), "/etc/hosts", __file__]
    secret = [str(directory / "server-key.pem"), str(directory / "tokens")]
    assert ask(spies[0], "opened", [*secret, *open_to_it]) == open_to_it


@landlocked
def test_code_that_an_environment_leaves_on_the_disk_reads_no_secrets_in_a_new_interpreter(
    directory: Path, tmp_path: Path
) -> None:
    """Python runs `sitecustomize` before any code of this package."""
    tokens = write_tokens(directory / "others", {"alice": [Scope.PLAY]})
    credentials = Credentials(token=tokens["alice"])
    left, read = tmp_path / "sitecustomize.py", tmp_path / "read"
    code = SPYING.format(secret=str(directory / "others"), read=str(read))
    with Server(
        [SPY],
        imports=["tests.security.hostile_envs"],
        sys_path=(ROOT,),
        tokens=directory / "others",
        start="spawn",
        variables=[f"PYTHONPATH={tmp_path}"],
    ) as server:
        with closing(RemoteEnv(server.target, SPY, credentials=credentials)) as env:
            env.reset()
            ask(env, "output_of", [sys.executable, "-c", LEAVE, str(left), code])
        with closing(RemoteEnv(server.target, SPY, credentials=credentials)) as env:
            env.reset()
    assert read.read_text() == "refused"


@landlocked
def test_nor_in_a_fork_server_that_is_started_anew(directory: Path, tmp_path: Path) -> None:
    tokens = write_tokens(directory / "others", {"alice": [Scope.PLAY]})
    credentials = Credentials(token=tokens["alice"])
    left, read = tmp_path / "sitecustomize.py", tmp_path / "read"
    code = SPYING.format(secret=str(directory / "others"), read=str(read))
    with Server(
        [SPY],
        imports=["tests.security.hostile_envs"],
        sys_path=(ROOT,),
        tokens=directory / "others",
        variables=[f"PYTHONPATH={tmp_path}"],
    ) as server:
        with closing(RemoteEnv(server.target, SPY, credentials=credentials)) as env:
            env.reset()
            ask(env, "output_of", [sys.executable, "-c", LEAVE, str(left), code])
            os.kill(ask(env, "pids")[1], signal.SIGKILL)
        with closing(RemoteEnv(server.target, SPY, credentials=credentials)) as env:
            env.reset()
    assert read.read_text() == "refused"


@pytest.mark.skipif(landlock_version() < WITH_TRUNCATE, reason="a kernel that lets files be cut")
def test_an_environment_cannot_change_key_certificates_and_tokens(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path, tmp_path: Path
) -> None:
    """Nor replace them or a folder on the way to them; other files it can change in each of these ways."""
    protected = [directory / name for name in ("tokens", "server.pem", "server-key.pem")]
    before = [path.read_bytes() for path in protected]
    assert [ask(spies[0], "changed", str(path)) for path in protected] == [[], [], []]
    assert [path.read_bytes() for path in protected] == before
    (tmp_path / "folder").mkdir()
    own = tmp_path / "folder" / "file"
    own.touch()
    assert {"append", "truncate", "replace", "rename its folder"} <= set(
        ask(spies[0], "changed", str(own))
    )


@landlocked
def test_an_environment_cannot_change_the_links_on_the_way_to_a_secret(
    directory: Path, tmp_path: Path
) -> None:
    """As Kubernetes mounts secrets: files are links to a link to the folder with their present version."""
    mounted, elsewhere = directory / "mounted", directory / "elsewhere"
    (mounted / "..1").mkdir(parents=True)
    elsewhere.mkdir()
    (mounted / "..1" / "tokens").touch()
    (mounted / "..data").symlink_to("..1")
    (mounted / "tokens").symlink_to("..data/tokens")
    (elsewhere / "link").symlink_to(mounted)
    assert list(followed(elsewhere / "link" / "tokens")) == [
        elsewhere / "link",
        mounted / "tokens",
        mounted / "..data",
        mounted / "..1" / "tokens",
    ]
    program = [sys.executable, "-c", REPLACING, str(elsewhere / "link" / "tokens")]
    ran = subprocess.run(program, capture_output=True, text=True, check=True, cwd=ROOT)
    assert ran.stdout.split() == ["PermissionError"] * 4


REPLACING = (
    CONFINED
    + """
for link in followed(Path(sys.argv[1])):
    try:
        link.rename(link.with_name("renamed"))
    except OSError as error:
        print(type(error).__name__)
"""
)


def test_tokens_stay_valid_when_their_file_cannot_be_read(tmp_path: Path) -> None:
    """Landlock lets an environment change the mode of a file or folder of its user."""
    (tmp_path / "folder").mkdir()
    tokens = write_tokens(tmp_path / "folder" / "tokens", {"alice": [Scope.PLAY]})
    seconds = count(step=10)
    file = TokenFile(tmp_path / "folder" / "tokens", lambda: next(seconds))
    (tmp_path / "folder").rename(tmp_path / "hidden")  # root can read files of any mode
    for _ in range(3):
        assert file.find(tokens["alice"])


@landlocked
def test_an_environment_does_not_control_the_kernel(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    """Root included, on whose server it could have the kernel run a program."""
    for file in (
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/sys/kernel/uevent_helper",
        "/sys/power/state",
        "/sys/devices/system/cpu/cpu1/online",
        "/dev/kmsg",
        "/dev/tty1",
        "/dev/loop-control",
    ):
        assert ask(spies[0], "output_of", ["sh", "-c", f": >> {file}"])[-1] != "0"
    for held in ask(spies[0], "output_of", ["grep", "Cap[PE]", "/proc/self/status"]).split()[1:4:2]:
        assert not int(held, 16) & (1 << SYS_ADMIN | 1 << SYS_RESOURCE)


@landlocked
def test_io_uring_is_no_way_around(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path, tmp_path: Path
) -> None:
    """Its operations pass by no filter of system calls, but Landlock sees them."""
    own, secret = tmp_path / "own", directory / "tokens"
    own.touch()
    program = str(Path(ROOT) / "tests" / "security" / "io_uring.py")
    possible, refused = (
        ask(spies[0], "output_of", [sys.executable, program, str(file)]) for file in (own, secret)
    )
    if not possible.startswith("read, append, create"):
        pytest.skip(possible)
    assert refused == "\n0"


@filtered
def test_an_environment_sets_nothing_for_other_processes(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    spy = spies[0]
    around = processes_around(spies)
    assert [ask(spy, "governed", pid) for pid in around] == [[], [], []]
    assert {"limits", "priority", "scheduler", "input and output"} <= set(ask(spy, "governed", 0))


def test_the_front_is_not_what_memory_that_is_short_ends(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    """Files in memory count for no process, so that the kernel ended the front for those of an environment."""
    front, forkserver, session = map(scored, (spies[2].pid, *reversed(ask(spies[0], "pids"))))
    assert (forkserver, session) == (front, min(front + 300, 1000))


def scored(pid: int) -> int:
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


@filtered
def test_an_environment_keeps_no_other_process_from_processors(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    spy, other, server = spies
    for pid in (server.pid, ask(other, "pids")[0]):
        before = os.sched_getaffinity(pid)
        ask(spy, "pinned", pid)
        assert os.sched_getaffinity(pid) == before


@filtered
@pytest.mark.skipif(not shutil.which("gcc"), reason="no compiler")
@pytest.mark.parametrize("program", ["threads.c", "calls_of_32_bits.c"])
def test_native_programs(
    spies: tuple[RemoteEnv, RemoteEnv, Server], tmp_path: Path, program: str
) -> None:
    """Threads can be pinned, as OpenMP does; calls of other architectures set nothing for others either."""
    binary, source = tmp_path / "program", ROOT + "/tests/security/native/" + program
    built = ["gcc", "-fopenmp", "-o", str(binary), source]
    if subprocess.run(built, capture_output=True, check=False).returncode:
        pytest.skip("a compiler without OpenMP, or another architecture")
    told = ask(spies[0], "output_of", ["env", "OMP_PROC_BIND=true", str(binary), str(spies[2].pid)])
    assert told == "0"


@landlocked
def test_an_environment_cannot_read_recordings(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    recordings = [str(path) for path in (directory / "recordings").iterdir()]
    assert len(recordings) == 2
    assert ask(spies[0], "opened", [*recordings, "/etc/hosts"]) == ["/etc/hosts"]


@pytest.mark.skipif(landlock_version() < WITH_TRUNCATE, reason="a kernel that lets files be cut")
def test_an_environment_cannot_touch_the_folder_of_recordings(
    spies: tuple[RemoteEnv, RemoteEnv, Server], directory: Path
) -> None:
    """It writes its own recording, through a descriptor that the front gave its process."""
    spy, folder = spies[0], directory / "recordings"
    tried = [*folder.iterdir(), folder]
    assert [ask(spy, "changed", str(path)) for path in tried] == [[], [], []]
    assert ask(spy, "writable", str(folder)) == [str(path_of(folder, spy.recorded_as))]
    copy = spy.fork()
    own = path_of(folder, copy.recorded_as)
    assert ask(copy, "writable", str(folder)) == [str(own)]
    copy.close()
    own.unlink()


def test_what_is_put_in_the_place_of_the_folder_gets_no_recordings(tmp_path: Path) -> None:
    """Where environments work, the kernel cannot keep them from renaming the folder."""
    folder, own = tmp_path / "recordings", tmp_path / "own"
    own.mkdir()
    settings: dict[str, Any] = {"imports": ["tests.security.hostile_envs"], "sys_path": (ROOT,)}
    with Server([SPY], record=folder, **settings) as server:
        folder.rename(tmp_path / "moved")
        folder.symlink_to(own)
        with RemoteEnv(server.target, SPY) as env:
            env.reset(seed=1)
    assert list(own.iterdir()) == []
    assert len(list((tmp_path / "moved").iterdir())) == 1


@landlocked
def test_an_environment_cannot_read_the_memory_of_others(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    spy = spies[0]
    own, around = ask(spy, "pids")[0], processes_around(spies)
    assert ask(spy, "opened", [f"/proc/{pid}/mem" for pid in (*around, own)]) == [
        f"/proc/{own}/mem"
    ]
    assert [ask(spy, "followed", pid) for pid in around] == [[], [], []]
    assert ask(spy, "followed", own)


@landlocked
def test_an_environment_cannot_seize_other_processes(
    spies: tuple[RemoteEnv, RemoteEnv, Server],
) -> None:
    """Neither their memory, nor their descriptors, nor as a debugger does."""
    spy = spies[0]
    around = processes_around(spies)
    assert [ask(spy, "seized", pid) for pid in around] == [[], [], []]
    assert ask(spy, "seized", ask(spy, "child")) == ["descriptor", "memory", "trace"]


@pytest.mark.skipif(landlock_version() < WITH_SCOPES, reason="a kernel that lets signals pass")
def test_an_environment_cannot_signal_others(spies: tuple[RemoteEnv, RemoteEnv, Server]) -> None:
    spy = spies[0]
    own, around = ask(spy, "pids")[0], processes_around(spies)
    assert ask(spy, "signalled", [*around, own]) == [own]


def test_the_front_is_closed_to_its_own_user() -> None:
    program = (
        "import asyncio, ctypes\n"
        "from envwire.server._front.event_loop import run_loop\n"
        "async def main(): print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))\n"
        "run_loop(main())\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout == "0\n"


MOVING = (
    CONFINED
    + """
files, secrets = sys.argv[2], os.path.dirname(sys.argv[1])
os.rename(files + "/a/file", files + "/b/file")
os.link(files + "/b/file", files + "/a/link")
print(open(files + "/a/link").read())
for way in (os.rename, os.link):
    try:
        way(secrets + "/tokens", files + "/b/tokens")
        print(open(files + "/b/tokens").read())
    except OSError as error:
        print(type(error).__name__)
"""
)


@pytest.mark.skipif(landlock_version() < WITH_REFER, reason="a kernel that moves no file")
def test_environments_move_files_but_not_secrets_to_where_they_can_be_read(
    tmp_path: Path, directory: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "file").write_text("what was moved")
    (directory / "tokens").touch()
    program = [sys.executable, "-c", MOVING, str(directory / "tokens"), str(tmp_path)]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split("\n")
    assert told[0] == "what was moved"
    assert all(each.endswith("Error") for each in told[1:3]), told


def test_environments_gain_no_privileges(spies: tuple[RemoteEnv, RemoteEnv, Server]) -> None:
    own, _ = ask(spies[0], "pids")
    assert "NoNewPrivs:\t1" in Path(f"/proc/{own}/status").read_text()


def test_secrets_where_environments_work_are_told(
    tmp_path: Path, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = ServerConfig(("*",), tokens=str(tmp_path / "tokens"))
    assert is_exposed(tmp_path / "tokens")
    assert is_exposed(Path.cwd() / "tokens")
    assert not is_exposed(directory / "tokens")
    with caplog.at_level(logging.WARNING):
        warn_of_exposed(config)
    assert str(tmp_path / "tokens") in caplog.text


def test_recordings_of_other_machines_clients_are_secrets_and_ones_own_are_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        warn_of_exposed(ServerConfig(("*",), record=tmp_path))
        assert str(tmp_path) not in caplog.text
        warn_of_exposed(ServerConfig(("*",), record=tmp_path, host="0.0.0.0", insecure=True))
    assert str(tmp_path) in caplog.text
