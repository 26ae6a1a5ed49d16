"""All sessions of an application: create, open again, list, delete, close what is idle."""

import logging
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

import anyio

from hilt.core.errors import ConflictError, RequestError, SessionNotFoundError
from hilt.core.mcp import McpServerSpec
from hilt.core.session import Mode, SessionId, SessionRecord, SessionState, ToolFilter
from hilt.engine.assembly import Assembly, Host
from hilt.engine.keeper import chosen_tier, narrowed_limits, set_of_modes
from hilt.engine.recovery import last_seq
from hilt.engine.session import Session
from hilt.ports.store import SessionHold

logger = logging.getLogger(__name__)

ID_MAX_BYTES = 256
IDLE_CLOSE_S = 1800.0
SWEEP_S = 60.0
EXIT_S = 30.0
PROFILES = frozenset({"", "no-fs"})

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
    ) -> None:
        self._host = host
        self._assemble = assemble
        self._defaults = defaults
        self._idle_close_s = idle_close_s
        self._open: dict[str, Session] = {}
        self._lock = anyio.Lock()

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
            RequestError: The id, mode, profile, a category or a limit is wrong; the text names it.
            ConflictError: The id exists.
            ConfigError: A settings file with rules has an error now, or this agent cannot listen to its peers.
        """
        if mode is not None and mode not in set_of_modes():
            raise RequestError(f"unknown mode {mode!r}; known are {', '.join(sorted(set_of_modes()))}")
        if profile not in PROFILES:
            raise RequestError(f"unknown profile {profile!r}; the only one is 'no-fs'")
        given = self._defaults
        now = self._host.clock.now().isoformat()
        record = SessionRecord(
            id=SessionId(f"ses_{self._host.clock.new_id()}" if id is None else _checked_id(id)),
            created_at=now,
            updated_at=now,
            title=title,
            mode=given.mode if mode is None else Mode(mode),
            model=given.model if model is None else model,
            system_prompt=given.system_prompt if system_prompt is None else system_prompt,
            profile=profile,
            workspace="" if profile else given.workspace,
            enable=given.enable if enable is None else tuple(enable),
            tools=tools or ToolFilter(),
            limits=dict(limits or {}),
            client_servers=tuple(spec.name for spec in mcp_servers),
        )
        if id is not None and await self._host.store.load(record.id) is not None:
            raise ConflictError(f"a session {id!r} exists")
        assembly = await self._assembled(record, mcp_servers)
        try:
            narrowed_limits(assembly.parts.limits, record.limits)
            record = replace(record, disclosure=chosen_tier(record, assembly))
            await _begun(assembly)
            saved = await self._host.store.save(record)
            session = Session(saved, assembly, self._host)
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
        async with self._lock:
            held = self._open.get(session_id)
            if held is not None and not held.ended:
                return held
            await self.show(session_id)
            # What another process changed before it gave the session back is read only after that.
            release = await self._held(SessionId(session_id))
            try:
                record = await self.show(session_id)
                assembly = _releasing(await self._assemble(record, ()), release)
            except BaseException:
                release()
                raise
            try:
                stored = await self._host.log.read(record.id, after=record.last_seq)
                await _begun(assembly)
                session = Session(record, assembly, self._host, last_seq=last_seq(stored))
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

    async def list(self, *, cursor: str = "", limit: int = 50) -> tuple[Sequence[SessionRecord], str]:
        """Return a page of stored sessions by time of creation, and the next cursor, "" at the end."""
        return await self._host.store.list(cursor=cursor, limit=limit)

    async def delete(self, session_id: str) -> None:
        """Close the session and remove its audit, its events and, last, its record; may be repeated.

        Raises:
            SessionNotFoundError: No session has this id.
        """
        record = await self.show(session_id)
        held = self._open.pop(session_id, None)
        if held is not None:
            await held.close()
        release = await self._held(record.id)
        try:
            await self._host.store.delete(record.id)
        finally:
            release()

    async def _held(self, session_id: SessionId) -> Callable[[], None]:
        store = self._host.store
        return await store.hold(session_id) if isinstance(store, SessionHold) else _nothing

    async def _assembled(self, record: SessionRecord, mcp_servers: Sequence[McpServerSpec]) -> Assembly:
        release = await self._held(record.id)
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
        stale = [
            session
            for session in self.open_sessions
            if session.state in (SessionState.IDLE, SessionState.CLOSED) and now - session.touched >= self._idle_close_s
        ]
        for session in stale:
            try:
                await session.close()
            except Exception:
                logger.exception("session_close_failed session=%s", session.id)
            self._open.pop(session.id, None)
        return len(stale)

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


def _checked_id(id_: str) -> str:
    try:
        size = len(id_.encode("utf-8"))
    except UnicodeEncodeError:
        size = 0
    if not 1 <= size <= ID_MAX_BYTES or any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in id_):
        raise RequestError(f"a session id has 1 to {ID_MAX_BYTES} bytes of UTF-8 and no control character")
    return id_
