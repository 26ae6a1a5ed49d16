from pathlib import Path

import pytest

from hilt.adapters._files import replace_file


def test_a_file_is_replaced_with_its_mode_and_through_a_link(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    replace_file(file, b"one")
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"one", 0o600)
    file.chmod(0o640)
    link.symlink_to(file)
    replace_file(link, b"two", new_mode=0o644)
    assert (file.read_bytes(), file.stat().st_mode & 0o777) == (b"two", 0o640)
    assert link.is_symlink()
    replace_file(tmp_path / "other", b"", new_mode=0o644)
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "link", "other"]


def test_a_write_that_fails_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(target, b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]
