"""The category `comms`: messages, requests and responses between agents."""

from hilt.builtins.comms.list_peers import ListPeers
from hilt.builtins.comms.send_message import SendMessage
from hilt.builtins.comms.send_request import SendRequest
from hilt.builtins.comms.send_response import SendResponse
from hilt.core.peer import Directory
from hilt.ports.tool import Tool

_NOBODY = Directory()
NO_PEERS = "this agent has no peers; `comms.peers` of the settings lists none"


def comms_tools(directory: Directory = _NOBODY) -> list[Tool]:
    """Return all tools of the category, for an agent with these peers."""
    return [SendMessage(directory), SendRequest(directory), SendResponse(directory), ListPeers(directory)]
