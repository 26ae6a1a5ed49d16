"""Values under keys in memory: those of a process that writes nothing to a disk, and of a session without files."""

from collections.abc import Callable, Sequence

from hilt.core.memory import (
    ENTRIES_MAX,
    History,
    Known,
    NewValue,
    Version,
    Writer,
    current,
    forgotten,
    full,
    remembered,
    searched,
    undone,
    version_text,
)
from hilt.core.memory_text import query_words, ranked
from hilt.ports.clock import Clock


class HeldMemory:
    """Keeps values as long as it lives; see `KeyedMemory`. `redact` masks known secrets before anything is kept."""

    def __init__(self, *, clock: Clock, redact: Callable[[str], str] = str) -> None:
        self._clock = clock
        self._redact = redact
        self._entries: dict[str, History] = {}

    async def remember(self, key: str, new: NewValue, *, writer: Writer) -> str:
        """See `KeyedMemory.remember`."""
        if key not in self._entries and len(self._entries) >= ENTRIES_MAX:
            self._make_room()
        new = NewValue(value=self._redact(new.value), description=self._redact(new.description), expected=new.expected)
        return self._set(key, remembered(key, self._of(key), new, writer=writer, at=self._now()))

    async def forget(self, key: str, expected: str, *, writer: Writer) -> str:
        """See `KeyedMemory.forget`."""
        return self._set(key, forgotten(key, self._of(key), expected, writer=writer, at=self._now()))

    async def undo(self, key: str, expected: str, *, writer: Writer) -> str:
        """See `KeyedMemory.undo`."""
        return self._set(key, undone(key, self._of(key), expected, writer=writer, at=self._now()))

    async def history(self, key: str) -> Sequence[Version]:
        """See `KeyedMemory.history`."""
        return self._of(key)

    async def keys(self, prefix: str, *, limit: int) -> Sequence[Known]:
        """See `KeyedMemory.keys`."""
        found = [(key, now) for key, now in self._live() if key.startswith(prefix)][:limit]
        return [Known(key=key, description=now.description) for key, now in found]

    async def search(self, query: str, *, limit: int) -> Sequence[Known]:
        """See `KeyedMemory.search`."""
        live = self._live()
        texts = [" ".join(searched(key, now)) for key, now in live]
        found = [live[at] for at, _ in ranked(query_words(query), texts)[:limit]]
        return [Known(key=key, description=now.description) for key, now in found]

    def _live(self) -> list[tuple[str, Version]]:
        found = ((key, current(history)) for key, history in sorted(self._entries.items()))
        return [(key, now) for key, now in found if now is not None]

    def _make_room(self) -> None:
        gone = next((key for key, history in self._entries.items() if current(history) is None), None)
        if gone is None:
            raise full()
        del self._entries[gone]

    def _of(self, key: str) -> History:
        return self._entries.get(key, ())

    def _set(self, key: str, history: History) -> str:
        self._entries[key] = history
        return version_text(history)

    def _now(self) -> str:
        return self._clock.now().isoformat()
