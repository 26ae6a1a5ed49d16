"""What the tests of the command line share."""

from pathlib import Path

import pytest

from tests.app.places import Machine
from tests.cli.kit import Hilt


@pytest.fixture
def hilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hilt:
    """Give the test the command line on a machine of its own."""
    return Hilt(Machine.below(tmp_path), monkeypatch)
