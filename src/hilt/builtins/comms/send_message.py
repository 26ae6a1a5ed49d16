"""send_message: tells a peer something."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.comms.reach import LIMITS, TO, named, peer_subject, sent
from hilt.core.args import Args
from hilt.core.envelope import PeerMessage
from hilt.core.peer import Directory
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessageArgs:
    """Arguments of `send_message`."""

    to: Annotated[str, Field(description=TO)]
    body: Annotated[str, Field(description="What to tell it.")]


class SendMessage:
    """Sends a text that asks for no answer."""

    _args = Args(SendMessageArgs)
    read_only = False
    spec = ToolSpec(
        "send_message",
        "Send a text to another agent, one of your peers. "
        "Use it to tell it something, or to answer its message. "
        "Do not use it for work that you want a result of (send_request), or to answer a request (send_response). "
        f"{LIMITS}",
        _args.schema,
    )

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the peer."""
        peer = peer_subject(self._directory, self._args.decode(call).to)
        return Subjects(unnamed=peer, named={"to": peer})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Send it."""
        args = self._args.decode(call)
        return await sent(call, env, named(self._directory, args.to), PeerMessage(body=args.body))
