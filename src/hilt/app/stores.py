"""Opens the store that settings or the host name: `memory:`, `jsonl:DIR`, or an object with the three ports."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from hilt.adapters.inmemory.store import MemoryStore
from hilt.adapters.store_jsonl.store import JsonlStore
from hilt.core.errors import ConfigError
from hilt.core.redaction import Redactor
from hilt.ports.clock import Clock
from hilt.ports.store import EventLog, SessionStore, ToolCallRecorder

KNOWN = "memory:, jsonl:DIR"
LATER = ("sqlite:", "postgres:", "postgresql:")


@runtime_checkable
class Store(Protocol):
    """The three ports of one store, and its end."""

    @property
    def sessions(self) -> SessionStore:
        """The records."""
        ...

    @property
    def events(self) -> EventLog:
        """The event log."""
        ...

    @property
    def calls(self) -> ToolCallRecorder:
        """The audit."""
        ...

    def close(self) -> None:
        """Give back what the store holds open."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSetup:
    """What a store is opened with; `state_dir` is where `jsonl:` without a directory lies."""

    clock: Clock
    redactor: Redactor
    state_dir: str = ""


def takes_files(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made when it is needed."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def open_store(store: str | Store, setup: StoreSetup, *, reading: bool = False) -> Store:
    """Return the store of a name, or the given one; with `reading` nothing will be written.

    Raises:
        ConfigError: The name is of no known store, or of one that cannot be used.
    """
    if not isinstance(store, str):
        return store
    if store == "memory:":
        return MemoryStore(clock=setup.clock)
    if store.startswith("jsonl:"):
        folder = store.removeprefix("jsonl:")
        if not folder and not setup.state_dir:
            raise ConfigError("jsonl: needs a directory here, as in jsonl:DIR", key="store")
        path = Path(folder).expanduser() if folder else Path(setup.state_dir) / "sessions"
        if not reading and not takes_files(path):
            raise ConfigError(
                f"sessions cannot be stored in {store!r}: it is no folder that can be written", key="store"
            )
        return JsonlStore(path, clock=setup.clock, redactor=setup.redactor)
    if store.startswith(LATER):
        raise ConfigError(
            f"the store {store.partition(':')[0]!r} is not part of this version; use {KNOWN}", key="store"
        )
    raise ConfigError(f"unknown store {store!r}; known are {KNOWN}", key="store")
