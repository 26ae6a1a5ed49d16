"""Where an application remembers, and what of it each session gets; loaded only with the category `memory`."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hilt.adapters.inmemory.memory import HeldMemory
from hilt.adapters.memory_sqlite import SqliteMemory, why_unusable
from hilt.app.catalog import NO_FILES_PROFILE
from hilt.app.config import Config
from hilt.app.stores import Store
from hilt.builtins.memory import memory_tools, user_model_tools
from hilt.core.errors import ConfigError
from hilt.core.rulebook import RuleBook
from hilt.core.session import SessionRecord
from hilt.engine.earlier import StoredTurns
from hilt.engine.user_review import UserReview
from hilt.ports.clock import Clock
from hilt.ports.memory import EarlierTurns, KeyedMemory, ProjectMemory, UserModel
from hilt.ports.model import Model
from hilt.ports.store import TurnArchive
from hilt.ports.tool import Tool

FOLDER: Final = "memory"
USER_FILE: Final = "user-model.sqlite"
KEY: Final = "tools.enable"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySetup:
    """What the memories are opened with; `store` is the store as it was named, `opened` the same as it was opened."""

    config: Config
    store: str | Store
    opened: Store
    root: str
    clock: Clock
    services: Mapping[type, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memories:
    """The memories of an application, None for one that the host brings itself, and the tools of the two families.

    `review_model` is the model of the sessions whose user is reviewed, None for no review.
    """

    project: KeyedMemory | None
    user: KeyedMemory | None
    archive: TurnArchive
    clock: Clock
    redact: Callable[[str], str]
    review_model: str | None
    tools: tuple[Sequence[Tool], Sequence[Tool]]

    def own(self, record: SessionRecord) -> Mapping[type, object]:
        """Return what a session gets: one without files has memories of its own, which end with it."""
        found: dict[type, object] = {EarlierTurns: StoredTurns(self.archive, record.id)}
        alone = record.profile == NO_FILES_PROFILE
        for port, shared in ((ProjectMemory, self.project), (UserModel, self.user)):
            if shared is not None:
                found[port] = HeldMemory(clock=self.clock, redact=self.redact) if alone else shared
        return found

    def review(
        self, record: SessionRecord, model: Model, rules: RuleBook, services: Mapping[type, object]
    ) -> Sequence[UserReview]:
        """Return the review of the user model, for sessions of the main engine alone."""
        main = record.model == self.review_model and not record.profile and not record.client_servers
        if self.review_model is None or not main:
            return ()
        memory: UserModel = services[UserModel]  # type: ignore[assignment]  # the mapping pairs types with objects
        return (UserReview(model, memory, rules=rules, session_id=record.id),)

    def close(self) -> None:
        """Close the files."""
        for one in (self.project, self.user):
            if isinstance(one, SqliteMemory):
                one.close()


def open_memories(setup: MemorySetup, *, redact: Callable[[str], str] = str, main_model: str = "") -> Memories:
    """Return the memories; nothing is written before the first use.

    `main_model` is the model of the sessions whose user is reviewed, where the settings want that.

    Raises:
        ConfigError: The store keeps no earlier turns, there is no place to remember in, or SQLite cannot be used.
    """
    archive = setup.opened.sessions
    if not isinstance(archive, TurnArchive):
        raise ConfigError("the category 'memory' needs a store that keeps what gives way to a summary", key=KEY)
    project, user = _opened(setup, redact)
    return Memories(
        project=None if ProjectMemory in setup.services else project,
        user=None if UserModel in setup.services else user,
        archive=archive,
        clock=setup.clock,
        redact=redact,
        review_model=main_model if setup.config.memory.user_review else None,
        tools=(memory_tools(), user_model_tools()),
    )


def _opened(setup: MemorySetup, redact: Callable[[str], str]) -> tuple[KeyedMemory, KeyedMemory]:
    in_process = setup.store == "memory:" and not setup.config.sessions_aside
    if in_process or {ProjectMemory, UserModel} <= setup.services.keys():
        return HeldMemory(clock=setup.clock, redact=redact), HeldMemory(clock=setup.clock, redact=redact)
    folder = _folder(setup)
    if folder is None:
        raise ConfigError(
            "the category 'memory' has no folder to remember in; name the store as jsonl:DIR, give a configuration, "
            "or pass ProjectMemory and UserModel in services",
            key=KEY,
        )
    reason = why_unusable()
    if reason:
        raise ConfigError(f"the category 'memory' cannot work: {reason}", key=KEY)
    project, user = (
        SqliteMemory(folder / name, clock=setup.clock, redact=redact)
        for name in (f"{workspace_stem(setup.root)}.sqlite", USER_FILE)
    )
    return project, user


def _folder(setup: MemorySetup) -> Path | None:
    """Return the folder: the user's own, without a configuration that of the store."""
    if setup.config.state_dir:
        return Path(setup.config.state_dir) / FOLDER
    place = setup.store.partition(":")[2] if isinstance(setup.store, str) else ""
    return Path(place).expanduser() / FOLDER if place else None


def workspace_stem(root: str) -> str:
    """Return the name of a workspace's file without its end: readable, and another for another folder."""
    digest = hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{re.sub('[^A-Za-z0-9_-]', '_', Path(root).name[:40])}-{digest[:32]}"
