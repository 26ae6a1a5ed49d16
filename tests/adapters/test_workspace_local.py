"""What only files on a disk can show: kinds, mode bits, time, and failures of the system."""

import contextlib
import ctypes
import errno
import os
import random
import resource
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.workspace_local import LocalWorkspace, beneath
from hilt.adapters.workspace_local.beneath import Beneath, rename_new
from hilt.adapters.workspace_local.disk import HASHED_MAX_BYTES
from hilt.adapters.workspace_local.files import SEARCH_BUDGET_S
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.files.query import GlobQuery, GrepQuery
from hilt.ports.workspace import DirEntry

MEGABYTE = 1 << 20
ONE_LONG_LINE = bytes(random.Random(1).choices(b"ab", k=MEGABYTE // 4))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "outside.txt").write_text("secret")
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture(params=[True, False], ids=["one-step", "by-parts"])
def workspace(request: pytest.FixtureRequest, root: Path) -> Iterator[LocalWorkspace]:
    workspace = LocalWorkspace(root, one_step=request.param)
    yield workspace
    workspace.close()


async def read(workspace: LocalWorkspace, path: str) -> bytes:
    return (await workspace.read(path, max_bytes=MEGABYTE)).content


async def refusal(workspace: LocalWorkspace, path: str) -> ErrorCode:
    with pytest.raises(ToolError) as caught:
        await workspace.read(path, max_bytes=MEGABYTE)
    return caught.value.code


@pytest.mark.req("BLT-14")
@pytest.mark.timeout(20)
async def test_a_pipe_socket_or_device_is_refused_and_not_opened(root: Path, workspace: LocalWorkspace) -> None:
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("pipe")
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
        with contextlib.chdir(root):
            listener.bind("socket")
        kinds = {}
        for path in ("pipe", "link", "socket"):
            found = await workspace.stat(path)
            assert found is not None
            kinds[path] = found.kind
            assert await refusal(workspace, path) is ErrorCode.EXECUTION_FAILED
            with pytest.raises(ToolError):
                await workspace.copy(path, "copy")
        assert kinds == {"pipe": "pipe", "link": "pipe", "socket": "socket"}
        assert (await workspace.grep(GrepQuery(pattern="x"))).files == ()
        assert (await workspace.glob(GlobQuery(pattern="*"))).paths == ("link", "pipe", "socket")
        assert await workspace.list_dir(".") == (
            DirEntry(name="link", kind="link"),
            DirEntry(name="pipe", kind="pipe"),
            DirEntry(name="socket", kind="socket"),
        )


@pytest.mark.req("BLT-22")
async def test_replacing_keeps_mode_bits_and_is_one_step(root: Path, workspace: LocalWorkspace) -> None:
    path = root / "run.sh"
    path.write_text("old")
    path.chmod(0o750)
    held = path.open()
    version = (await workspace.read("run.sh", max_bytes=9)).version

    await workspace.write("run.sh", b"new", expect=version)
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert path.read_text() == "new"
    with held:
        assert held.read() == "old"
    await workspace.copy("run.sh", "copy.sh")
    assert stat.S_IMODE((root / "copy.sh").stat().st_mode) == 0o750
    assert sorted(os.listdir(root)) == ["copy.sh", "run.sh"]


@pytest.mark.req("BLT-22")
async def test_a_write_that_fails_half_way_leaves_the_old_content(root: Path, workspace: LocalWorkspace) -> None:
    (root / "a").write_bytes(b"old" * 100)
    version = (await workspace.read("a", max_bytes=999)).version
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, hard))
    try:
        for path, expect in (("a", version), ("b", None)):
            with pytest.raises(ToolError, match="File too large"):
                await workspace.write(path, b"x" * MEGABYTE, expect=expect)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (root / "a").read_bytes() == b"old" * 100
    assert os.listdir(root) == ["a"]


WRITER = """
import sys, anyio
from hilt.adapters.workspace_local import LocalWorkspace
async def main():
    workspace = LocalWorkspace(sys.argv[1])
    fill = 0
    while True:
        version = (await workspace.read("a", max_bytes=1 << 21)).version
        fill = (fill + 1) % 26
        await workspace.write("a", bytes([97 + fill]) * (1 << 20), expect=version)
        print("wrote", flush=True)
anyio.run(main)
"""


@pytest.mark.req("BLT-22")
def test_a_writer_that_is_killed_leaves_one_whole_content(root: Path) -> None:
    (root / "a").write_bytes(b"a" * MEGABYTE)

    for writes in range(4):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(root)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(writes + 1):
                assert writer.stdout.readline() == "wrote\n"
            writer.kill()
        content = (root / "a").read_bytes()
        assert content == content[:1] * MEGABYTE


async def test_a_large_file_has_a_version_that_tells_changes(root: Path, workspace: LocalWorkspace) -> None:
    with (root / "large").open("wb") as file:
        file.truncate(HASHED_MAX_BYTES + 1)
    before = await workspace.read_window("large", first=1, count=1, line_max_bytes=5)
    os.utime(root / "large", ns=(1, 1))
    after = await workspace.read_window("large", first=1, count=1, line_max_bytes=5)

    assert before.version != after.version
    assert before.size_bytes == HASHED_MAX_BYTES + 1
    with pytest.raises(ToolError, match="read it again"):
        await workspace.write("large", b"", expect=before.version)
    assert (await workspace.write("large", b"", expect=after.version)).startswith("sha256:")


@pytest.mark.req("BLT-19")
async def test_a_search_ends_with_its_time_and_the_loop_answers_meanwhile(root: Path) -> None:
    (root / "a.txt").write_text("hit\n")
    (root / "slow.txt").write_bytes(ONE_LONG_LINE)
    workspace = LocalWorkspace(root, search_budget_s=0.2)
    beats = 0
    done = anyio.Event()

    async def beat() -> None:
        nonlocal beats
        while not done.is_set():
            beats += 1
            await anyio.sleep(0.005)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        with anyio.fail_after(10):
            found = await workspace.grep(GrepQuery(pattern="hit|a[ab]{900}c"))
        done.set()
    assert [one.path for one in found.files] == ["a.txt"]
    assert found.timed_out
    assert beats > 10
    assert SEARCH_BUDGET_S == 20


@pytest.mark.req("BLT-19")
async def test_a_walk_ends_with_its_time(root: Path) -> None:
    (root / "a").write_text("")
    workspace = LocalWorkspace(root, search_budget_s=0.0)

    found = await workspace.glob(GlobQuery(pattern="**"))
    assert (found.paths, found.timed_out) == ((), True)


async def test_a_search_can_be_cancelled(root: Path) -> None:
    (root / "slow.txt").write_bytes(ONE_LONG_LINE)
    workspace = LocalWorkspace(root)

    with anyio.fail_after(10), anyio.move_on_after(0.05) as scope:
        await workspace.grep(GrepQuery(pattern="a[ab]{900}c"))
    assert scope.cancelled_caught


async def test_names_that_are_not_utf_8_are_found(root: Path, workspace: LocalWorkspace) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"hit")

    (path,) = (await workspace.glob(GlobQuery(pattern="caf?.txt"))).paths
    assert await read(workspace, path) == b"hit"
    assert (await workspace.grep(GrepQuery(pattern="hit"))).files[0].path == path
    assert (await workspace.locate(path)).written == path
    with pytest.raises(ToolError):
        await read(workspace, "\ud800")


async def test_what_cannot_be_read_is_counted(root: Path, workspace: LocalWorkspace) -> None:
    deep = root
    for _ in range(12):
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    with contextlib.chdir(deep):  # below it, paths are longer than the system takes
        for _ in range(10):
            os.mkdir("e" * 250)
            os.chdir("e" * 250)
        Path("f").write_text("hit")

    found = await workspace.glob(GlobQuery(pattern="**/f"))
    assert len(found.paths) + found.unreadable == 1  # by parts a walk gets there
    with pytest.raises(ToolError):
        await workspace.stat("n" * 300)


def test_a_root_must_be_a_directory_and_is_closed_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "missing"):
        with pytest.raises(OSError, match=name):
            LocalWorkspace(tmp_path / name)
    root = Beneath(str(tmp_path))
    root.close()
    root.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        root.open("file", os.O_RDONLY)


class _Refusing:
    """A C library whose calls all fail with one error."""

    def __init__(self, code: int) -> None:
        self._code = code

    def syscall(self, *_: object) -> int:
        ctypes.set_errno(self._code)
        return -1

    renameat2 = syscall


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EPERM, errno.EAGAIN])
def test_a_kernel_that_refuses_the_guarded_open_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    (tmp_path / "a").write_text("1")
    monkeypatch.setattr(beneath, "_libc", lambda: _Refusing(code))
    root = Beneath(str(tmp_path))

    if code == errno.EAGAIN:
        with pytest.raises(BlockingIOError):
            root.open("a", os.O_RDONLY)
        return
    for _ in range(2):
        os.close(root.open("a", os.O_RDONLY))


@pytest.mark.req("BLT-26")
def test_without_the_guarded_rename_nothing_is_overwritten_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beneath, "_libc", lambda: _Refusing(errno.EINVAL))
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d").mkdir()
    (tmp_path / "e").mkdir()
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        for source, target in (("a", "b"), ("d", "e")):
            with pytest.raises(FileExistsError):
                rename_new(source, fd, target, fd)
        rename_new("a", fd, "c", fd)
        rename_new("d", fd, "f", fd)
    finally:
        os.close(fd)
    assert sorted(os.listdir(tmp_path)) == ["b", "c", "e", "f"]


async def test_a_move_between_disks_takes_a_file_and_refuses_a_directory(tmp_path: Path) -> None:
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        return
    with tempfile.TemporaryDirectory(dir=other) as extra:
        workspace = LocalWorkspace(tmp_path, [extra])
        (tmp_path / "file").write_text("1")
        (tmp_path / "directory").mkdir()

        await workspace.move("file", f"{extra}/sub/file")
        assert Path(extra, "sub", "file").read_text() == "1"
        assert not (tmp_path / "file").exists()
        with pytest.raises(ToolError, match="another disk"):
            await workspace.move("directory", f"{extra}/directory")
        await workspace.move(f"{extra}/sub", f"{extra}/moved")
