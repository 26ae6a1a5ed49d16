"""Keeps a session's record: its legal changes of state, and a save of everything that changed."""

from dataclasses import replace

import anyio

from hilt.core.errors import ConflictError
from hilt.core.rule_text import format_rule
from hilt.core.session import LEGAL_CHANGES, RunId, SessionRecord, SessionState
from hilt.engine.assembly import Host
from hilt.engine.conversation import Conversation
from hilt.engine.emitter import Emitter
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
        """Store the record with the conversation as it stands."""
        async with self._saving:
            state, record = self._state, self.record
            saved = await self._host.store.save(
                replace(
                    record,
                    updated_at=self._host.clock.now().isoformat(),
                    mode=state.mode,
                    messages=tuple(state.messages),
                    grants=tuple(format_rule(rule) for rule in state.grants),
                    hydrated=tuple(sorted(state.hydrated)),
                    ledger=self._ledger.exported(),
                    run=RunId(self._emitter.run) if self._emitter.run else record.run,
                    turns=state.turns,
                    tool_calls=state.tool_calls,
                    usage=state.usage,
                    last_seq=self._emitter.seq,
                )
            )
            # What the session changed while the save was under way belongs to the next one.
            changed = {
                name: getattr(self.record, name)
                for name in ("state", "pending", "title", "tools", "limits")
                if getattr(self.record, name) is not getattr(record, name)
            }
            self.record = replace(saved, **changed)
