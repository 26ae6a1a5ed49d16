import stat
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from hilt.adapters import mcp_config_file
from hilt.adapters.mcp_config_file import add_server, read_servers, remove_server
from hilt.core.errors import ConfigError

BEFORE = """\
# our servers
[[servers]]            # the first
name = "files"
command = "npx"   # quick
args = [
  "-y",
]

# about the second
[[servers]]
name = "api"
url = "https://h.example/${X}"
"""
SHOWN = ".hilt/mcp.toml"


def _add(path: Path, name: str, **entry: object) -> None:
    add_server(path, {"name": name, **(entry or {"command": "x"})}, origin="project", shown=SHOWN)


def _names(path: Path) -> list[str]:
    return [spec.name for spec in read_servers(path, origin="project", shown=SHOWN)]


@pytest.mark.req("MCP-17")
def test_an_absent_file_has_no_servers(tmp_path: Path) -> None:
    assert _names(tmp_path / "mcp.toml") == []
    assert not remove_server(tmp_path / "mcp.toml", "x", origin="project", shown=SHOWN)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.req("CLI-36")
def test_an_addition_keeps_comments_order_and_format(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(BEFORE)
    path.chmod(0o640)
    _add(path, "new", command="run", args=["a", "b"], env={"K": "V"})
    assert path.read_text() == (
        BEFORE + '[[servers]]\nname = "new"\ncommand = "run"\nargs = ["a", "b"]\nenv = {K = "V"}\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert _names(path) == ["files", "api", "new"]


@pytest.mark.req("CLI-30", "CLI-31", "CLI-32")
def test_an_addition_makes_file_and_directory(tmp_path: Path) -> None:
    path = tmp_path / "deep" / ".hilt" / "mcp.toml"
    _add(path, "a", command="x")
    _add(path, "b", url="https://h.example/sse", transport="sse", headers={"X-A": "1"})
    first, second = read_servers(path, origin="project", shown=SHOWN)
    assert (first.command, second.transport, second.headers) == ("x", "sse", {"X-A": "1"})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.req("CLI-36")
def test_a_removal_keeps_the_rest_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(BEFORE)
    assert remove_server(path, "api", origin="project", shown=SHOWN)
    assert path.read_text().startswith(BEFORE.partition("# about")[0].rstrip("\n"))
    assert _names(path) == ["files"]
    assert not remove_server(path, "api", origin="project", shown=SHOWN)
    assert remove_server(path, "files", origin="project", shown=SHOWN)
    assert _names(path) == []
    _add(path, "again")
    assert _names(path) == ["again"]


@pytest.mark.req("CLI-35")
@pytest.mark.parametrize("name", ["files", "Files"])
def test_a_taken_name_is_refused_with_the_way_out_and_nothing_changes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(BEFORE)
    with pytest.raises(ConfigError, match="hilt mcp remove files"):
        _add(path, name)
    assert path.read_text() == BEFORE


@pytest.mark.parametrize("entry", [{"command": "x", "url": "https://h"}, {"comand": "x"}, {"args": []}])
def test_a_wrong_entry_is_refused_before_the_file_is_touched(tmp_path: Path, entry: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"mcp\.toml"):
        _add(tmp_path / "mcp.toml", "a", **entry)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["servers = [", "server = 1", "[[servers]]\nname='x'", "servers = []\n"])
def test_a_file_that_is_wrong_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"mcp\.toml"):
        _add(path, "a")
    assert path.read_text() == text


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "mcp.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        _names(tmp_path / "mcp.toml")
    (tmp_path / "dir").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        _names(tmp_path / "dir")


def test_a_last_line_without_its_end_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(BEFORE.rstrip())
    _add(path, "new")
    assert _names(path) == ["files", "api", "new"]


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text("\ufeff" + BEFORE)
    _add(path, "new")
    assert _names(path) == ["files", "api", "new"]


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        _add(tmp_path / "file" / "mcp.toml", "a")


@pytest.mark.req("CLI-36")
def test_a_file_that_another_process_edits_is_waited_for_with_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_config_file, "LOCK_S", 0.05)
    with FileLock(tmp_path / ".mcp.toml.lock"), pytest.raises(ConfigError, match="another process"):
        _add(tmp_path / "mcp.toml", "a")


@pytest.mark.req("CLI-36")
def test_of_edits_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    threads = [threading.Thread(target=_add, args=(path, f"s{n}")) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(_names(path)) == sorted(f"s{n}" for n in range(12))
