"""Hooks and a guardrail: look at calls, rewrite them, stop them, and keep results from the model.

A hook may tighten and never loosen: what it rewrites passes the rules again, and a deny beats everything.
"""

import asyncio
from collections.abc import Mapping

import hilt
from hilt.core.event import HookRan, ToolSettled


@hilt.tool(read_only=True)
async def query(sql: str, limit: int = 1000) -> str:
    """Run a query on the sales database. Use it for figures. Do not use it to change rows."""
    return f"rows of {sql!r}, at most {limit}; contact: ann@example.com"


@hilt.hook("PreToolUse", match=["query"])
async def small_queries(hook_input: hilt.HookInput) -> hilt.HookAnswer | None:
    """Let no query return more than 50 rows."""
    arguments = hook_input.tool_input or {}
    if int(str(arguments.get("limit", 1000))) <= 50:
        return None
    return hilt.HookAnswer(updated_input={**arguments, "limit": 50})


@hilt.hook("PreToolUse", match=["query"], on_failure="block", timeout_s=2)
def no_salaries(hook_input: hilt.HookInput) -> Mapping[str, object] | None:
    """Stop queries on salaries; a plain function runs in a thread, and may answer as JSON hooks do."""
    if "salaries" in str((hook_input.tool_input or {}).get("sql")):
        return {"decision": "block", "reason": "salaries are not for agents"}
    return None


class NoAddresses:
    """Finds mail addresses in results."""

    async def review(self, direction: str, tool: str, payload: object) -> str | None:
        """Return what is wrong, None when nothing is."""
        text = payload.content if isinstance(payload, hilt.ToolResult) else ""
        return "a mail address" if "@" in text and "customers" in text else None


async def main() -> None:
    """Make three queries: one is cut down, one stopped, one withheld."""
    wanted = ("sum of sales", "all salaries", "all customers")
    calls = [{"name": "query", "args": {"sql": text}} for text in wanted]
    rule = hilt.GuardrailRule(match=("query",), direction="out", reviewer="no-addresses")
    async with hilt.build(
        tools=[query],
        hooks=[small_queries, no_salaries],
        guardrails=[hilt.Guardrail(rule=rule, reviewer=NoAddresses())],
        model=hilt.ScriptedModel([{"calls": calls}, {"text": "done"}]),
    ) as app:
        session = await app.sessions.create()
        async for event in session.prompt("How are sales?"):
            match event.body:
                case HookRan(hook=name, outcome=outcome, rewrote=rewrote) if outcome != "allow" or rewrote:
                    print(f"  {name}: {outcome}{', rewrote' * rewrote}")
                case ToolSettled(result=result):
                    print(result.content)


if __name__ == "__main__":
    asyncio.run(main())
