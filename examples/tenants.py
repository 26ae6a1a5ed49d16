"""Tenants: a host that makes the catalog of each session itself, and sessions without files beside others with them.

A factory makes one tool anew for each session. With `session_catalog` names are no longer compared with the shared
catalog; that is the host's own affair then.
"""

import asyncio

import hilt
from hilt.core.event import ToolSettled

PLANS = {"acme": ("invoice", "report"), "tiny": ("invoice",)}


def feature(name: str) -> hilt.Tool:
    """Return the tool of a feature."""

    @hilt.tool(name=name, read_only=True)
    def run() -> str:
        """Run the feature. Use it when asked for it by name. Do not use it to learn what it does."""
        return f"{name} is ready"

    return run


def basket_of(context: hilt.SessionContext) -> hilt.Tool:
    """Return the basket of one session; a factory among `tools` is called for each."""
    owner = context.session_id

    @hilt.tool(name="basket")
    def put(article: str) -> str:
        """Put an article into the basket. Use it when the user wants to buy. Do not use it to look around."""
        return f"{article} in the basket of {owner}"

    return put


def catalog_of(context: hilt.SessionContext) -> hilt.Catalog:
    """Return the tools that the tenant in the session's id has paid for."""
    catalog = hilt.Catalog()
    for name in PLANS[context.session_id.partition(":")[0]]:
        catalog.register(feature(name))
    return catalog


async def main() -> None:
    """Open a session for each tenant, then one without files in an application that has them."""
    async with hilt.build(session_catalog=catalog_of, model=hilt.ScriptedModel([{"text": "hello"}])) as app:
        for name in ("acme:1", "tiny:1"):
            session = await app.sessions.create(id=name)
            print(name, [spec.name for spec in session.specs()])
    buy = {"name": "basket", "args": {"article": "bolt"}}
    model = hilt.ScriptedModel([{"calls": [buy]}, {"text": "done"}])
    async with hilt.build(
        enable={"files"}, tools=[feature("report"), basket_of], rules=[hilt.allow("basket")], model=model
    ) as app:
        session = await app.sessions.create(id="customer-7")
        async for event in session.prompt("I take a bolt."):
            if isinstance(event.body, ToolSettled):
                print(event.body.result.content)
        session = await app.sessions.create(profile="no-fs", mode=hilt.Mode.PLAN)
        print("no-fs", [spec.name for spec in session.specs()])


if __name__ == "__main__":
    asyncio.run(main())
