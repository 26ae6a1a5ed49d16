"""Whether the workspace is trusted: settled once, before any session (permissions-hooks.md section 4)."""

from collections.abc import Iterable
from pathlib import Path


def is_trusted(root: Path, projects: Iterable[str]) -> bool:
    """Whether the workspace is one of the listed paths, each taken as written or as its links resolve."""
    here = {root, root.resolve()}
    return any(here & {Path(project), Path(project).resolve()} for project in projects)


def left_out(counts: Iterable[tuple[str, int]]) -> str:
    """Return the warning that counts what an untrusted project does not get, "" when that is nothing."""
    totals: dict[str, int] = {}
    for what, count in counts:
        totals[what] = totals.get(what, 0) + count
    told = ", ".join(f"{count} {what}" for what, count in totals.items() if count)
    if not told:
        return ""
    return f"this project is not trusted; left out: {told} (see --trust-project and trust.projects)"
