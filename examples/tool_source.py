"""A tool source: many tools behind one dispatch function, such as the commands of a service that lists its own.

Shows also `own_names`: the host brings a tool under the name of a built-in whose category is off, knowing so.
"""

import asyncio
from collections.abc import Sequence

import hilt
from hilt.core.event import ToolSettled

QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


class Wiki:
    """The commands of a wiki. Each becomes one entry of the catalog, with the same gate and audit as any other."""

    read_only_tools = frozenset({"WebSearch"})

    def __init__(self) -> None:
        self.pages = {"Release": "Tag, build, tell.", "Holidays": "In summer."}

    def tools(self) -> Sequence[hilt.ToolSpec]:
        """Return the specs of all commands."""
        return [
            hilt.ToolSpec("WebSearch", "Find pages of the wiki. Use it for questions on how we work.", QUERY),
            hilt.ToolSpec("wiki_delete", "Delete a page. Use it only when asked to.", QUERY),
        ]

    async def dispatch(self, call: hilt.ToolCall) -> hilt.ToolResult:
        """Run one command."""
        query = str(call.arguments["query"])
        if call.name == "wiki_delete":
            self.pages.pop(query, None)
            return hilt.ToolResult.text(call.id, f"{query} is gone")
        found = [title for title in self.pages if query.lower() in title.lower()]
        return hilt.ToolResult.text(call.id, ", ".join(found) or "nothing")


async def main() -> None:
    """Search, and try to delete: what is not read-only is asked for, and nobody is there to answer."""
    search = {"name": "WebSearch", "args": {"query": "release"}}
    delete = {"name": "wiki_delete", "args": {"query": "Release"}}
    model = hilt.ScriptedModel([{"calls": [search, delete]}, {"text": "done"}])
    async with hilt.build(sources=[Wiki()], own_names={"WebSearch"}, model=model) as app:
        session = await app.sessions.create()
        async for event in session.prompt("Where is the page on releases?"):
            if isinstance(event.body, ToolSettled):
                print(f"{event.body.tool}: {event.body.result.content}")


if __name__ == "__main__":
    asyncio.run(main())
