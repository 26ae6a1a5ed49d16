"""How the tools find the peer that a call names, show it to rules, and send to it."""

import json
from typing import Final

from hilt.core.envelope import ENVELOPE_MAX_BYTES, Content
from hilt.core.errors import ToolError
from hilt.core.peer import Directory, Peer
from hilt.core.permission import Subject
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.peer import PeerPost
from hilt.ports.tool import Environment

TO: Final = "Name of the peer, or its peer_id (list_peers)."
LIMITS: Final = (
    f"Limits: {ENVELOPE_MAX_BYTES // 1024 // 1024} MiB; it returns when the peer's host has it, which is not yet when "
    "the peer has read it."
)


def named(directory: Directory, to: str) -> Peer:
    """Return the peer that a call names.

    Raises:
        ToolError: There is none of this name or id; lists the names.
    """
    peer = directory.find(to)
    if peer is None:
        known = ", ".join(one.name for one in directory.peers) or "none"
        raise ToolError.invalid_arguments(f"to: there is no peer {to[:80]!r}; the peers are: {known}")
    return peer


def peer_subject(directory: Directory, to: str) -> tuple[Subject, ...]:
    """Return what patterns see of a peer: its name; denies and asks are held against its id and the text given too."""
    peer = directory.find(to)
    return (Subject(text=to) if peer is None else Subject(text=peer.name, also=(peer.id, to)),)


async def sent(call: ToolCall, env: Environment, to: Peer, content: Content) -> ToolResult:
    """Send and return that it was."""
    try:
        post = env.service(PeerPost)  # type: ignore[type-abstract]  # the host names it by its port
    except LookupError:
        raise ToolError.unavailable("this session has no peers") from None
    id_ = await post.send(to, content, session=env.session_id)
    return ToolResult.text(call.id, json.dumps({"status": "sent", "id": id_}))
