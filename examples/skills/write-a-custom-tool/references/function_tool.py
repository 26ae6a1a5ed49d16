"""A tool as a function: the schema comes from the signature, the descriptions from the docstring."""

import asyncio
from typing import Literal

import hilt

PRICES = {"bolt": 4, "nut": 3}


@hilt.tool(read_only=True)
def price(article: str, unit: Literal["piece", "hundred"] = "piece") -> int:
    """Give the price of an article in cents. Use it before naming a price. Knows articles in stock only.

    Args:
        article: name of the article, in lower case
        unit: for one piece or a hundred
    """
    if article not in PRICES:
        raise hilt.ToolError.invalid_arguments(f"no article {article!r}; try one of {', '.join(PRICES)}")
    return PRICES[article] * (100 if unit == "hundred" else 1)


async def main() -> None:
    async with hilt.build(tools=[price], model=hilt.ScriptedModel()) as app:
        session = await app.sessions.create()
        print((await session.call_tool("price", '{"article": "bolt", "unit": "hundred"}')).content)
        print((await session.call_tool("price", '{"article": "gold"}')).is_error)


if __name__ == "__main__":
    asyncio.run(main())
