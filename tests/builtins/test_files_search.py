"""Glob and Grep."""

from pathlib import Path

import anyio
import pytest

from hilt.adapters.inmemory.workspace import InMemoryWorkspace
from hilt.adapters.workspace_local import LocalWorkspace
from hilt.core.errors import ErrorCode
from hilt.core.files.search import EntryKind
from tests.builtins.files_runs import Files


def memory(files: dict[str, bytes | str]) -> Files:
    return Files(InMemoryWorkspace(files))


@pytest.mark.req("BLT-16")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["a.py", "b.md", "z[1].txt"]),
        ("?.py", ["a.py"]),
        ("[ab].*", ["a.py", "b.md"]),
        ("[!a].*", ["b.md"]),
        ("*.{py,md}", ["a.py", "b.md"]),
        ("**/*.{py,md}", ["a.py", "b.md", "d/c.py", "d/e/f.py"]),
        ("d/**", ["d/c.py", "d/e/f.py", "d/e/ö.txt"]),
        ("d/**/f.py", ["d/e/f.py"]),
        ("d/**/c.py", ["d/c.py"]),
        ("{d/e,nowhere}/*", ["d/e/f.py", "d/e/ö.txt"]),
        ("d/e/?.txt", ["d/e/ö.txt"]),
        ("z\\[1\\].txt", ["z[1].txt"]),
        ("./d/c.py", ["d/c.py"]),
        ("d/*/", ["d/e/"]),
    ],
)
async def test_glob_knows_its_signs(pattern: str, expected: list[str]) -> None:
    names = ("a.py", "b.md", "d/c.py", "d/e/f.py", "d/e/ö.txt", "z[1].txt")
    files = memory(dict.fromkeys(names, ""))

    assert (await files.text("Glob", pattern=pattern)).split("\n") == expected


@pytest.mark.req("BLT-16")
async def test_glob_shows_1000_paths_and_counts_the_rest() -> None:
    files = memory({f"d/{n:05}": "" for n in range(1002)})

    shown = (await files.text("Glob", pattern="**")).split("\n")
    assert len(shown) == 1001
    assert shown[-2:] == ["d/00999", "(2 more left out)"]
    assert await files.text("Glob", pattern="x*") == "(no file matches)"


@pytest.mark.parametrize("pattern", ["", "/etc/*", "../*", "{a", "[a", "[b-a]", "."])
async def test_a_bad_glob_is_an_error(pattern: str) -> None:
    files = memory({"a": ""})
    assert (await files.error("Glob", pattern=pattern)).code is ErrorCode.INVALID_ARGUMENTS
    if pattern:
        error = await files.error("Grep", pattern="x", glob=pattern)
        assert error.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.req("BLT-17")
async def test_ignored_files_are_left_out_told_and_shown_on_demand() -> None:
    files = memory({".gitignore": "*.log\n", "a.log": "hit", "b": "hit", ".git/HEAD": "hit"})

    left_out = "(1 ignored by .gitignore or below .git left out; include_ignored shows them)"
    assert await files.text("Grep", pattern="hit") == f"b:1:hit\n{left_out}"
    assert await files.text("Glob", pattern="*") == f".gitignore\nb\n{left_out}"
    assert await files.text("Grep", pattern="hit", output="files", include_ignored=True) == (".git/HEAD\na.log\nb")
    assert "a.log" in await files.text("Glob", pattern="*", include_ignored=True)


async def test_grep_shows_lines_context_files_and_counts() -> None:
    files = memory({"a": "1\nhit\n3\n4\n5\nhit\nhit\n", "d/b": "HIT\n"})

    assert await files.text("Grep", pattern="hit") == "a:2:hit\na:6:hit\na:7:hit"
    assert await files.text("Grep", pattern="hit", context=1, ignore_case=True) == (
        "a-1-1\na:2:hit\na-3-3\n--\na-5-5\na:6:hit\na:7:hit\n--\nd/b:1:HIT"
    )
    assert await files.text("Grep", pattern="hit", output="files") == "a"
    assert await files.text("Grep", pattern="hit", output="count") == "a:3"
    assert await files.text("Grep", pattern="h.t", literal=True) == "(no line matches)"
    assert await files.text("Grep", pattern="hit", path="a", context=0) == "a:2:hit\na:6:hit\na:7:hit"


@pytest.mark.req("BLT-18")
async def test_grep_shows_200_matches_and_cuts_lines() -> None:
    files = memory({"a": "hit\n" * 250, "b": "x" * 499 + "é" + "y" * 20})

    shown = (await files.text("Grep", pattern="hit")).split("\n")
    assert len(shown) == 201
    assert shown[-1].startswith("(more than 200 matches")
    assert await files.text("Grep", pattern="y", path="b") == "b:1:" + "x" * 499 + "é [line cut]"


@pytest.mark.req("BLT-18")
async def test_grep_passes_over_binary_and_large_files_and_counts_them() -> None:
    files = memory({"a": "hit", "b": b"hit\0", "c": b"\0", "d": "hit" + "x" * (10 << 20)})

    assert await files.text("Grep", pattern="hit") == "a:1:hit\n(2 binary passed over)\n(1 over 10 MiB passed over)"


@pytest.mark.req("BLT-19")
async def test_a_search_out_of_time_returns_what_it_has_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hit")
    files = Files(LocalWorkspace(tmp_path, search_budget_s=0.0))
    in_memory = Files(InMemoryWorkspace({"a": "hit"}, search_budget_s=0.0))

    with anyio.fail_after(5):
        for one in (files, in_memory):
            for name in ("Grep", "Glob"):
                assert "stopped for want of time" in await one.text(name, pattern="hit")


@pytest.mark.req("BLT-10")
async def test_searches_stay_inside(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "secret").write_text("hit")
    (root / "up").symlink_to("..")
    (root / "file").symlink_to("../secret")
    files = Files.at(root)

    assert await files.text("Grep", pattern="hit") == "(no line matches)"
    assert await files.text("Glob", pattern="**") == "file\nup"
    for args in ({"path": "up"}, {"path": ".."}, {"path": "file"}):
        assert (await files.error("Grep", pattern="hit", **args)).code is ErrorCode.ACCESS_DENIED
    assert (await files.error("Glob", pattern="up/*")).code is ErrorCode.ACCESS_DENIED


class _Locked(InMemoryWorkspace):
    """A workspace with a file and a directory that nobody may read."""

    def entries(self, path: str) -> list[tuple[str, EntryKind]]:
        if path == "locked":
            raise PermissionError
        return super().entries(path)

    def content(self, path: str, max_bytes: int) -> bytes | None:
        if path == "secret":
            raise PermissionError
        return super().content(path, max_bytes)


async def test_what_cannot_be_read_is_told() -> None:
    files = Files(_Locked({"a": "hit", "locked/x": "hit", "secret": "hit"}))
    assert await files.text("Grep", pattern="hit") == "a:1:hit\n(2 could not be read)"
