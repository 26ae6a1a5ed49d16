"""What every test run has: one event loop, an empty home, no promise skipped, nothing left behind."""

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.leftovers import mark_children, remaining

# A slow machine is no failure, each run tries the same examples, and nothing is written to the tree.
settings.register_profile("hilt", deadline=None, derandomize=True, database=None)
settings.load_profile("hilt")

# Settings of whoever runs the tests that would change what hilt, git or an HTTP client does.
_FOREIGN_PREFIXES = ("HILT_", "MCP_", "XDG_", "GIT_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "EXA_", "BRAVE_")
_FOREIGN_NAMES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SEARXNG_URL",
    "NO_COLOR",
    "FORCE_COLOR",
)


def _is_foreign(name: str) -> bool:
    return name.upper().startswith(_FOREIGN_PREFIXES) or name.upper() in _FOREIGN_NAMES


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fail the run when a process that a test started, or a listening socket, outlives it.

    It is set up first and so torn down last, after every other fixture of the session.
    """
    mark_children()
    yield
    assert remaining(grace_s=5.0) == []


@pytest.fixture(scope="session", autouse=True)
def own_environment(nothing_left_behind: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the run an empty home and an environment without settings of whoever runs it."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if _is_foreign(name)]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
        patch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
        patch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        for who in ("AUTHOR", "COMMITTER"):
            patch.setenv(f"GIT_{who}_NAME", "Test")
            patch.setenv(f"GIT_{who}_EMAIL", "test@example.com")
        yield home


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run every `async def` test on asyncio, the loop that hilt ships on."""
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a skipped test that proves a promise: a gap is an entry in `requirements.py`, not a skip."""
    report = yield
    if report.skipped and item.get_closest_marker("req") is not None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} proves a promise and was skipped: {report.longrepr}"
    return report
