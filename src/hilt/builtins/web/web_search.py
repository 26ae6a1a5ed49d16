"""WebSearch: pages of the web by a query."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from hilt.builtins.web.frame import framed
from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment
from hilt.ports.web_search import SearchFailedError, WebHit, WebSearcher


@dataclass(frozen=True, slots=True, kw_only=True)
class WebSearchArgs:
    """Arguments of `WebSearch`."""

    query: Annotated[str, Field(min_length=1, max_length=400, description="What to look for.")]
    count: Annotated[int, Field(ge=1, le=20, description="Results to return.")] = 10


class WebSearch:
    """Returns title, address and snippet of what a search engine finds."""

    _args = Args(WebSearchArgs)
    read_only = True
    spec = ToolSpec(
        name="WebSearch",
        description=(
            "Search the web; returns title, URL and snippet of each hit. "
            "Use it to find pages whose address you do not know; read one with WebFetch. "
            "Do not use it to search files (Grep). Limits: 20 results, queries of 400 characters."
        ),
        schema=_args.schema,
    )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the query to patterns."""
        subject = Subject(text=self._args.decode(call).query)
        return Subjects(unnamed=(subject,), named={"query": (subject,)})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Ask the search engine."""
        args = self._args.decode(call)
        try:
            searcher = env.service(WebSearcher)  # type: ignore[type-abstract]  # named by its Protocol
        except LookupError:
            raise ToolError.unavailable("no search engine is configured; set web.search.backend") from None
        try:
            hits = await searcher.search(args.query, count=args.count)
        except SearchFailedError as exc:
            raise ToolError.execution_failed(exc.text) from None
        if not hits:
            return ToolResult.text(call.id, "(nothing was found)")
        text = "\n\n".join(_shown(number, hit) for number, hit in enumerate(hits[: args.count], start=1))
        return ToolResult.text(call.id, framed(f"{min(len(hits), args.count)} results", text))


def _shown(number: int, hit: WebHit) -> str:
    lines = [f"{number}. {_line(hit.title) or '(no title)'}", f"   {_line(hit.url)}"]
    return "\n".join([*lines, f"   {_line(hit.snippet)}"] if hit.snippet else lines)


def _line(text: str) -> str:
    return " ".join(text.split())
