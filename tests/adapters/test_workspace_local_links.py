"""Where paths lead on a disk: through links, into extra roots, never out."""

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from hilt.adapters.workspace_local import LocalWorkspace
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.files.query import GlobQuery, GrepQuery
from hilt.ports.workspace import Located

MEGABYTE = 1 << 20


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


@pytest.mark.req("BLT-10")
async def test_links_that_stay_inside_work_and_those_that_lead_out_do_not(
    root: Path, workspace: LocalWorkspace
) -> None:
    (root / "real").mkdir()
    (root / "real" / "x").write_text("inside")
    for name, target in (
        ("in", "real"),
        ("in-absolute", str(root / "real")),
        ("file", "real/x"),
        ("up-and-back", "../ws/real/x"),
        ("out", ".."),
        ("out-absolute", "/etc"),
        ("out-file", "../outside.txt"),
        ("dangling-out", "../not-there"),
        ("loop", "loop"),
        ("system", "/proc/self/environ"),
    ):
        (root / name).symlink_to(target)

    for path in ("in/x", "in-absolute/x", "file", "up-and-back"):
        assert await read(workspace, path) == b"inside"
    for path in ("out/outside.txt", "out-absolute/passwd", "out-file", "dangling-out", "system"):
        assert await refusal(workspace, path) is ErrorCode.ACCESS_DENIED
    assert await refusal(workspace, "loop") is ErrorCode.EXECUTION_FAILED
    assert await workspace.locate("in/x") == Located(written="in/x", resolved="real/x")
    assert (await workspace.locate("out/outside.txt")).resolved == str(root.parent / "outside.txt")
    assert [entry.name for entry in await workspace.list_dir("in")] == ["x"]


@pytest.mark.req("BLT-10")
async def test_nothing_is_changed_through_a_link_that_leads_out(root: Path, workspace: LocalWorkspace) -> None:
    (root / "notes").symlink_to("../outside.txt")
    (root / "sub").symlink_to("..")
    (root / "dangling").symlink_to("../made")
    (root / "a").write_text("a")
    before = sorted(os.listdir(root.parent))

    for path in ("notes", "sub/made", "sub/deep/made", "dangling"):
        with pytest.raises(ToolError):
            await workspace.write(path, b"2", expect=None)
    for path in ("sub/made", "sub/outside.txt", "sub/deep/made"):
        with pytest.raises(ToolError):
            await workspace.copy("a", path)
        with pytest.raises(ToolError):
            await workspace.move("a", path)
    with pytest.raises(ToolError):
        await workspace.remove("sub/outside.txt")
    with pytest.raises(ToolError):
        await workspace.copy("notes", "b")
    assert sorted(os.listdir(root.parent)) == before
    assert (root.parent / "outside.txt").read_text() == "secret"


async def test_writing_through_a_link_changes_its_target_and_keeps_the_link(
    root: Path, workspace: LocalWorkspace
) -> None:
    (root / "real").write_text("1")
    (root / "link").symlink_to("real")
    (root / "dangling").symlink_to("deep/made")

    version = (await workspace.read("link", max_bytes=9)).version
    await workspace.write("link", b"2", expect=version)
    await workspace.write("dangling", b"3", expect=None)
    assert ((root / "real").read_text(), (root / "deep/made").read_text()) == ("2", "3")
    assert (root / "link").is_symlink()
    await workspace.move("link", "moved")
    await workspace.remove("moved")
    assert (root / "real").read_text() == "2"
    with pytest.raises(ToolError):
        await workspace.copy("real", "dangling")


@pytest.mark.req("BLT-10")
async def test_a_root_that_is_the_whole_disk_still_hides_the_system(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1")
    (tmp_path / "inside").symlink_to("x")
    (tmp_path / "system").symlink_to("/proc/self/environ")
    (tmp_path / "relative").symlink_to("../" * 20 + "proc/self/environ")
    workspace = LocalWorkspace("/")

    assert await read(workspace, str(tmp_path / "inside")) == b"1"
    for path in (
        "proc/self/environ",
        "/sys/kernel",
        "dev/zero",
        f"{tmp_path}/system",
        f"{tmp_path}/relative",
    ):
        with pytest.raises(ToolError) as caught:
            await workspace.stat(path)
        assert caught.value.code is ErrorCode.ACCESS_DENIED


@pytest.mark.req("BLT-10")
async def test_paths_of_an_extra_root_are_absolute(tmp_path: Path) -> None:
    for name in ("ws", "extra", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.txt").write_text(f"in {name}\n")
    (tmp_path / "alias").symlink_to("extra")
    (tmp_path / "ws" / "link").symlink_to("../extra")
    workspace = LocalWorkspace(tmp_path / "ws", [tmp_path / "alias"])
    extra = str(tmp_path / "extra")

    for path in (f"{extra}/f.txt", f"{tmp_path}/alias/f.txt", "../extra/f.txt", "link/f.txt"):
        assert await read(workspace, path) == b"in extra\n"
    with pytest.raises(ToolError):
        await read(workspace, f"{tmp_path}/other/f.txt")
    assert await workspace.locate("link/f.txt") == Located(written="link/f.txt", resolved=f"{extra}/f.txt")
    assert (await workspace.glob(GlobQuery(pattern="*", path=extra))).paths == (f"{extra}/f.txt",)
    found = await workspace.grep(GrepQuery(pattern="in", path=f"{tmp_path}/alias"))
    assert [one.path for one in found.files] == [f"{extra}/f.txt"]
    await workspace.move("f.txt", f"{extra}/moved.txt")
    assert (tmp_path / "extra" / "moved.txt").read_text() == "in ws\n"


async def test_a_home_path_counts_where_a_root_holds_it(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    (home / "of-mine").mkdir(exist_ok=True)
    (home / "of-mine" / "x").write_text("home")
    workspace = LocalWorkspace(tmp_path, [home / "of-mine"])

    assert await read(workspace, "~/of-mine/x") == b"home"
    with pytest.raises(ToolError):
        await workspace.stat("~")


@pytest.mark.req("BLT-10")
def test_no_swap_of_a_link_in_time_leads_out(root: Path) -> None:
    (root / "real").mkdir()
    (root / "real" / "f").write_text("inside")
    (root.parent / "f").write_text("secret")
    (root / "link").symlink_to("..")
    workspace = LocalWorkspace(root)
    stopped = threading.Event()

    def swap() -> None:
        while not stopped.is_set():
            os.rename(root / "real", root / "spare")
            os.rename(root / "link", root / "real")
            os.rename(root / "real", root / "link")
            os.rename(root / "spare", root / "real")

    async def look() -> set[bytes]:
        seen: set[bytes] = set()
        for _ in range(1500):
            with contextlib.suppress(ToolError):
                seen.add((await workspace.read("real/f", max_bytes=99)).content)
        return seen

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        assert anyio.run(look) <= {b"inside"}
    finally:
        stopped.set()
        swapper.join()


@pytest.mark.req("BLT-10")
async def test_a_root_in_a_root_belongs_to_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "f").write_text("1")
    workspace = LocalWorkspace(tmp_path, [tmp_path / "inner"])

    found = await workspace.glob(GlobQuery(pattern="*", path=str(tmp_path / "inner")))
    assert found.paths == ("inner/f",)
