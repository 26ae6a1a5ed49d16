"""The contract of `Workspace`, over every adapter of it."""

from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.workspace import InMemoryWorkspace
from hilt.adapters.workspace_local import LocalWorkspace
from hilt.core.errors import ErrorCode, ToolError
from hilt.core.files.query import FileMatches, GlobFound, GlobQuery, GrepFound, GrepQuery, NumberedLine
from hilt.ports.workspace import (
    LEDGER_MAX_FILES,
    DirEntry,
    FileBytes,
    FileStat,
    FileVersion,
    Located,
    ReadLedger,
    Workspace,
)

Make = Callable[[Mapping[str, bytes]], Workspace]


def _on_disk(root: Path, files: Mapping[str, bytes], *, one_step: bool) -> Workspace:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return LocalWorkspace(root, one_step=one_step)


WORKSPACES: dict[str, Callable[[Path, Mapping[str, bytes]], Workspace]] = {
    "memory": lambda root, files: InMemoryWorkspace(files, root=str(root)),
    "local": lambda root, files: _on_disk(root, files, one_step=True),
    "local-by-parts": lambda root, files: _on_disk(root, files, one_step=False),
}


@pytest.fixture(params=WORKSPACES)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "ws-other").mkdir()
    (tmp_path / "ws-other" / "x").write_text("secret")
    return lambda files: WORKSPACES[request.param](root, files)


async def test_a_path_is_located_as_text_relative_to_the_root(make: Make) -> None:
    workspace = make({"docs/a.md": b""})

    for path in ("docs/a.md", "./docs//x/../a.md", f"{workspace.name}/docs/a.md"):
        assert await workspace.locate(path) == Located(written="docs/a.md", resolved="docs/a.md")
    assert await workspace.locate(".") == Located(written=".", resolved=".")
    assert (await workspace.locate("/nowhere/x")).written == "/nowhere/x"
    assert (await workspace.locate("no\0where")).written == "no\0where"


@pytest.mark.req("BLT-10")
async def test_every_method_refuses_what_lies_outside_and_names_no_foreign_path(make: Make) -> None:
    workspace = make({"a": b"1"})
    outside = (
        "../ws-other/x",
        f"{workspace.name}-other/x",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/null",
        "~/x",
    )

    for path in outside:
        for attempt in (
            workspace.stat(path),
            workspace.list_dir(path),
            workspace.read(path, max_bytes=10),
            workspace.read_window(path, first=1, count=1, line_max_bytes=10),
            workspace.glob(GlobQuery(pattern="*", path=path)),
            workspace.grep(GrepQuery(pattern="x", path=path)),
            workspace.write(path, b"", expect=None),
            workspace.copy(path, "b"),
            workspace.copy("a", path),
            workspace.move(path, "b"),
            workspace.move("a", path),
            workspace.remove(path),
        ):
            with pytest.raises(ToolError) as caught:
                await attempt
            assert caught.value.code is ErrorCode.ACCESS_DENIED
            assert not path.startswith("/") or path not in caught.value.reason


async def test_stat_tells_kinds_and_none_for_nothing(make: Make) -> None:
    workspace = make({"a/b.txt": b"12345"})

    assert await workspace.stat("a/b.txt") == FileStat(kind="file", size_bytes=5)
    found = await workspace.stat("a")
    assert found is not None
    assert found.kind == "directory"
    assert (await workspace.stat(".")) is not None
    assert await workspace.stat("a/c") is None
    assert await workspace.stat("a/b.txt/c") is None


async def test_a_directory_is_listed_by_name(make: Make) -> None:
    workspace = make({"z": b"", "a/b/c": b"", "B": b""})

    assert await workspace.list_dir(".") == (
        DirEntry(name="B", kind="file"),
        DirEntry(name="a", kind="directory"),
        DirEntry(name="z", kind="file"),
    )
    for path in ("z", "nothing"):
        with pytest.raises(ToolError, match=path):
            await workspace.list_dir(path)


async def test_a_file_is_read_whole_up_to_a_limit(make: Make) -> None:
    workspace = make({"a": b"\xff\x00x", "d/e": b""})

    found = await workspace.read("a", max_bytes=3)
    assert found == FileBytes(content=b"\xff\x00x", version=found.version)
    for path, words in (("a", "too many"), ("d", "directory"), ("b", "does not exist"), ("a\0", "NUL")):
        with pytest.raises(ToolError, match=words if path != "a\0" else ".") as caught:
            await workspace.read(path, max_bytes=2)
        assert caught.value.code is ErrorCode.EXECUTION_FAILED


async def test_a_window_has_the_asked_for_lines_and_counts_all(make: Make) -> None:
    workspace = make({"a": b"one\r\ntwo\nthree", "empty": b"", "ended": b"x\n"})

    found = await workspace.read_window("a", first=1, count=2, line_max_bytes=100)
    assert (found.lines, found.total_lines, found.size_bytes) == ((b"one", b"two"), 3, 14)
    assert found.head == b"one\r\ntwo\nthree"
    assert found.version == (await workspace.read("a", max_bytes=100)).version
    last = await workspace.read_window("a", first=3, count=5, line_max_bytes=2)
    assert last.lines == (b"th",)
    assert (await workspace.read_window("a", first=4, count=1, line_max_bytes=9)).lines == ()
    assert (await workspace.read_window("empty", first=1, count=1, line_max_bytes=9)).total_lines == 0
    assert (await workspace.read_window("ended", first=1, count=9, line_max_bytes=9)).total_lines == 1


async def test_a_new_file_is_made_with_its_parents_and_never_over_another(make: Make) -> None:
    workspace = make({"old": b"1", "d/x": b""})

    version = await workspace.write("new/deep/file", b"text", expect=None)
    assert await workspace.read("new/deep/file", max_bytes=9) == FileBytes(content=b"text", version=version)
    for path in ("old", "d", "old/below"):
        with pytest.raises(ToolError) as caught:
            await workspace.write(path, b"2", expect=None)
        assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert (await workspace.read("old", max_bytes=9)).content == b"1"


async def test_a_file_is_replaced_only_in_the_expected_version(make: Make) -> None:
    workspace = make({"a": b"1"})
    first = (await workspace.read("a", max_bytes=9)).version

    second = await workspace.write("a", b"2", expect=first)
    assert second != first
    with pytest.raises(ToolError, match="read it again"):
        await workspace.write("a", b"3", expect=first)
    assert (await workspace.read("a", max_bytes=9)).content == b"2"
    with pytest.raises(ToolError, match="does not exist"):
        await workspace.write("gone", b"3", expect=first)


async def test_of_many_writers_with_one_version_one_wins(make: Make) -> None:
    workspace = make({"a": b"start"})
    version = (await workspace.read("a", max_bytes=9)).version
    done: list[bytes] = []

    async def attempt(content: bytes, expect: FileVersion | None, path: str) -> None:
        try:
            await workspace.write(path, content, expect=expect)
        except ToolError:
            return
        done.append(content)

    for path, expect in (("a", version), ("fresh", None)):
        done.clear()
        async with anyio.create_task_group() as group:
            for number in range(12):
                group.start_soon(attempt, b"by %d" % number, expect, path)
        assert done == [(await workspace.read(path, max_bytes=9)).content]


@pytest.mark.req("BLT-26")
async def test_copy_and_move_never_overwrite(make: Make) -> None:
    workspace = make({"a": b"1", "b": b"2", "d/e": b"3"})

    await workspace.copy("a", "x/copy")
    await workspace.move("b", "x/moved")
    await workspace.move("d", "x/dir")
    names = [entry.name for entry in await workspace.list_dir("x")]
    assert names == ["copy", "dir", "moved"]
    assert (await workspace.read("x/dir/e", max_bytes=9)).content == b"3"
    assert await workspace.stat("b") is None
    for source, target in (("a", "x/copy"), ("a", "x"), ("x/dir", "y"), ("gone", "y")):
        with pytest.raises(ToolError):
            await workspace.copy(source, target)
    for source, target in (("a", "x/copy"), ("a", "x/dir"), ("gone", "y"), (".", "y"), ("x", "x/dir/in")):
        with pytest.raises(ToolError):
            await workspace.move(source, target)
    assert (await workspace.read("x/copy", max_bytes=9)).content == b"1"
    assert (await workspace.read("a", max_bytes=9)).content == b"1"


@pytest.mark.req("BLT-26")
async def test_remove_takes_one_thing_and_never_descends(make: Make) -> None:
    workspace = make({"a": b"1", "d/e": b"3"})

    with pytest.raises(ToolError):
        await workspace.remove("d")
    await workspace.remove("d/e")
    await workspace.remove("d")
    await workspace.remove("a")
    assert await workspace.list_dir(".") == ()
    for path in ("a", "."):
        with pytest.raises(ToolError):
            await workspace.remove(path)


async def test_glob_finds_by_path_and_counts_what_it_leaves_out(make: Make) -> None:
    workspace = make({"b.py": b"", "a/x.py": b"", "a/b/y.py": b"", "a/n.md": b"", ".h/z.py": b""})

    assert await workspace.glob(GlobQuery(pattern="**/*.py")) == GlobFound(
        paths=(".h/z.py", "a/b/y.py", "a/x.py", "b.py")
    )
    assert await workspace.glob(GlobQuery(pattern="**/*.py", limit=1)) == GlobFound(paths=(".h/z.py",), left_out=3)
    assert (await workspace.glob(GlobQuery(pattern="*.py", path="a"))).paths == ("a/x.py",)
    assert (await workspace.glob(GlobQuery(pattern="b/*", path="a"))).paths == ("a/b/y.py",)
    assert (await workspace.glob(GlobQuery(pattern="a/*/"))).paths == ("a/b/",)
    assert (await workspace.glob(GlobQuery(pattern="nowhere/*"))).paths == ()
    for path in ("nowhere", "b.py"):
        with pytest.raises(ToolError):
            await workspace.glob(GlobQuery(pattern="*", path=path))


@pytest.mark.req("BLT-17")
async def test_searches_leave_out_git_and_what_gitignore_names(make: Make) -> None:
    workspace = make(
        {
            ".gitignore": b"*.log\n/out/\n!keep.log\n",
            ".git/config": b"hit",
            "a.log": b"hit",
            "keep.log": b"hit",
            "out/x": b"hit",
            "sub/.gitignore": b"keep.log\n!a.log\n",
            "sub/keep.log": b"hit",
            "sub/a.log": b"hit",
            "sub/out/y": b"hit",
        }
    )

    found = await workspace.glob(GlobQuery(pattern="**/*"))
    assert found.paths == (".gitignore", "keep.log", "sub/.gitignore", "sub/a.log", "sub/out/y")
    assert found.ignored == 3
    grepped = await workspace.grep(GrepQuery(pattern="^hit$", lines_wanted=False))
    assert [one.path for one in grepped.files] == ["keep.log", "sub/a.log", "sub/out/y"]
    below = await workspace.grep(GrepQuery(pattern="hit", path="sub", lines_wanted=False))
    assert [one.path for one in below.files] == ["sub/a.log", "sub/out/y"]
    assert (await workspace.glob(GlobQuery(pattern="*", path=".git"))).paths == ()
    everything = await workspace.glob(GlobQuery(pattern="**", include_ignored=True))
    assert len(everything.paths) == 9
    assert everything.ignored == 0


async def test_grep_gives_lines_with_context_and_passes_over_what_is_no_text(make: Make) -> None:
    workspace = make(
        {
            "a.txt": b"one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n",
            "b.bin": b"two\0",
            "big.txt": b"two\n" + b"x" * (10 << 20),
            "c.md": b"two\n",
        }
    )

    found = await workspace.grep(GrepQuery(pattern="^two$|five", context=1))
    assert found == GrepFound(
        files=(
            FileMatches(
                path="a.txt",
                count=2,
                groups=(
                    (
                        NumberedLine(1, b"one", matches=False),
                        NumberedLine(2, b"two"),
                        NumberedLine(3, b"three", matches=False),
                        NumberedLine(4, b"four", matches=False),
                        NumberedLine(5, b"five"),
                    ),
                ),
            ),
            FileMatches(path="c.md", count=1, groups=((NumberedLine(1, b"two"),),)),
        ),
        binary=1,
        too_large=1,
    )
    filtered = await workspace.grep(GrepQuery(pattern="TWO", ignore_case=True, glob="*.{md,bin}"))
    assert [one.path for one in filtered.files] == ["c.md"]
    single = await workspace.grep(GrepQuery(pattern="two", path="c.md"))
    assert [one.path for one in single.files] == ["c.md"]
    with pytest.raises(ToolError, match="does not exist"):
        await workspace.grep(GrepQuery(pattern="two", path="nowhere"))


async def test_grep_stops_at_its_limit_and_says_that_there_is_more(make: Make) -> None:
    workspace = make({"a": b"x\nx\nx\n", "b": b"x\n", "c": b"y\n"})

    found = await workspace.grep(GrepQuery(pattern="x", limit=2))
    assert [(one.path, one.count) for one in found.files] == [("a", 2)]
    assert found.more
    exact = await workspace.grep(GrepQuery(pattern="x", limit=4))
    assert [one.count for one in exact.files] == [3, 1]
    assert not exact.more
    counted = await workspace.grep(GrepQuery(pattern="x", limit=1, lines_wanted=False))
    assert [(one.path, one.count) for one in counted.files] == [("a", 3)]
    assert counted.more


def test_a_ledger_survives_export_and_keeps_what_was_touched_last() -> None:
    ledger = ReadLedger()
    for number in range(LEDGER_MAX_FILES + 1):
        ledger.note(f"f/{number}", FileVersion("v"))
    ledger.note("g", FileVersion("w"))

    assert ledger.seen("f/0") is None
    assert ledger.seen("f/1") is None
    ledger = ReadLedger(ledger.exported())
    assert ledger.seen("g") == "w"
    ledger.rename("f", "h")
    assert (ledger.seen("h/2"), ledger.seen("f/2")) == ("v", None)
    ledger.forget("g")
    assert ledger.seen("g") is None
