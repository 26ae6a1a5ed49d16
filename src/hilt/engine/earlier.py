"""Searches the turns of one session that gave way to a summary, as they are stored."""

from collections.abc import Sequence

from anyio import to_thread

from hilt.core.passage import Passage, passages
from hilt.core.session import SessionId
from hilt.ports.store import TurnArchive


class NoTurns:
    """The earlier turns of an agent that has none, as a child agent that is no fork; see `EarlierTurns`."""

    async def search(self, query: str, *, limit: int, max_chars: int) -> Sequence[Passage]:
        """Return nothing."""
        return ()


class StoredTurns:
    """The earlier turns of one session; see `EarlierTurns`."""

    def __init__(self, archive: TurnArchive, session_id: SessionId) -> None:
        self._archive = archive
        self._session_id = session_id

    async def search(self, query: str, *, limit: int, max_chars: int) -> Sequence[Passage]:
        """See `EarlierTurns.search`; a long conversation is searched in a thread."""
        kept = await self._archive.earlier(self._session_id)
        return await to_thread.run_sync(lambda: passages(kept, query, limit=limit, max_chars=max_chars))
