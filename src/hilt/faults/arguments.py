"""The command line of the kit."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from hilt.faults.entry import Entry, set_up
from hilt.faults.protocol import Era, Transport
from hilt.faults.setup import Setup, UsageError
from hilt.faults.table import ENTRIES

LIST = "list"


def parser() -> argparse.ArgumentParser:
    """Return the parser."""
    found = argparse.ArgumentParser(
        prog="python -m hilt.faults", description="Hostile and broken MCP servers, for whoever writes a client."
    )
    found.add_argument("name", metavar="NAME", help="an entry, or `list` to see them all")
    how = found.add_mutually_exclusive_group()
    how.add_argument("--http", metavar="PORT", nargs="?", type=int, const=0, help="serve streamable HTTP")
    how.add_argument("--sse", metavar="PORT", nargs="?", type=int, const=0, help="serve SSE")
    how.add_argument("--stdio", action="store_true", help="serve standard input and output")
    found.add_argument("--era", choices=[*Era, "both"], default="both", help="the protocol eras to speak")
    found.add_argument("--log", metavar="FILE", type=Path, help="append what happens as JSON lines")
    found.add_argument(
        "--set", metavar="KEY=VALUE", action="append", default=[], dest="settings", help="change a setting"
    )
    found.add_argument("--json", action="store_true", help="with list: as JSON")
    return found


def port_of(parsed: argparse.Namespace) -> int:
    """Return the port that is asked for; 0 is any."""
    return parsed.http or parsed.sse or 0


def asked_for(parsed: argparse.Namespace) -> tuple[Entry, Setup]:
    """Return the entry and the set-up that the arguments ask for.

    Raises:
        UsageError: They do not say what can be run.
    """
    entry = ENTRIES.get(parsed.name)
    if entry is None:
        raise UsageError(f"there is no entry {parsed.name!r}; see: python -m hilt.faults list")
    eras = tuple(Era) if parsed.era == "both" else (Era(parsed.era),)
    return entry, set_up(
        entry, transport=_transport(parsed), eras=eras, settings=_settings(parsed.settings), log_path=parsed.log
    )


def _transport(parsed: argparse.Namespace) -> Transport:
    if parsed.stdio:
        return Transport.STDIO
    if parsed.sse is not None:
        return Transport.SSE
    if parsed.http is not None:
        return Transport.HTTP
    raise UsageError("say how to serve: --http [PORT], --sse [PORT] or --stdio")


def _settings(pairs: Sequence[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, not {pair!r}")
        found[key] = value
    return found


def as_text(entries: Sequence[Entry]) -> str:
    """Return the list of entries for people, by section."""
    lines = []
    for entry in entries:
        kinds = f" Kinds: {', '.join(kind.name for kind in entry.kinds)}." if entry.kinds else ""
        lines.append(f"{entry.name:<22} {'/'.join(entry.transports):<14} {entry.summary}{kinds}")
    return "\n".join(lines) + "\n"


def as_json(entries: Sequence[Entry]) -> str:
    """Return the list of entries for programs, one object an entry."""
    found = [
        {
            "name": entry.name,
            "section": entry.section,
            "ids": entry.ids,
            "summary": entry.summary,
            "eras": entry.eras,
            "transports": entry.transports,
            "kinds": [{"name": kind.name, "eras": kind.eras, "transports": kind.transports} for kind in entry.kinds],
            "settings": [
                {"name": known.name, "default": known.default, "summary": known.summary} for known in entry.settings
            ],
            "cases": [case.id for case in entry.cases()],
        }
        for entry in entries
    ]
    return json.dumps(found, indent=1) + "\n"
