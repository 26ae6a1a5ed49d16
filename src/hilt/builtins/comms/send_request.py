"""send_request: asks a peer to do something."""

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from hilt.builtins.comms.reach import LIMITS, TO, named, peer_subject, sent
from hilt.core.args import Args
from hilt.core.envelope import PeerRequest
from hilt.core.peer import Directory
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


class SendRequestArgs(TypedDict):
    """Arguments of `send_request`."""

    to: Annotated[str, Field(description=TO)]
    intent: Annotated[str, Field(description="What it should do, in a word or a sentence.")]
    params: NotRequired[Annotated[object, Field(description="What belongs to it: any JSON.")]]


class SendRequest:
    """Sends a request, which the peer may answer by its id."""

    _args = Args(SendRequestArgs)
    read_only = False
    spec = ToolSpec(
        "send_request",
        "Ask another agent, one of your peers, to do something; returns the id of the request. "
        "Use it for work that you want a result of: the response names that id and comes at a later turn, if the peer "
        "answers at all. "
        "Do not use it to tell something (send_message), or to wait for an answer: go on with your work, or end it. "
        f"{LIMITS}",
        _args.schema,
    )

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the peer and the intent."""
        args = self._args.decode(call)
        peer = peer_subject(self._directory, args["to"])
        return Subjects(unnamed=peer, named={"to": peer, "intent": (Subject(text=args["intent"]),)})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Send it."""
        args = self._args.decode(call)
        content = PeerRequest(intent=args["intent"], params=args.get("params"))
        return await sent(call, env, named(self._directory, args["to"]), content)
