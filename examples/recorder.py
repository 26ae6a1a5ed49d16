"""Who answers an ask, and who keeps the audit: an approver and a recorder of the host's own.

A recorder sees every call, refused ones too. Both go to `Agent` as well as to `build`.
"""

import asyncio
import json
from collections.abc import Mapping

import hilt


@hilt.tool
def pay(to: str, amount: int) -> str:
    """Pay an amount. Use it for open invoices. Do not use it twice for one."""
    return f"{amount} paid to {to}"


class UpTo100:
    """Allows small payments."""

    async def decide(self, ask: hilt.Ask) -> hilt.Verdict:
        """Answer one question."""
        if json.loads(ask.arguments)["amount"] <= 100:
            return hilt.Verdict(kind="allow_once")
        return hilt.Verdict(kind="deny", message="too much")


class Printed:
    """Prints how each call was decided."""

    async def tool_call(
        self,
        session_id: str,
        call: hilt.ToolCall,
        result: hilt.ToolResult,
        queued: float,
        took: float,
        *,
        detail: Mapping[str, object],
    ) -> None:
        """See `ToolCallRecorder`."""
        ended = "error" if result.is_error else "ok"
        print(f"{session_id or 'agent'}: {call.name} {call.args} {detail['decision']} {ended}")


def model() -> hilt.ScriptedModel:
    """Return a model that pays twice."""
    calls = [{"name": "pay", "args": {"to": "ann", "amount": amount}} for amount in (20, 2000)]
    return hilt.ScriptedModel([{"calls": calls}, {"text": "done"}])


async def main() -> None:
    """Run the same prompt through an agent and through a session."""
    catalog = hilt.Catalog()
    catalog.register(pay)
    agent = hilt.Agent(catalog=catalog, model=model(), approver=UpTo100(), recorder=Printed())
    await agent.run("Pay what is open.")
    async with hilt.build(tools=[pay], model=model(), approver=UpTo100(), recorder=Printed()) as app:
        session = await app.sessions.create(id="visit-2")
        async for _ in session.prompt("Pay what is open."):
            pass


if __name__ == "__main__":
    asyncio.run(main())
