"""A custom tool as a class: any object with `spec`, `read_only` and `execute`; what it needs of the host is a service.

Shows also the clock: with one of the host's own, times are the host's.
"""

import asyncio
from dataclasses import dataclass

import hilt
from hilt.core.event import ToolSettled


@dataclass
class Stock:
    """The host's own object: how many of each article are left."""

    left: dict[str, int]


class StockLevel:
    """Tells how many are left. It keeps nothing, so one object serves every session."""

    spec = hilt.ToolSpec(
        "StockLevel",
        "Return how many pieces of an article are in stock. Use it before an offer. Do not use it for prices.",
        {"type": "object", "properties": {"article": {"type": "string"}}, "required": ["article"]},
    )
    read_only = True

    async def execute(self, call: hilt.ToolCall, env: hilt.Environment) -> hilt.ToolResult:
        """Look the article up in the host's stock."""
        article = str(call.arguments["article"])
        left = env.service(Stock).left.get(article)
        if left is None:
            return hilt.ToolResult.error(call.id, f"no article {article!r}; try one of bolt, nut")
        return hilt.ToolResult.text(call.id, f"{left} pieces of {article}")


async def main() -> None:
    """Ask a scripted model, which calls the tool twice at the same time, and print what it was told."""
    calls = [{"name": "StockLevel", "args": {"article": article}} for article in ("bolt", "gold")]
    model = hilt.ScriptedModel([{"calls": calls}, {"text": "Twelve bolts are left."}])
    async with hilt.build(
        tools=[StockLevel()],
        services={Stock: Stock({"bolt": 12, "nut": 0})},
        clock=hilt.SystemClock(),
        model=model,
    ) as app:
        session = await app.sessions.create(id="customer-7")
        async for event in session.prompt("Have you got a bolt for me?"):
            if isinstance(event.body, ToolSettled):
                print(f"{event.body.tool}: {event.body.result.content}")


if __name__ == "__main__":
    asyncio.run(main())
