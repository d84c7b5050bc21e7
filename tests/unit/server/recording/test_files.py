"""Files of recordings: names, whole entries only, and which are deleted."""

from __future__ import annotations

import errno
import os
import stat
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from envwire.server import ServerConfig
from envwire.server._recording import files
from envwire.server._recording.files import (
    AppendedFile,
    FullError,
    RecordedSession,
    RecordingError,
    create_file,
    file_name,
    new_name,
    path_of,
)
from envwire.server._recording.folder import check_folder, entered, prune
from envwire.server._recording.recording import Recording
from envwire.v1 import environment_pb2 as pb
from envwire.v1.recording_pb2 import RecordingEnd, RecordingHeader
from envwire.wire.frames import Packet
from envwire.wire.recordings import EntryReader, framed

STEP = pb.InteractRequest(step=pb.StepRequest(sequence=1)).SerializeToString()
ANSWER = pb.InteractResponse(step=pb.StepResponse(reward=1)).SerializeToString()


def config(directory: Path, **settings: Any) -> ServerConfig:
    return ServerConfig(["CartPole-v1"], record=directory, **settings)


def recording(directory: Path, **settings: Any) -> Recording:
    made = Recording(config(directory, **settings), pb.MakeRequest(env_id="A-v0"), {"envwire": "1"})
    limit = settings.get("record_max_session_bytes", 0)
    made.begin(pb.MakeResponse(library="envwire"), created(directory, new_name("A-v0"), limit))
    return made


def created(directory: Path, name: str, limit: int = 0) -> AppendedFile:
    """Returns a file of a recording as the front creates it."""
    folder = os.open(directory, os.O_RDONLY)
    try:
        return AppendedFile(name, create_file(folder, file_name(name)), limit)
    finally:
        os.close(folder)


def entries(*kinds: str) -> bytes:
    content = {
        "header": RecordingHeader(form=1).SerializeToString(),
        "request": STEP,
        "response": ANSWER,
        "end": RecordingEnd(reason=RecordingEnd.REASON_CLOSED).SerializeToString(),
    }
    return b"".join(bytes(piece) for kind in kinds for piece in framed(kind, 7, [content[kind]]))


@pytest.mark.parametrize("env_id", ["../../etc/passwd", "a/b\0c\nd", ".hidden", "x" * 5000, ""])
def test_a_name_stays_in_its_directory(tmp_path: Path, env_id: str) -> None:
    path = path_of(tmp_path, new_name(env_id))
    assert path.parent == tmp_path
    assert path.resolve().parent == tmp_path.resolve()
    path.touch()


def test_entries_are_messages_behind_their_length() -> None:
    raw = entries("header", "request", "response")
    reader = EntryReader(BytesIO(raw))
    read = list(reader)
    assert [entry.WhichOneof("entry") for entry in read] == ["header", "request", "response"]
    assert (read[1].at, read[1].request.step.sequence, read[2].response.step.reward) == (7, 1, 1)
    assert reader.torn_at is None


def test_a_torn_tail_is_told_and_what_is_before_it_read(tmp_path: Path) -> None:
    whole, path = entries("header", "request", "response"), tmp_path / "torn.envrec"
    begin = len(entries("header", "request"))
    for cut in range(begin + 1, len(whole)):
        path.write_bytes(whole[:cut])
        recorded = RecordedSession(path)
        (exchange,) = recorded.exchanges()
        assert exchange.response is None
        assert recorded.ending.startswith(f"torn at byte {begin}:")


def test_a_length_that_the_file_does_not_have_takes_no_memory() -> None:
    reader = EntryReader(BytesIO(entries("header") + b"\xff" * 8 + b"\x7f" + b"rest"))
    assert [entry.WhichOneof("entry") for entry in reader] == ["header"]
    assert reader.torn_at == len(entries("header"))


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"GIF89a", entries("request"), b"\xff" * 20])
def test_another_file_is_no_recording(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match="is no recording"):
        RecordedSession(path)


def test_a_pipe_is_refused() -> None:
    reading, writing = os.pipe()
    os.write(writing, entries("header", "request"))
    os.close(writing)
    with pytest.raises(RecordingError, match="save it as a file"):
        RecordedSession(Path(f"/proc/self/fd/{reading}"))
    os.close(reading)


def test_a_later_form_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "later.envrec"
    header = RecordingHeader(form=2).SerializeToString()
    path.write_bytes(b"".join(map(bytes, framed("header", 0, [header]))))
    with pytest.raises(RecordingError, match="form 2; this version reads form 1"):
        RecordedSession(path)


def test_a_copy_without_its_origin_is_refused_and_names_no_other_directory(tmp_path: Path) -> None:
    path = tmp_path / "copy.envrec"
    header = RecordingHeader(form=1, copy_of="../origin", copied_entries=3).SerializeToString()
    path.write_bytes(b"".join(map(bytes, framed("header", 0, [header]))))
    (tmp_path.parent / "origin.envrec").write_bytes(entries("header", "request"))
    with pytest.raises(RecordingError, match="is not beside it"):
        list(RecordedSession(path).exchanges())


@pytest.mark.parametrize(
    ("origin", "env_id", "says"),
    [
        (("header", "request", "response", "end"), "A-v0", None),
        (("header", "request"), "A-v0", "origin.envrec ends before the copy"),
        (("header", "request", "response"), "B-v0", "their environments differ"),
    ],
)
def test_a_copy_is_read_only_behind_its_whole_origin(
    tmp_path: Path, origin: Any, env_id: str, says: str | None
) -> None:
    make = pb.MakeRequest(env_id="A-v0")
    first = RecordingHeader(form=1, make=pb.MakeRequest(env_id=env_id)).SerializeToString()
    (tmp_path / "origin.envrec").write_bytes(
        b"".join(map(bytes, framed("header", 0, [first]))) + entries(*origin[1:])
    )
    header = RecordingHeader(form=1, make=make, copy_of="origin", copied_entries=3)
    path = tmp_path / "copy.envrec"
    path.write_bytes(
        b"".join(map(bytes, framed("header", 0, [header.SerializeToString()])))
        + entries("request", "response")
    )
    if says is None:
        assert [each.kind for each in RecordedSession(path).exchanges()] == ["step", "step"]
    else:
        with pytest.raises(RecordingError, match=says):
            list(RecordedSession(path).exchanges())


def test_an_entry_that_does_not_fit_the_disk_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    made = recording(tmp_path)
    made.add_request(STEP)
    made.add_response(Packet(ANSWER))
    writev = os.writev

    def half(descriptor: int, pieces: Any) -> int:
        writev(descriptor, [b"".join(pieces)[:5]])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "writev", half)
    made.add_request(STEP)
    monkeypatch.undo()
    made.add_response(Packet(ANSWER))  # nothing is recorded any more
    made.finish(RecordingEnd.REASON_CLOSED)
    assert (
        "stopped: [Errno 28] No space left on device; the session goes on" in capfd.readouterr().err
    )
    recorded = RecordedSession(path_of(tmp_path, made.name))
    assert len(list(recorded.exchanges())) == 1
    assert recorded.ending.startswith("not ended")


@pytest.mark.parametrize("full", ["disk", "limit"])
def test_what_lacks_its_header_is_no_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    def refuse(_: int, __: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if full == "disk":
        monkeypatch.setattr(files.os, "writev", refuse)
    made = recording(tmp_path, record_max_session_bytes=10)
    made.add_request(STEP)
    assert made.name == ""


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = created(tmp_path, "a")
    writev = os.writev

    def some(descriptor: int, pieces: Any) -> int:
        return writev(descriptor, [b"".join(pieces)[:3]])

    monkeypatch.setattr(files.os, "writev", some)
    file.append([b"01234", memoryview(b"56789")])
    file.close()
    assert path_of(tmp_path, "a").read_bytes() == b"0123456789"


def test_many_pieces_are_one_entry(tmp_path: Path) -> None:
    file = created(tmp_path, "a", limit=6000)
    file.append([b"x"] * 5000)
    with pytest.raises(FullError):
        file.append([b"x"] * 1001)
    file.close()
    assert path_of(tmp_path, "a").stat().st_size == 5000


def test_recordings_go_on_in_a_folder_whose_mode_an_environment_changed(tmp_path: Path) -> None:
    folder, nobody, own = os.open(tmp_path, os.O_RDONLY), 65534, os.geteuid()
    os.fchmod(folder, 0)
    if own == 0:  # root enters it all the same
        os.fchown(folder, nobody, nobody)
        os.seteuid(nobody)
    try:
        os.close(entered(folder, lambda: create_file(folder, "a")))
    finally:
        os.seteuid(own)
        os.close(folder)
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o700


def test_a_file_that_is_there_is_not_written_to(tmp_path: Path) -> None:
    path_of(tmp_path, "target").write_text("precious")
    path_of(tmp_path, "link").symlink_to(path_of(tmp_path, "target"))
    for name in ("link", "target"):
        with pytest.raises(FileExistsError):
            created(tmp_path, name)


def test_a_directory_is_checked_before_the_server_serves(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        check_folder(config(tmp_path / "file" / "directory"))
    check_folder(config(tmp_path / "new" / "directory"))
    assert list((tmp_path / "new" / "directory").iterdir()) == []


def test_a_folder_that_others_may_enter_is_made_private_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o755)
    finished(folder, 100.0)
    check_folder(config(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    (folder / "notes.txt").touch()
    with pytest.raises(PermissionError, match="chmod 700"):
        check_folder(config(folder))
    assert folder.stat().st_mode & 0o777 == 0o755
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(NotADirectoryError):
        check_folder(config(tmp_path / "link"))


def finished(directory: Path, written: float) -> Path:
    made = recording(directory)
    made.finish(RecordingEnd.REASON_CLOSED)
    path = path_of(directory, made.name)
    os.utime(path, (written, written))
    return path


def test_old_recordings_are_deleted(tmp_path: Path) -> None:
    old, new = finished(tmp_path, 100.0), finished(tmp_path, 200.0)
    assert prune(config(tmp_path, record_max_age=60.0), now=210.0) == [old]
    assert list(tmp_path.iterdir()) == [new]


def test_the_oldest_go_first_where_all_are_too_large(tmp_path: Path) -> None:
    paths = [finished(tmp_path, 100.0 - number) for number in range(5)]
    limit = sum(path.stat().st_size for path in paths[:2])
    assert prune(config(tmp_path, record_max_bytes=limit), now=0.0) == [
        paths[4],
        paths[3],
        paths[2],
    ]
    assert prune(config(tmp_path, record_max_bytes=limit), now=0.0) == []


def test_a_recording_that_is_written_and_other_files_stay(tmp_path: Path) -> None:
    live = recording(tmp_path)
    os.utime(path_of(tmp_path, live.name), (1.0, 1.0))
    (tmp_path / "notes.txt").touch()
    (tmp_path / "link.envrec").symlink_to(tmp_path / "notes.txt")
    settings = config(tmp_path, record_max_age=1.0, record_max_bytes=1)
    assert prune(settings, now=1e10) == []
    live.finish(RecordingEnd.REASON_CLOSED)
    assert prune(settings, now=1e10) == [path_of(tmp_path, live.name)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.envrec", "notes.txt"]
