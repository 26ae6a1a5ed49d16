"""Records of sessions: one file each, replaced as a whole."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import msgspec

from hilt.adapters.store_jsonl import files
from hilt.adapters.store_jsonl.earlier import kept_lines, read_kept
from hilt.adapters.store_jsonl.folder import Folder
from hilt.adapters.store_jsonl.hold import hold
from hilt.adapters.store_jsonl.lines import decode, encode, read_objects, to_line
from hilt.core.earlier import EarlierMessage
from hilt.core.errors import ConflictError, HarnessFault
from hilt.core.page import Place, page_of
from hilt.core.record import record_from_json, record_to_json
from hilt.core.session import SessionId, SessionRecord

logger = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]


class _Head(msgspec.Struct):
    id: str
    version: int = 0
    owner: str = ""
    created_at: str = ""
    archived: int = 0


_heads = msgspec.json.Decoder(_Head)


class JsonlSessions:
    """See `SessionStore` and `TurnArchive`. A record is JSON over several lines, one for each message and each result.

    What gave way lies in a file of its own, written before the record: what the record does not count is not there.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._heads: dict[str, tuple[_Stamp, _Head | None]] = {}

    async def hold(self, session_id: SessionId) -> Callable[[], None]:
        """See `SessionHold.hold`; the hold ends with the process."""
        return await self._folder.run(hold, self._folder.file(session_id, files.EVENTS), session_id)

    async def save(self, record: SessionRecord) -> SessionRecord:
        """See `SessionStore.save`."""
        return await self._folder.run(self._save, record)

    async def save_shortened(self, record: SessionRecord, gone: Sequence[EarlierMessage]) -> SessionRecord:
        """See `TurnArchive.save_shortened`."""
        return await self._folder.run(self._save, record, gone)

    async def earlier(self, session_id: SessionId) -> Sequence[EarlierMessage]:
        """See `TurnArchive.earlier`. Lines that cannot be read are left out, with one warning."""
        return await self._folder.run(self._earlier, session_id)

    def _earlier(self, session_id: str) -> Sequence[EarlierMessage]:
        path = self._folder.file(session_id, files.RECORD)
        content = files.read(path)
        head = None if content is None else _head(content, path.name)
        if head is None or head.id != session_id or not head.archived:
            return []
        return read_kept(self._folder.file(session_id, files.EARLIER), session_id, last=head.archived)

    def _save(self, record: SessionRecord, gone: Sequence[EarlierMessage] = ()) -> SessionRecord:
        path = self._folder.file(record.id, files.RECORD)
        fresh = replace(record, version=record.version + 1)
        content = self._content(fresh)
        if record.version == 0:
            if not files.create(path, content):
                raise ConflictError(f"session {record.id!r} exists already")
            return fresh
        with files.locked(path) as stored:
            head = None if stored is None else _head(stored, path.name)
            if head is None or head.id != record.id or head.version != record.version:
                now = "is gone" if head is None else f"has version {head.version}"
                raise ConflictError(f"session {record.id!r} {now}, not {record.version}: load it again before saving")
            if gone:
                lines = kept_lines(record.id, gone, self._folder.redactor)
                files.append(self._folder.file(record.id, files.EARLIER), lines, durable=True)
            files.replace(path, content)
        return fresh

    def _content(self, record: SessionRecord) -> bytes:
        body = record_to_json(record)
        messages = body.pop("messages")
        head = to_line(body, self._folder.redactor).removesuffix(b"}\n")
        lines = [self._message(item) for item in messages] if isinstance(messages, list) else []
        return head + b',"messages":[\n' + b",\n".join(lines) + b"\n]}\n"

    def _message(self, message: Mapping[str, object]) -> bytes:
        results = message.get("results")
        if not isinstance(results, list):
            return to_line(message, self._folder.redactor).rstrip(b"\n")
        rest = encode({key: value for key, value in message.items() if key != "results"}).removesuffix(b"}")
        lines = [to_line(item, self._folder.redactor).rstrip(b"\n") for item in results]
        return rest + b',"results":[\n' + b",\n".join(lines) + b"\n]}"

    async def load(self, session_id: SessionId) -> SessionRecord | None:
        """See `SessionStore.load`."""
        return await self._folder.run(self._load, session_id)

    def _load(self, session_id: str) -> SessionRecord | None:
        path = self._folder.file(session_id, files.RECORD)
        content = files.read(path)
        if content is None:
            return None
        try:
            record = record_from_json(decode(content))
        except (ValueError, TypeError) as exc:
            raise HarnessFault(f"the session record {path.name} cannot be read: {exc}") from exc
        if record.id != session_id:
            logger.warning("session_record_foreign file=%s", path.name)
            return None
        return record

    async def list(
        self, *, cursor: str = "", limit: int = 50, owner: str | None = None
    ) -> tuple[Sequence[SessionRecord], str]:
        """See `SessionStore.list`. Records that cannot be read are left out, each with a warning."""
        return await self._folder.run(self._list, cursor, limit, owner)

    def _list(self, cursor: str, limit: int, owner: str | None) -> tuple[Sequence[SessionRecord], str]:
        shown = [head for head in self._scan() if owner is None or head.owner == owner]
        places: Sequence[Place] = [(head.created_at, head.id) for head in shown]
        places, following = page_of(places, cursor=cursor, limit=limit)
        records: list[SessionRecord] = []
        for _, session_id in places:
            try:
                record = self._load(session_id)
            except HarnessFault as exc:
                logger.warning("session_record_unreadable reason=%s", exc)
                continue
            if record is not None:
                records.append(record)
        return records, following

    async def damaged(self) -> Sequence[str]:
        """See `SessionCheck.damaged`."""
        return await self._folder.run(self._damaged)

    def _damaged(self) -> Sequence[str]:
        found: list[str] = []
        for path in sorted(self._folder.path.glob(f"*{files.RECORD}")):
            try:
                record = record_from_json(decode(path.read_bytes()))
            except FileNotFoundError:
                continue
            except (ValueError, TypeError) as exc:
                found.append(f"the session record {path.name} cannot be read: {exc}")
                continue
            if files.stem(record.id) + files.RECORD != path.name:
                found.append(f"the session record {path.name} has the id of another")
        return found

    def _scan(self) -> Sequence[_Head]:
        """Return the head of every record; a file is read again only when it has changed."""
        seen: dict[str, tuple[_Stamp, _Head | None]] = {}
        try:
            entries = list(os.scandir(self._folder.path))
        except FileNotFoundError:
            entries = []
        for entry in entries:
            if not entry.name.endswith(files.RECORD):
                continue
            try:
                status = entry.stat()
                stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
                known = self._heads.get(entry.name)
                seen[entry.name] = known if known and known[0] == stamp else (stamp, self._own_head(entry.name))
            except FileNotFoundError:
                continue
        self._heads = seen
        return [head for _, head in seen.values() if head is not None]

    def _own_head(self, name: str) -> _Head | None:
        try:
            head = _head((self._folder.path / name).read_bytes(), name)
        except HarnessFault as exc:
            logger.warning("session_record_unreadable reason=%s", exc)
            return None
        if files.stem(head.id) + files.RECORD != name:
            logger.warning("session_record_foreign file=%s", name)
            return None
        return head

    async def delete(self, session_id: SessionId) -> bool:
        """See `SessionStore.delete`. The audit, the event log and what gave way go first, the record last."""
        return await self._folder.run(self._delete, session_id)

    def _delete(self, session_id: str) -> bool:
        path = self._folder.file(session_id, files.RECORD)
        with files.locked(path) as stored:
            if stored is not None and _head(stored, path.name).id != session_id:
                logger.warning("session_record_foreign file=%s", path.name)
                return False
            calls = self._folder.file(session_id, files.CALLS)
            if stored is None and _owner(calls) not in (None, session_id):
                return False
            calls.unlink(missing_ok=True)
            self._folder.file(session_id, files.EVENTS).unlink(missing_ok=True)
            self._folder.file(session_id, files.EARLIER).unlink(missing_ok=True)
            files.remove_drafts(path)
            path.unlink(missing_ok=True)
            return stored is not None


def _head(content: bytes, name: str) -> _Head:
    try:
        return _heads.decode(content)
    except msgspec.DecodeError:
        pass
    try:  # the fast decoder refuses what JSON allows, such as a lone surrogate
        return msgspec.convert(decode(content), _Head)
    except (ValueError, msgspec.ValidationError) as exc:
        raise HarnessFault(f"the session record {name} cannot be read: {exc}") from exc


def _owner(calls: os.PathLike[str]) -> object:
    """Return the session that the first readable line of an audit file names, None without one."""
    try:
        with open(calls, "rb") as file:
            objects, _ = read_objects(file.readline())
    except FileNotFoundError:
        return None
    return objects[0][1].get("session_id") if objects else None
