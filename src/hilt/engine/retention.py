"""Removes the sessions that nobody used for so many days (`sessions.retention_days`)."""

import logging
from datetime import datetime, timedelta
from typing import Final

import anyio

from hilt.core.session import SessionState
from hilt.engine.sessions import Sessions
from hilt.ports.clock import Clock
from hilt.ports.store import PAGE_MAX

logger = logging.getLogger(__name__)

CLEAN_S: Final = 3600.0


class Retention:
    """Removes sessions by their age; one that awaits a verdict is never removed."""

    def __init__(self, sessions: Sessions, *, clock: Clock, days: float) -> None:
        self._sessions = sessions
        self._clock = clock
        self._days = days

    async def run(self) -> None:
        """Remove unused sessions every hour, until cancelled."""
        while True:
            try:
                removed = await self.remove_unused()
                if removed:
                    logger.info("sessions_removed count=%d unused_days=%g", removed, self._days)
            except Exception:
                logger.exception("sessions_not_removed")
            await anyio.sleep(CLEAN_S)

    async def remove_unused(self) -> int:
        """Delete the sessions that were not used for so many days and return their number."""
        before = self._clock.now() - timedelta(days=self._days)
        removed, cursor = 0, ""
        while True:
            page, cursor = await self._sessions.list(cursor=cursor, limit=PAGE_MAX)
            for record in page:
                removed += await self._remove_if_unused(record.id, before)
            if not cursor:
                return removed

    async def _remove_if_unused(self, session_id: str, before: datetime) -> bool:
        try:
            record = await self._sessions.look(session_id)
            may_go = record.state is not SessionState.AWAITING and self._sessions.rests(session_id)
            unused = may_go and datetime.fromisoformat(record.updated_at) < before
            if unused:
                await self._sessions.delete(session_id)
        except Exception as exc:
            logger.warning("session_not_removed session=%s why=%s", session_id, exc)
            return False
        return unused
