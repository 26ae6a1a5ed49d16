"""Reads and edits `mcp.toml`: comments, order and format stay; of two edits at once none is lost."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import tomlkit
from filelock import FileLock, Timeout
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT

from hilt.adapters._files import replace_file
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec, ServerOrigin, same_name_key
from hilt.core.mcp_entry import parse_entry, parse_servers

LOCK_S: Final = 10.0


def read_servers(path: Path, *, origin: ServerOrigin, shown: str) -> list[McpServerSpec]:
    """Return the entries of the file, or none where it is absent; `shown` is its name in messages.

    Raises:
        ConfigError: It cannot be read, is not TOML, or holds an entry that is wrong; names file and key.
    """
    return parse_servers(_document(_text(path, shown), shown), source=shown, origin=origin)


def add_server(path: Path, entry: Mapping[str, object], *, origin: ServerOrigin, shown: str) -> McpServerSpec:
    """Add one `[[servers]]` table at the end and return it as it is read back.

    `entry` has the keys of the file, in the order in which they are written. The file and its directory are
    created where they are absent.

    Raises:
        ConfigError: The entry is wrong, the name is taken, or the file cannot be read or written; nothing is
            changed then.
    """
    spec = parse_entry(entry, source=shown, origin=origin)

    def edit(document: tomlkit.TOMLDocument, known: Sequence[McpServerSpec]) -> None:
        taken = next((s for s in known if same_name_key(s.name) == same_name_key(spec.name)), None)
        if taken is not None:
            raise ConfigError(
                f"the MCP server {taken.name!r} exists; remove it first with: hilt mcp remove {taken.name}",
                source=shown,
                key="name",
            )
        table = tomlkit.table()
        for key, value in entry.items():
            table.add(key, _item(value))
        tables = document.get("servers")
        if tables is None:
            tables = tomlkit.aot()
            document.append("servers", tables)
        elif not isinstance(tables, AoT):
            raise ConfigError("write the entries as [[servers]] tables", source=shown, key="servers")
        tables.append(table)

    _edit(path, edit, origin=origin, shown=shown)
    return spec


def remove_server(path: Path, name: str, *, origin: ServerOrigin, shown: str) -> bool:
    """Remove the entry of exactly this name; False where there is none.

    Raises:
        ConfigError: The file cannot be read or written; nothing is changed then.
    """
    removed = False

    def edit(document: tomlkit.TOMLDocument, known: Sequence[McpServerSpec]) -> None:
        nonlocal removed
        at = next((index for index, spec in enumerate(known) if spec.name == name), None)
        tables = document.get("servers")
        if at is None or tables is None:
            return
        removed = True
        if len(known) == 1:
            del document["servers"]
        else:
            del tables[at]

    if path.exists():
        _edit(path, edit, origin=origin, shown=shown)
    return removed


def _item(value: object) -> tomlkit.items.Item:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        for key, inner in value.items():
            table.append(str(key), _item(inner))
        return table
    return tomlkit.item(list(value) if isinstance(value, tuple) else value)


def _text(path: Path, shown: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise ConfigError("the file is not UTF-8 text", source=shown) from None
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}", source=shown) from exc


def _document(text: str, shown: str) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise ConfigError(f"not valid TOML: {exc}", source=shown) from None


def _edit(
    path: Path,
    change: Callable[[tomlkit.TOMLDocument, Sequence[McpServerSpec]], None],
    *,
    origin: ServerOrigin,
    shown: str,
) -> None:
    """Read, change, check and replace the file while nobody else does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_S):
            before = _text(path, shown)
            known = parse_servers(_document(before, shown), source=shown, origin=origin)
            whole = before if before.endswith("\n") or not before else f"{before}\n"
            document = tomlkit.parse(whole.removeprefix("\ufeff"))
            change(document, known)
            after = tomlkit.dumps(document)
            if after != before:
                parse_servers(_document(after, shown), source=shown, origin=origin)
                replace_file(path, after.encode("utf-8"))
    except Timeout:
        raise ConfigError("another process edits the file; try again", source=shown) from None
    except TOMLKitError as exc:
        raise ConfigError(f"cannot be edited: {exc}", source=shown) from None
    except OSError as exc:
        raise ConfigError(f"cannot be written: {exc.strerror}", source=shown) from exc
