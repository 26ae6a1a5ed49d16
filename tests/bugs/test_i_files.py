"""Public bug reports on file tools, kind (i)."""

import json
from pathlib import Path

import pytest

from hilt.core.errors import ErrorCode, ToolError
from tests.builtins.files_runs import Files

EDITS = json.loads((Path(__file__).parent / "inputs" / "i_edits.json").read_text())["edits"]


@pytest.mark.req("BLT-23", "BLT-24")
@pytest.mark.parametrize("case", EDITS, ids=[f"{n}-{one['case']}" for n, one in enumerate(EDITS)])
@pytest.mark.parametrize("everywhere", [False, True], ids=["once", "all"])
async def test_an_edit_is_plain_text_and_keeps_every_other_byte(
    tmp_path: Path, case: dict[str, str | None], everywhere: bool
) -> None:
    before = bytes.fromhex(str(case["before"]))
    (tmp_path / "f").write_bytes(before)
    files = Files.at(tmp_path)
    replace_all = bool(case.get("replace_all")) or everywhere
    args: dict[str, object] = {
        "path": "f",
        "old_string": case["old"],
        "new_string": case["new"],
        "replace_all": replace_all,
    }
    several = case["after"] is None and case["old"] == "x"

    if case["after"] is None and not (several and everywhere):
        with pytest.raises(ToolError, match="2 times" if several else None):
            await read_and_edit(files, args)
        assert (tmp_path / "f").read_bytes() == before
        return
    await read_and_edit(files, args)
    after = bytes.fromhex(str(case["after"])) if case["after"] else before.replace(b"x", b"z")
    assert (tmp_path / "f").read_bytes() == after
    assert b"\xef\xbf\xbd" not in after


async def read_and_edit(files: Files, args: dict[str, object]) -> None:
    await files.call("Read", path="f")
    await files.call("Edit", **args)


@pytest.mark.req("BLT-10")
async def test_a_link_that_leaves_the_workspace_is_neither_read_nor_written(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    (root / "real").mkdir(parents=True)
    (root / "real" / "x").write_text("1")
    (root / "notes.md").symlink_to("../outside.txt")
    (root / "sub").symlink_to("..")
    (root / "in").symlink_to("real/")
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "ws-other").mkdir()
    (tmp_path / "ws-other" / "x").write_text("secret")
    before = sorted(tmp_path.rglob("*"))
    files = Files.at(root)

    for path in (
        "notes.md",
        "sub/outside.txt",
        "sub/new",
        "../outside.txt",
        str(tmp_path / "outside.txt"),
        "../ws-other/x",
        str(tmp_path / "ws-other" / "x"),
    ):
        for name, args in (
            ("Read", {}),
            ("Write", {"content": "2"}),
            ("Edit", {"old_string": "secret", "new_string": "2"}),
        ):
            assert (await files.error(name, path=path, **args)).code is ErrorCode.ACCESS_DENIED
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "outside.txt").read_text() == "secret"
    await files.call("Read", path="in/x")
    await files.call("Edit", path="in/x", old_string="1", new_string="2")
    assert (root / "real" / "x").read_text() == "2"


@pytest.mark.req("BLT-16")
async def test_a_search_pattern_is_never_an_option_and_a_bad_one_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text("run --verbose\ntry -e x\n")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "b.tsx").write_text("run\n")
    (tmp_path / "c.py").write_text("run\n")
    files = Files.at(tmp_path)

    assert await files.text("Grep", pattern="--verbose") == "a.ts:1:run --verbose"
    assert await files.text("Grep", pattern="-e x") == "a.ts:2:try -e x"
    for pattern, reason in (
        ("foo(", "missing )"),
        ("*", "repetition"),
        ("[", "missing ]"),
        ("", "characters"),
    ):
        error = await files.error("Grep", pattern=pattern)
        assert error.code is ErrorCode.INVALID_ARGUMENTS
        assert reason in error.reason
    assert await files.text("Grep", pattern="run", glob="**/*.{ts,tsx}", output="files") == "a.ts\nd/b.tsx"


@pytest.mark.req("BLT-16")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("2026/07/26.md", "2026/07/26.md"),
        ("2026/07/*.md", "2026/07/26.md"),
        ("**/26.md", "2026/07/26.md"),
        ("inbox.md", "inbox.md"),
        ("./inbox.md", "inbox.md"),
        ("a b/*.md", "a b/c.md"),
        (".hidden/*", ".hidden/x.md"),
        ("**/x.md", ".hidden/x.md"),
    ],
)
async def test_glob_finds_the_files_that_are_there(tmp_path: Path, pattern: str, expected: str) -> None:
    for name in ("2026/07/26.md", "inbox.md", ".hidden/x.md", "a b/c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    files = Files.at(tmp_path)

    assert [await files.text("Glob", pattern=pattern) for _ in range(2)] == [expected, expected]
