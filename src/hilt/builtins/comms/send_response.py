"""send_response: answers a peer's request."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from hilt.builtins.comms.reach import LIMITS, TO, named, peer_subject, sent
from hilt.core.args import Args
from hilt.core.envelope import PeerResponse, Status, is_id
from hilt.core.errors import ToolError
from hilt.core.peer import Directory
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


class SendResponseArgs(TypedDict):
    """Arguments of `send_response`."""

    to: Annotated[str, Field(description=TO)]
    in_reply_to: Annotated[str, Field(description="Id of the request.")]
    status: Annotated[Status, Field(description="accepted: it is begun; completed or failed: it is over.")]
    result: NotRequired[Annotated[object, Field(description="What came of it: any JSON.")]]


class SendResponse:
    """Sends what became of a request."""

    _args = Args(SendResponseArgs)
    read_only = False
    spec = ToolSpec(
        "send_response",
        "Answer a request of another agent, one of your peers, by the request's id. "
        "Use it once to accept work that takes longer, and once when it is completed or failed. "
        "Do not use it to answer a message (send_message). "
        f"{LIMITS}",
        _args.schema,
    )

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the peer."""
        peer = peer_subject(self._directory, self._args.decode(call)["to"])
        return Subjects(unnamed=peer, named={"to": peer})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Send it."""
        args = self._args.decode(call)
        request = args["in_reply_to"]
        if not is_id(request):
            raise ToolError.invalid_arguments(
                f"in_reply_to: {request[:80]!r} is no id of a request; take the one that the request came with"
            )
        content = PeerResponse(in_reply_to=request, status=args["status"], result=args.get("result"))
        return await sent(call, env, named(self._directory, args["to"]), content)
