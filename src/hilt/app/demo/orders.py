"""An MCP server of the demo, as a process: one tool whose JSON is larger than a model should read.

`python -m hilt.app.demo.orders` speaks JSON-RPC lines of the handshake era over standard input and output.
"""

import json
import sys
from collections.abc import Mapping

ORDERS = 1_200
REVISION = "2025-06-18"
TOOL: Mapping[str, object] = {
    "name": "list",
    "description": "List every order of the library, with its state.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


def orders() -> dict[str, object]:
    """Return the orders; every fortieth is late."""
    rows = [
        {"id": f"o-{number:04}", "shelf": number % 40, "state": "late" if number % 40 == 0 else "here"}
        for number in range(ORDERS)
    ]
    return {"orders": rows}


def answer(method: object) -> dict[str, object] | None:
    """Return the result for a method, None for one that is not known."""
    match method:
        case "initialize":
            return {
                "protocolVersion": REVISION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "orders", "version": "1"},
            }
        case "ping":
            return {}
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            value = orders()
            return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": value}
        case _:
            return None


def main() -> None:
    """Answer requests until standard input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message.get("method"))
        reply: dict[str, object] = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        else:
            reply["result"] = result
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
