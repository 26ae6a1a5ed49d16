"""All sessions of an application: create, open again, list, delete, close what is idle."""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import anyio

from hilt.core.errors import ConflictError, SessionNotFoundError
from hilt.core.mcp import McpServerSpec
from hilt.core.session import Mode, SessionId, SessionRecord, SessionState, ToolFilter
from hilt.engine.assembly import Assembly, Host
from hilt.engine.follow import EventObject, Follower, Followers
from hilt.engine.keeper import chosen_tier, narrowed_limits
from hilt.engine.keyed_turns import KeyedTurns
from hilt.engine.new_session import NewSession
from hilt.engine.recovery import last_seq
from hilt.engine.session import Session
from hilt.engine.session_places import SessionPlaces
from hilt.ports.store import SessionHold

logger = logging.getLogger(__name__)

IDLE_CLOSE_S = 1800.0
SWEEP_S = 60.0
EXIT_S = 30.0

Assemble = Callable[[SessionRecord, Sequence[McpServerSpec]], Awaitable[Assembly]]


class Sessions:
    """Creates sessions and holds the open ones."""

    def __init__(
        self,
        host: Host,
        assemble: Assemble,
        *,
        defaults: SessionRecord,
        idle_close_s: float = IDLE_CLOSE_S,
        places: SessionPlaces | None = None,
    ) -> None:
        self._host = host
        self._assemble = assemble
        self._defaults = defaults
        self._idle_close_s = idle_close_s
        self.places = places or SessionPlaces()
        self._followers = Followers()
        self._open: dict[str, Session] = {}
        self._lock = anyio.Lock()
        self._turns = KeyedTurns()

    @property
    def open_sessions(self) -> Sequence[Session]:
        """The sessions that are open in this process."""
        return list(self._open.values())

    async def create(  # noqa: PLR0913 - keyword-only, as catalog.md section 9 lists it
        self,
        *,
        id: str | None = None,
        title: str = "",
        mode: Mode | str | None = None,
        model: str | None = None,
        system_prompt: str | None = None,
        profile: str = "",
        enable: Sequence[str] | None = None,
        tools: ToolFilter | None = None,
        limits: Mapping[str, float | None] | None = None,
        mcp_servers: Sequence[McpServerSpec] = (),
    ) -> Session:
        """Make a session and store it; what is None is the application's default.

        Raises:
            RequestError: The id, mode, profile, a category or a limit is wrong, or there are too many sessions; the
                text names it.
            ConflictError: The id exists.
            ConfigError: A settings file with rules has an error now, or this agent cannot listen to its peers.
        """
        return await self.make(
            NewSession(
                id=id,
                title=title,
                mode=mode,
                model=model,
                system_prompt=system_prompt,
                profile=profile,
                enable=enable,
                tools=tools,
                limits=limits,
                mcp_servers=mcp_servers,
            )
        )

    async def make(self, asked: NewSession) -> Session:
        """Make a session for its owner, as `create` does.

        Raises:
            RequestError: See `create`.
            ConflictError: The id exists.
            ConfigError: A settings file with rules has an error now.
        """
        made_id, now = f"ses_{self._host.clock.new_id()}", self._host.clock.now().isoformat()
        record = asked.record(self._defaults, made_id=made_id, now=now)
        async with self._turns.of(record.id):
            return await self._made(asked, record)

    async def _made(self, asked: NewSession, record: SessionRecord) -> Session:
        if asked.id is not None and await self._host.store.load(record.id) is not None:
            raise ConflictError(f"a session {asked.id!r} exists")
        assembly = await self._assembled(record, asked.mcp_servers)
        try:
            narrowed_limits(assembly.parts.limits, record.limits)
            record = replace(record, disclosure=chosen_tier(record, assembly))
            await _begun(assembly)
            saved = await self._host.store.save(record)
            session = self._session(saved, assembly)
        except BaseException:
            await _ended(assembly)
            raise
        self._open[saved.id] = session
        return session

    async def open(self, session_id: str) -> Session:
        """Return the session, taken up from its record where it is not open.

        Raises:
            SessionNotFoundError: No session has this id.
            ConfigError: A settings file with rules has an error now, or this agent cannot listen to its peers.
        """
        async with self._turns.of(session_id):
            return await self._opened(session_id)

    async def _opened(self, session_id: str) -> Session:
        async with self._lock:
            held = self._open.get(session_id)
            if held is not None and not held.ended:
                return held
            # What another process changed before it gave the session back is read only after that.
            release = await self._entered(await self.show(session_id))
            try:
                record = await self.show(session_id)
                assembly = _releasing(await self._assemble(record, ()), release)
            except BaseException:
                release()
                raise
            try:
                stored = await self._host.log.read(record.id, after=record.last_seq)
                await _begun(assembly)
                session = self._session(record, assembly, last_seq=last_seq(stored))
                await session.recover()
            except BaseException:
                await _ended(assembly)
                raise
            if record.workspace not in ("", self._defaults.workspace):
                logger.warning("session_of_another_workspace session=%s why=it goes on in the one of today", record.id)
            self._open[record.id] = session
            return session

    async def show(self, session_id: str) -> SessionRecord:
        """Return the stored record.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        record = await self._host.store.load(SessionId(session_id))
        if record is None:
            raise SessionNotFoundError(f"no session {session_id!r}; `hilt sessions list` shows the stored ones")
        return record

    async def look(self, session_id: str) -> SessionRecord:
        """Return the record as it stands, without opening the session.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        held = self._open.get(session_id)
        return await self.show(session_id) if held is None or held.ended else held.record

    def rests(self, session_id: str) -> bool:
        """Whether nothing of a session goes on in this process."""
        held = self._open.get(session_id)
        return held is None or held.at_rest

    async def events(self, session_id: str, *, after: int = 0) -> Sequence[EventObject]:
        """Return the events behind the number `after` as JSON objects, those of a run under way among them."""
        held = self._open.get(session_id)
        if held is not None:
            await held.flush()
        return await self._host.log.read(SessionId(session_id), after=after)

    def follow(self, session_id: str, follower: Follower) -> Callable[[], None]:
        """Add a reader of a session's events, open or not, and return the function that takes it away."""
        return self._followers.add(session_id, follower)

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """Return a page of stored sessions by time of creation, and the next cursor, "" at the end.

        With `owner` there are only the sessions of that principal.
        """
        return await self._host.store.list(cursor=cursor, limit=limit, owner=owner)

    async def close(self, session_id: str) -> None:
        """Close a session, open in this process or not; twice is no error.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        async with self._turns.of(session_id):
            if await self._closed_as_stored(session_id):
                return
            session = await self._opened(session_id)
            await session.close()
            self._forget(session)

    async def _closed_as_stored(self, session_id: str) -> bool:
        """Close a session that rests and is not open here, which takes no place; False for any other."""
        async with self._lock:
            record = await self.look(session_id)
            if session_id in self._open or record.state not in (SessionState.IDLE, SessionState.CLOSED):
                return False
            if record.state is SessionState.IDLE:
                release = await self._held(record.id)
                try:
                    await self._host.store.save(replace(await self.show(session_id), state=SessionState.CLOSED))
                finally:
                    release()
        return True

    async def delete(self, session_id: str) -> None:
        """Close the session and remove its audit, its events and, last, its record; may be repeated.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        async with self._turns.of(session_id):
            record = await self.show(session_id)
            held = self._open.get(session_id)
            if held is not None:
                await held.close()
                self._forget(held)
            release = await self._held(record.id)
            try:
                await self._host.store.delete(record.id)
            finally:
                release()
            self._followers.end(session_id)

    def _session(self, record: SessionRecord, assembly: Assembly, *, last_seq: int = 0) -> Session:
        session = Session(record, assembly, self._host, last_seq=last_seq)
        session.subscribe(partial(self._followers.tell, record.id))
        return session

    def _forget(self, session: Session) -> None:
        if self._open.get(session.id) is session:
            del self._open[session.id]

    async def _entered(self, record: SessionRecord, *, brings: bool = False) -> Callable[[], None]:
        """Take a place for a session and hold it for this process; return what gives both back.

        Raises:
            RequestError: No place is free (`cap_reached`).
            SessionBusyError: It is open in another process.
        """
        while self.places.full and await self._close_oldest():
            pass
        own = brings or bool(record.profile) or record.model != self._defaults.model
        free = self.places.take(own=own)
        try:
            release = await self._held(record.id)
        except BaseException:
            free()
            raise

        def leave() -> None:
            try:
                release()
            finally:
                free()

        return leave

    async def _close_oldest(self) -> bool:
        """Close the session that rests for the longest time and loses nothing by it; False where none does."""
        resting = [s for s in self._untouched() if not s.ended and s.at_rest and not s.record.client_servers]
        oldest = min(resting, key=lambda session: session.touched, default=None)
        if oldest is None:
            return False
        await self._close_resting(oldest)
        return True

    def _untouched(self) -> Sequence[Session]:
        """Return the open sessions that nobody opens, closes or deletes at this moment."""
        return [session for session in self.open_sessions if not self._turns.taken(session.id)]

    async def _close_resting(self, session: Session) -> None:
        async with self._turns.of(session.id):
            try:
                await session.close()
            except Exception:
                logger.exception("session_close_failed session=%s", session.id)
            self._forget(session)

    async def _held(self, session_id: SessionId) -> Callable[[], None]:
        store = self._host.store
        return await store.hold(session_id) if isinstance(store, SessionHold) else _nothing

    async def _assembled(self, record: SessionRecord, mcp_servers: Sequence[McpServerSpec]) -> Assembly:
        release = await self._entered(record, brings=bool(mcp_servers))
        try:
            return _releasing(await self._assemble(record, mcp_servers), release)
        except BaseException:
            release()
            raise

    async def close_idle(self) -> int:
        """Close the sessions that were idle for too long and return their number."""
        now = self._host.clock.monotonic()
        for session in self.open_sessions:
            if session.busy:
                session.touched = now
        closed = 0
        for session in self._untouched():
            if session.at_rest and now - session.touched >= self._idle_close_s:
                await self._close_resting(session)
                closed += 1
        return closed

    async def sweep(self) -> None:
        """Close idle sessions now and then, until cancelled."""
        if math.isinf(self._idle_close_s):
            return
        while True:
            await anyio.sleep(max(min(SWEEP_S, self._idle_close_s / 4), 0.1))
            await self.close_idle()

    async def close_all(self) -> None:
        """Close every open session but asks that wait, within 30 seconds, also when cancelled.

        What one fails to close does not keep the others open.
        """
        with anyio.move_on_after(EXIT_S, shield=True):
            for session in self.open_sessions:
                try:
                    await session.leave()
                except Exception:
                    logger.exception("session_close_failed session=%s", session.id)
        self._open.clear()


def _nothing() -> None:
    """Give back nothing: the store is of one process."""


def _releasing(assembly: Assembly, release: Callable[[], None]) -> Assembly:
    """Return the assembly with a close that gives the session back, once."""
    close = assembly.close
    given_back = False

    async def end() -> None:
        nonlocal given_back
        try:
            if close is not None:
                await close()
        finally:
            if not given_back:
                given_back = True
                release()

    return replace(assembly, close=end)


async def _begun(assembly: Assembly) -> None:
    if assembly.begin is not None:
        await assembly.begin()


async def _ended(assembly: Assembly) -> None:
    if assembly.close is not None:
        with anyio.CancelScope(shield=True):
            await assembly.close()
