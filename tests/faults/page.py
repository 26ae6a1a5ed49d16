"""Draws the table of entries for `docs/faults.md` from the table of the kit.

`python -m tests.faults.page` brings the page up to date; a test fails while it is not.
"""

import re
from pathlib import Path
from typing import Final

from hilt.faults.entry import Entry
from hilt.faults.protocol import Era
from hilt.faults.table import ENTRIES

PAGE: Final = Path(__file__).parents[2] / "docs" / "faults.md"
_HEAD: Final = "| entry | over | eras | what it does | kinds and settings |"
_BLOCK: Final = re.compile(re.escape(_HEAD) + r"\n(?:\|.*\n)+")


def block() -> str:
    """Return the table."""
    rows = [_row(entry) for entry in ENTRIES.values()]
    return "\n".join([_HEAD, "| --- | --- | --- | --- | --- |", *rows]) + "\n"


def _row(entry: Entry) -> str:
    eras = "both" if len(entry.eras) == len(Era) else entry.eras[0]
    kinds = ", ".join(f"`{kind.name}`" for kind in entry.kinds)
    settings = ", ".join(f"`{known.name}={known.default}`" for known in entry.settings)
    more = "; ".join(part for part in (kinds, settings) if part)
    return f"| `{entry.name}` | {', '.join(entry.transports)} | {eras} | {entry.summary} | {more} |"


def drawn(page: str) -> str:
    """Return the table that `page` holds."""
    found = _BLOCK.search(page)
    return found[0] if found else ""


def main() -> None:
    """Write the table into the page."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_BLOCK.sub(lambda _: block(), page), encoding="utf-8")


if __name__ == "__main__":
    main()
