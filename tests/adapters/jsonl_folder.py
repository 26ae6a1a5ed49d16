"""What tests of the JSON-lines store put into its folder and where they find it."""

from pathlib import Path

from hilt.adapters.store_jsonl import JsonlStore
from hilt.adapters.store_jsonl.files import stem
from hilt.core.session import SessionId
from hilt.core.tool import ToolCall, ToolResult
from tests.contracts.stores import event, record

A = SessionId("ses_a")


def file_of(tmp_path: Path, end: str, session_id: str = A) -> Path:
    return tmp_path / "store" / "sid-v1" / (stem(session_id) + end)


async def fill(store: JsonlStore, session_id: str = A) -> None:
    await store.sessions.save(record(session_id))
    await store.events.append(SessionId(session_id), [event(1)])
    await write_call(store, session_id)


async def write_call(store: JsonlStore, session_id: str = A, text: str = "done") -> None:
    call = ToolCall("c1", "Read", arguments={"path": "x"})
    await store.calls.tool_call(session_id, call, ToolResult("c1", text), 0.001, 0.002, detail={})
