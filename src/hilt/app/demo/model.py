"""The demo's model: answers written down, of which one looks at what came back, as a model would."""

import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence

from hilt.adapters.model_scripted import play
from hilt.core.errors import ModelError
from hilt.core.script import parse_answer
from hilt.core.session import ToolMessage
from hilt.ports.model import Capabilities, ModelItem, ModelRequest

Answer = Mapping[str, object] | Callable[[ModelRequest], Mapping[str, object]]

NAME = "scripted:demo"
_HANDLE = re.compile(r'"handle": "([^"]+)"')
_OFFSET = re.compile(r'"offset": (\d+)')

FIXED = """    count = 0
    for books in shelves:
        count += books
    return count
"""
BROKEN = """    count = 0
    for position in range(len(shelves) - 1):
        count += shelves[position]
    return count
"""

LATE: Mapping[str, object] = {
    "server": "orders",
    "tool": "list",
    "jq_filter": '[.orders[] | select(.state == "late") | .id]',
}


def _call(name: str, **arguments: object) -> dict[str, object]:
    return {"name": name, "args": arguments}


def _page(request: ModelRequest) -> Mapping[str, object]:
    """Ask for the part of the last result that was left out."""
    last = request.messages[-1]
    text = "\n".join(result.content for result in last.results) if isinstance(last, ToolMessage) else ""
    handle, offset = _HANDLE.search(text), _OFFSET.search(text)
    if handle is None or offset is None:
        return {"text": "The table came whole.", "calls": [_call("ListDir")]}
    page = _call("ReadResult", handle=handle.group(1), offset=int(offset.group(1)), limit=400)
    return {"text": "The middle is missing; I read on where it was cut.", "calls": [page]}


def demo_answers(servers: Sequence[str], repository: str) -> list[Answer]:
    """Return the answers of the demo for the MCP servers that are there."""
    first: list[dict[str, object]] = [_call("Read", path="README.md"), _call("Grep", pattern="def ", output="lines")]
    if "git" in servers:
        first.append(_call("mcp__git__git_log", repo_path=repository, max_count=50))
    if "everything" in servers:
        first.append(_call("mcp__everything__echo", message="hello over HTTP"))
    first.append(_call("Write", path="plan.md", content="1. mend total()\n2. run the test\n"))
    last = [_call("shell", command="python3 -m unittest -q")]
    if "git" in servers:
        last.append(_call("mcp__git__git_status", repo_path=repository))
    return [
        {"text": "I look around, and note a plan.", "calls": first},
        {"text": "I clean up before I start.", "calls": [_call("shell", command="echo start && rm -rf build")]},
        {"text": "How many loans are there?", "calls": [_call("Read", path="loans.csv", limit=2000)]},
        _page,
        {"text": "Which orders are late?", "calls": [_call("mcp__orders__list")]},
        {"text": "Too much at once; I ask for what I need.", "calls": [_call("CallMcpWithQuery", **LATE)]},
        {
            "text": "The loop stops one shelf early. I mend it.",
            "calls": [
                _call("Read", path="shelf.py"),
                _call("Edit", path="shelf.py", old_string=BROKEN, new_string=FIXED),
            ],
        },
        {"text": "Does the test pass now?", "calls": last},
        {"text": "`total` counts every shelf now, and its test passes."},
    ]


class DemoModel:
    """Gives the answers in order; see `hilt.ports.model.Model`."""

    name = NAME
    capabilities = Capabilities()

    def __init__(self, answers: Sequence[Answer]) -> None:
        self._answers = list(answers)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelItem]:
        """Stream the next answer.

        Raises:
            ModelError: None is left.
        """
        if not self._answers:
            raise ModelError("the demo has no further answer")
        given = self._answers.pop(0)
        answer = parse_answer(given if isinstance(given, Mapping) else given(request), source=NAME, line=1)
        async for item in play(answer, request.turn):
            yield item
