"""SearchMemory, SearchUserModel: find keys by words."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.builtins.memory.kind import Kind, one_subject
from hilt.builtins.memory.recall import listed
from hilt.core.args import Args
from hilt.core.memory import shown_as_data
from hilt.core.permission import Subjects
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.tool import Environment

_SHOWN_CHARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchArgs:
    """Arguments of `SearchMemory` and `SearchUserModel`."""

    query: Annotated[str, Field(description="Words to look for, in any order; nothing in it is an operator.")]
    limit: Annotated[int, Field(ge=1, le=50, description="Keys to return.")] = 10


class Search:
    """Returns keys with their descriptions."""

    _args = Args(SearchArgs)
    read_only = True

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.spec = ToolSpec(
            kind.search,
            f"Search keys, descriptions and values of the {kind.what}; returns keys and descriptions, best first. "
            f"Use it to see whether something is remembered; read a value with {kind.recall}. "
            "Do not use it for earlier turns of this conversation (memory_search) or for files (Grep). "
            "Limits: 50 keys; words are compared without case and accents.",
            self._args.schema,
        )

    def subjects(self, call: ToolCall) -> Subjects:
        """Show the query to patterns."""
        return one_subject("query", self._args.decode(call).query)

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return what is found, framed as data, or that nothing is."""
        args = self._args.decode(call)
        found = await self._kind.of(env).search(args.query, limit=args.limit)
        if not found:
            shown = args.query[:_SHOWN_CHARS]
            return ToolResult.text(call.id, f"Nothing in the {self._kind.what} shares a word with {shown!r}.")
        return ToolResult.text(call.id, shown_as_data(f"keys found: {len(found)}", listed(found)))
