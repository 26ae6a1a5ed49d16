"""A tool as a class: it holds what it needs, and says itself what the model sees."""

import asyncio

import hilt


class Note:
    """Keeps notes in memory."""

    read_only = False
    spec = hilt.ToolSpec(
        "Note",
        "Keep one short note. Use it for what must not be forgotten in this session. At most 100 notes.",
        {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The note, one sentence.", "minLength": 1}},
            "required": ["text"],
        },
    )

    def __init__(self) -> None:
        self.notes: list[str] = []

    async def execute(self, call: hilt.ToolCall, env: hilt.Environment) -> hilt.ToolResult:
        """Keep the note."""
        if len(self.notes) == 100:
            raise hilt.ToolError.execution_failed("there are 100 notes; no more are kept")
        self.notes.append(str(call.arguments["text"]))
        return hilt.ToolResult.text(call.id, f"note {len(self.notes)} kept")


async def main() -> None:
    note = Note()
    async with hilt.build(tools=[note], rules=[hilt.allow("Note")], model=hilt.ScriptedModel()) as app:
        session = await app.sessions.create()
        print((await session.call_tool("Note", '{"text": "Buy bolts."}')).content)
        print((await session.call_tool("Note", "{}")).is_error, note.notes)


if __name__ == "__main__":
    asyncio.run(main())
