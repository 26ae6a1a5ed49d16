"""list_peers: shows the peers."""

import json
from dataclasses import dataclass

from hilt.core.args import Args
from hilt.core.peer import Directory
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPeersArgs:
    """Arguments of `list_peers`: none."""


class ListPeers:
    """Returns the peers."""

    _args = Args(ListPeersArgs)
    read_only = True
    spec = ToolSpec(
        "list_peers",
        "Return the other agents that you can exchange messages with, as JSON: name, peer_id and address of each. "
        "Use it to see to whom you can send. "
        "Do not use it to find out whether one runs at the moment: sending tells.",
        _args.schema,
    )

    def __init__(self, directory: Directory) -> None:
        self._directory = directory

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return them."""
        self._args.decode(call)
        peers = [peer.to_json() for peer in self._directory.peers]
        return ToolResult.text(call.id, json.dumps({"peers": peers}, ensure_ascii=False))
