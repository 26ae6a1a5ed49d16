"""What a server may ask of this client, and what it gets."""

from collections.abc import Mapping
from pathlib import Path

import anyio

from hilt.ports.mcp import Asker, Fault, McpFault

INPUT_PAUSE_S = 0.05


class ClientReplies:
    """Answers a server's requests: `ping`, the root where it is offered, and elicitations.

    `elicits` offers elicitation: without anybody to ask, each one is declined.
    """

    def __init__(self, root: Path | None, *, elicits: bool = False) -> None:
        self._elicits = elicits
        self._roots = None if root is None else [{"uri": root.as_uri(), "name": root.name}]

    @property
    def capabilities(self) -> dict[str, object]:
        """What is offered."""
        roots: dict[str, object] = {} if self._roots is None else {"roots": {}}
        return {**roots, "elicitation": {"form": {}, "url": {}}} if self._elicits else roots

    def at_once(self, method: str) -> dict[str, object] | None:
        """Return the result of what needs nobody, or None for a request that is not served."""
        match method:
            case "ping":
                return {}
            case "elicitation/create":
                return {"action": "decline"}
            case "roots/list" if self._roots is not None:
                return {"roots": self._roots}
            case _:
                return None

    async def reply(
        self, method: str, params: Mapping[str, object], asker: Asker | None
    ) -> Mapping[str, object] | None:
        """Return the result, from a person where one is asked; None for a request that is not served."""
        if method == "elicitation/create" and asker is not None:
            return await asker.elicit(params)
        return self.at_once(method)

    async def fill(self, answer: Mapping[str, object], asker: Asker | None) -> dict[str, object]:
        """Return the params that an `input_required` answer asks for, state included.

        Raises:
            McpFault: It asks for what is not offered.
        """
        out: dict[str, object] = {}
        if "requestState" in answer:
            out["requestState"] = answer["requestState"]
        asked = answer.get("inputRequests")
        if not isinstance(asked, Mapping) or not asked:
            await anyio.sleep(INPUT_PAUSE_S)
            return out
        responses = {}
        for key, wanted in asked.items():
            method = wanted.get("method") if isinstance(wanted, Mapping) else None
            params = wanted.get("params") if isinstance(wanted, Mapping) else None
            known = params if isinstance(params, Mapping) else {}
            given = await self.reply(method, known, asker) if isinstance(method, str) else None
            if given is None:
                raise McpFault(Fault.PROTOCOL, f"the server asks for {str(method)[:60]!r}, which is not offered")
            responses[key] = given
        return {**out, "inputResponses": responses}
