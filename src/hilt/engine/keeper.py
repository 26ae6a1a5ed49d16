"""Keeps a session's record: its legal changes of state, a save of everything that changed, and the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio

from hilt.core.disclosure import Tier
from hilt.core.earlier import counted, earlier_messages
from hilt.core.errors import ConflictError, RequestError
from hilt.core.permission import Effect, Scope
from hilt.core.rule_text import format_rule, parse_rule
from hilt.core.session import (
    LEGAL_CHANGES,
    AssistantMessage,
    Limits,
    Message,
    Mode,
    RunId,
    SessionRecord,
    SessionState,
    UserMessage,
)
from hilt.engine.assembly import Assembly, Host
from hilt.engine.conversation import Conversation
from hilt.engine.disclosure import tier_of
from hilt.engine.emitter import Emitter
from hilt.engine.visibility import Visibility
from hilt.ports.store import TurnArchive
from hilt.ports.workspace import ReadLedger


class RecordKeeper:
    """The record of one session; `record` is what the next save builds on."""

    def __init__(
        self, record: SessionRecord, host: Host, *, state: Conversation, emitter: Emitter, ledger: ReadLedger
    ) -> None:
        self.record = record
        self._host = host
        self._state = state
        self._emitter = emitter
        self._ledger = ledger
        self._saving = anyio.Lock()

    async def move(self, state: SessionState) -> None:
        """Change the state and save.

        Raises:
            ConflictError: The picture of sessions.md section 1 has no such change.
        """
        old = self.record.state
        if old is not state:
            if (old, state) not in LEGAL_CHANGES:
                raise ConflictError(f"session {self.record.id!r} is {old}, which cannot become {state}")
            self.record = replace(self.record, state=state)
        await self.save()

    async def save(self) -> None:
        """Store the record with the conversation as it stands, and what gave way to a summary, both or neither."""
        async with self._saving:
            state, record = self._state, self.record
            gone = tuple(state.gone)
            saved = await self._stored(
                replace(
                    record,
                    updated_at=self._host.clock.now().isoformat(),
                    mode=state.mode,
                    messages=tuple(state.messages),
                    grants=tuple(format_rule(rule) for rule in state.grants),
                    hydrated=tuple(sorted(state.hydrated)),
                    disclosure=str(state.disclosure or record.disclosure),
                    ledger=self._ledger.exported(),
                    run=RunId(self._emitter.run) if self._emitter.run else record.run,
                    turns=state.turns,
                    tool_calls=state.tool_calls,
                    usage=state.usage,
                    last_seq=self._emitter.seq,
                    archived=state.archived + counted(gone),
                ),
                gone,
            )
            state.archived = saved.archived
            del state.gone[: len(gone)]
            # What the session changed while the save was under way belongs to the next one.
            changed = {
                name: getattr(self.record, name)
                for name in ("state", "pending", "title", "tools", "limits")
                if getattr(self.record, name) is not getattr(record, name)
            }
            self.record = replace(saved, **changed)

    async def _stored(self, record: SessionRecord, gone: Sequence[Message]) -> SessionRecord:
        store = self._host.store
        if not gone or not isinstance(store, TurnArchive):
            return await store.save(record)
        return await store.save_shortened(record, earlier_messages(gone, after=self._state.archived))


def set_of_modes() -> frozenset[str]:
    """Return the names of all modes."""
    return frozenset(str(mode) for mode in Mode)


def check_mode(mode: Mode | str | None) -> None:
    """Check a mode that was asked for.

    Raises:
        RequestError: It is unknown.
    """
    if mode is not None and mode not in set_of_modes():
        raise RequestError(f"unknown mode {mode!r}; known are {', '.join(sorted(set_of_modes()))}")


def narrowed_limits(limits: Limits, asked: Mapping[str, float | None]) -> Limits:
    """Return the limits lowered to what was asked for.

    Raises:
        RequestError: A limit is unknown or above the server's.
    """
    try:
        return limits.narrowed(asked)
    except ValueError as exc:
        raise RequestError(str(exc)) from exc


def chosen_tier(record: SessionRecord, assembly: Assembly) -> str:
    """Return the tier of a session that is created, for its record.

    Raises:
        ConfigError: There are more tools than the model's provider takes.
    """
    parts = assembly.parts
    sight = Visibility((*assembly.layers, record.tools))
    return str(tier_of(parts.catalog, parts.disclosure, mode=record.mode, visibility=sight))


def restored(record: SessionRecord, assembly: Assembly) -> Conversation:
    """Return the conversation of a stored record, under today's filters and limits.

    Raises:
        RequestError: A limit is unknown or above the server's.
    """
    grants = [
        parse_rule(text, effect=Effect.ALLOW, scope=Scope.LOCAL_PROJECT, source="grant") for text in record.grants
    ]
    return Conversation(
        messages=list(record.messages),
        system=record.system_prompt,
        mode=record.mode,
        visibility=Visibility((*assembly.layers, record.tools)),
        grants=grants,
        hydrated=set(record.hydrated),
        disclosure=Tier(record.disclosure) if record.disclosure in tuple(Tier) else None,
        usage=record.usage,
        turns=record.turns,
        tool_calls=record.tool_calls,
        limits=narrowed_limits(assembly.parts.limits, record.limits),
        archived=record.archived,
        started=any(isinstance(message, AssistantMessage | UserMessage) for message in record.messages),
    )
