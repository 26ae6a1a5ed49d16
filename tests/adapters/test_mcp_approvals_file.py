from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from hilt.adapters import mcp_approvals_file
from hilt.adapters.mcp_approvals_file import FILE_NAME, McpApprovals
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec
from hilt.core.mcp_entry import admitted

ENTRY = McpServerSpec(name="a", transport="stdio", command="x", origin="project")


@pytest.mark.req("MCP-20")
def test_an_approval_is_for_one_entry_of_one_project(tmp_path: Path) -> None:
    approvals = McpApprovals(tmp_path / "state")
    here, there = tmp_path / "here", tmp_path / "there"
    assert not admitted(ENTRY, trusted=False, approved=approvals.approved(here))
    approvals.approve(here, ENTRY)
    approvals.approve(here, replace(ENTRY, name="b"))
    again = McpApprovals(tmp_path / "state")
    assert admitted(ENTRY, trusted=False, approved=again.approved(here))
    assert admitted(replace(ENTRY, name="b"), trusted=False, approved=again.approved(here))
    assert not admitted(replace(ENTRY, command="y"), trusted=False, approved=again.approved(here))
    assert not admitted(ENTRY, trusted=False, approved=again.approved(there))
    assert str(ENTRY.command) + '"' not in (tmp_path / "state" / FILE_NAME).read_text()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"projects": 3}', '{"projects": {"/p": 3}}'])
def test_a_damaged_file_approves_nothing_and_is_replaced(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    approvals = McpApprovals(tmp_path)
    assert approvals.approved(tmp_path) == frozenset()
    approvals.approve(tmp_path, ENTRY)
    assert len(approvals.approved(tmp_path)) == 1


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        McpApprovals(tmp_path / "file").approve(tmp_path, ENTRY)
    (tmp_path / "state" / FILE_NAME).mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be written"):
        McpApprovals(tmp_path / "state").approve(tmp_path, ENTRY)
    assert sorted(p.name for p in (tmp_path / "state").iterdir()) == [f".{FILE_NAME}.lock", FILE_NAME]
    monkeypatch.setattr(mcp_approvals_file, "LOCK_S", 0.05)
    with FileLock(tmp_path / f".{FILE_NAME}.lock"), pytest.raises(ConfigError, match="another process"):
        McpApprovals(tmp_path).approve(tmp_path, ENTRY)
