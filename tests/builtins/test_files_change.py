"""Write, Edit, Copy, Move and Remove."""

import stat
from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.workspace import InMemoryWorkspace
from hilt.adapters.workspace_local import LocalWorkspace
from hilt.core.errors import ErrorCode, ToolError
from hilt.ports.workspace import FileVersion, ReadLedger
from tests.builtins.files_runs import Files


@pytest.mark.req("BLT-20")
async def test_write_makes_a_file_with_its_parents(tmp_path: Path) -> None:
    files = Files.at(tmp_path)

    assert await files.text("Write", path="a/b/c.txt", content="é\n") == "created a/b/c.txt: 3 bytes"
    assert (tmp_path / "a/b/c.txt").read_bytes() == b"\xc3\xa9\n"


@pytest.mark.req("BLT-20")
async def test_of_many_that_make_one_file_one_succeeds(tmp_path: Path) -> None:
    sessions = [Files.at(tmp_path) for _ in range(8)]
    made: list[str] = []

    async def write(files: Files, content: str) -> None:
        try:
            await files.call("Write", path="new", content=content)
        except ToolError as exc:
            assert "new" in exc.reason  # noqa: PT017 - which of them fails is open
        else:
            made.append(content)

    async with anyio.create_task_group() as group:
        for number, files in enumerate(sessions):
            group.start_soon(write, files, f"by {number}")
    assert made == [(tmp_path / "new").read_text()]


class _Appearing(InMemoryWorkspace):
    """A workspace where another program makes the file just before it is written."""

    async def write(self, path: str, content: bytes, *, expect: FileVersion | None) -> FileVersion:
        await super().write(path, b"theirs", expect=None)
        return await super().write(path, content, expect=expect)


@pytest.mark.req("BLT-20")
async def test_a_file_that_appears_meanwhile_is_not_replaced() -> None:
    workspace = _Appearing()
    assert "exists already" in await Files(workspace).fails("Write", path="a", content="ours")
    assert (await workspace.read("a", max_bytes=9)).content == b"theirs"


@pytest.mark.req("BLT-21")
@pytest.mark.parametrize(
    ("name", "args"),
    [("Write", {"content": "new"}), ("Edit", {"old_string": "old", "new_string": "new"})],
)
async def test_only_a_file_that_was_read_and_is_unchanged_is_changed(
    tmp_path: Path, name: str, args: dict[str, str]
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    files = Files.at(tmp_path)

    assert "read it first" in await files.fails(name, path="a.txt", **args)
    await files.call("Read", path="./a.txt")
    path.write_text("old!")
    assert "read it again" in await files.fails(name, path="a.txt", **args)
    assert path.read_text() == "old!"
    await files.call("Read", path="a.txt")
    await files.call(name, path=str(path), **args)
    assert path.read_text() in ("new", "new!")


@pytest.mark.req("BLT-21")
async def test_a_ledger_that_was_stored_and_loaded_still_counts(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    files = Files.at(tmp_path)
    await files.call("Read", path="a")

    resumed = Files(LocalWorkspace(tmp_path), ReadLedger(files.ledger.exported()))
    assert await resumed.text("Write", path="a", content="22") == "overwritten a: 2 bytes"
    assert "read it again" in await files.fails("Write", path="a", content="3")


@pytest.mark.req("BLT-21", "BLT-22")
async def test_of_two_edits_at_once_one_wins_and_no_text_is_lost(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x y")
    sessions = [Files.at(tmp_path), Files.at(tmp_path)]
    for files in sessions:
        await files.call("Read", path="a")
    done: list[str] = []

    async def edit(files: Files, old: str) -> None:
        try:
            await files.call("Edit", path="a", old_string=old, new_string=old.upper())
        except ToolError:
            return
        done.append(old)

    async with anyio.create_task_group() as group:
        group.start_soon(edit, sessions[0], "x")
        group.start_soon(edit, sessions[1], "y")
    assert (tmp_path / "a").read_text() == {"x": "X y", "y": "x Y"}[done[0]]
    assert len(done) == 1


@pytest.mark.req("BLT-25")
async def test_after_its_own_change_a_session_changes_again(tmp_path: Path) -> None:
    files = Files.at(tmp_path)

    await files.call("Write", path="a", content="one two")
    await files.call("Edit", path="a", old_string="one", new_string="1")
    await files.call("Edit", path="a", old_string="two", new_string="2")
    await files.call("Write", path="a", content="three")
    await files.call("Move", source="a", destination="d/b")
    await files.call("Move", source="d", destination="e")
    await files.call("Edit", path="e/b", old_string="three", new_string="3")
    assert (tmp_path / "e/b").read_text() == "3"
    await files.call("Remove", path="e/b")
    (tmp_path / "e/b").write_text("3")
    assert "read it first" in await files.fails("Write", path="e/b", content="4")


@pytest.mark.req("BLT-22")
async def test_changing_keeps_the_mode_bits(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("old")
    path.chmod(0o741)
    files = Files.at(tmp_path)
    await files.call("Read", path="run")

    await files.call("Edit", path="run", old_string="old", new_string="mid")
    await files.call("Write", path="run", content="new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (0o741, "new")


@pytest.mark.req("BLT-22")
async def test_a_change_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    files = Files.at(tmp_path)
    await files.call("Read", path="a")

    for args in ({"content": "x" * (2 << 20) + "é"}, {"content": "é" * (1 << 20) + "e"}):
        assert (await files.error("Write", path="a", **args)).code is ErrorCode.INVALID_ARGUMENTS
    error = await files.error("Write", path="a", content="\ud800")
    assert error.code is ErrorCode.INVALID_ARGUMENTS
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


@pytest.mark.req("BLT-23")
async def test_each_way_an_edit_cannot_be_made_is_its_own_error(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one two two aaa\n")
    files = Files.at(tmp_path)
    await files.call("Read", path="a")

    for old, new, words in (
        ("three", "3", "does not occur"),
        ("two", "2", "occurs 2 times"),
        ("aa", "b", "occurs 2 times"),
        ("", "2", "is empty"),
        ("one", "one", "are equal"),
    ):
        assert words in await files.fails("Edit", path="a", old_string=old, new_string=new)
    assert path.read_text() == "one two two aaa\n"
    assert await files.text("Edit", path="a", old_string="one", new_string="1") == "1 replacement in a"
    assert (
        await files.text("Edit", path="a", old_string="two", new_string="2", replace_all=True) == "2 replacements in a"
    )
    assert path.read_text() == "1 2 2 aaa\n"


@pytest.mark.req("BLT-24")
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb\r\n", "b\r\n", b"b\r\n"),
        (b"a\r\nb\r\n", "\n", "", None),
        (b"a\r\nb\nc\r\nd\r\n", "b\nc", "b\nC", b"a\r\nb\nC\r\nd\r\n"),
        (b"a\nb\nc\r\n", "b\nc", "B\nc", b"a\nB\nc\r\n"),
        (b"\xef\xbb\xbfa\r\n", "a", "b\n", b"\xef\xbb\xbfb\r\n\r\n"),
    ],
)
async def test_an_edit_matches_lf_and_keeps_the_files_line_ends(
    tmp_path: Path, before: bytes, old: str, new: str, after: bytes | None
) -> None:
    path = tmp_path / "a"
    path.write_bytes(before)
    files = Files.at(tmp_path)
    await files.call("Read", path="a")

    if after is None:
        assert "2 times" in await files.fails("Edit", path="a", old_string=old, new_string=new)
        after = before
    else:
        await files.call("Edit", path="a", old_string=old, new_string=new)
    assert path.read_bytes() == after


async def test_an_edit_of_a_missing_or_huge_file_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"a\n" * (6 << 20))
    files = Files.at(tmp_path)
    await files.call("Read", path="huge")

    assert "too many" in await files.fails("Edit", path="huge", old_string="a", new_string="b")
    assert "does not exist" in await files.fails("Edit", path="b", old_string="a", new_string="b")


@pytest.mark.req("BLT-26")
async def test_copy_takes_one_regular_file_and_nothing_is_overwritten(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "dangling").symlink_to("nowhere")
    files = Files.at(tmp_path)

    assert await files.text("Copy", source="a", destination="x/c") == "copied a to x/c"
    assert await files.text("Copy", source="link", destination="x/d") == "copied link to x/d"
    assert not (tmp_path / "x/d").is_symlink()
    assert "is a directory" in await files.fails("Copy", source="d", destination="e")
    assert "did you mean" in await files.fails("Copy", source="linc", destination="e")
    for name in ("Copy", "Move"):
        for target in ("b", "d", "link", "dangling", "a"):
            assert "exists already" in await files.fails(name, source="a", destination=target)
    assert (tmp_path / "b").read_text() == "b"
    assert await files.text("Move", source="a", destination="y/z") == "moved a to y/z"
    assert (tmp_path / "y/z").read_text() == "a"
    assert "does not exist" in await files.fails("Move", source="a", destination="q")


@pytest.mark.req("BLT-26")
async def test_remove_takes_one_file_link_or_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "x").write_text("")
    (tmp_path / "link").symlink_to("d")
    files = Files.at(tmp_path)

    assert "with entries" in await files.fails("Remove", path="d")
    assert await files.text("Remove", path="link") == "removed link"
    assert (tmp_path / "d" / "x").exists()
    await files.call("Remove", path="d/x")
    await files.call("Remove", path="d")
    assert "does not exist" in await files.fails("Remove", path="d")
    assert "root" in await files.fails("Remove", path=".")
