"""Command files of a directory: what is a command, and what is told of a file that is none."""

import os
from pathlib import Path

import pytest

from hilt.adapters.command_dir import CommandDirectory
from hilt.core.command import COMMAND_FILE_MAX_BYTES
from hilt.core.errors import RequestError


async def test_a_file_is_a_command_with_its_arguments_filled_in(tmp_path: Path) -> None:
    (tmp_path / "fix.issue-1.md").write_text("---\ndescription: Fixes.\n---\nFix $1 with $2.\n")
    (tmp_path / "plain.md").write_text("\ufeffDo it.\r\n")
    (tmp_path / "no command.md").write_text("x")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "folder.md").mkdir()
    source = CommandDirectory(tmp_path)
    assert source.names() == ["fix.issue-1", "plain"]
    assert [(e.kind, e.description, e.place) for e in source.entries()] == [
        ("command", "Fixes.", f"{tmp_path.name}/fix.issue-1.md"),
        ("command", "Do it.", f"{tmp_path.name}/plain.md"),
    ]
    assert await source.expand("/fix.issue-1 'a b' c") == "Fix a b with c."
    assert await source.expand("/plain") == "Do it."
    assert await source.expand("/other") is None
    (tmp_path / "plain.md").write_text("changed")
    assert await source.expand("/plain") == "Do it."


async def test_a_bad_file_is_left_out_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "bad.md").write_text("---\na: b: c\n---\nx")
    (tmp_path / "binary.md").write_bytes(b"\xff")
    (tmp_path / "huge.md").write_bytes(b"x" * (COMMAND_FILE_MAX_BYTES + 1))
    (tmp_path / "empty.md").write_text("")
    source = CommandDirectory(tmp_path, label="c")
    assert source.names() == ["empty"]
    assert [record.getMessage() for record in caplog.records] == [
        "command_left_out file=c/bad.md why=line 2: not valid YAML: mapping values are not allowed here;"
        " put the value in quotes",
        "command_left_out file=c/binary.md why=it is not UTF-8 text",
        f"command_left_out file=c/huge.md why=it is over {COMMAND_FILE_MAX_BYTES} bytes",
    ]
    with pytest.raises(RequestError, match=r"/empty: c/empty\.md is empty"):
        await source.expand("/empty")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    assert CommandDirectory(tmp_path).names() == []
