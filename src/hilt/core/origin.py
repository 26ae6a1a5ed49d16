"""Which call a result is of, and how much there is of it: what decides how it is shaped."""

from collections.abc import Mapping
from typing import Final

from hilt.core.content import EmbeddedResourcePart, TextPart
from hilt.core.frozen import frozen
from hilt.core.tool import ToolResult

HEAVY: Final = 256 * 1024


@frozen
class Origin:
    """Which call a result is of, as far as it decides how the result is shaped.

    `remote` says that it came from a server, named by `server` and `server_tool`; only such a result is taken for
    JSON by its text. `typed` says that the tool promised structured results. `schema` is that of the arguments,
    `filters` whether filters can be run here, `rewritten` that a hook wrote the text, so that the parts may hold
    what the model is not to see.
    """

    tool: str = ""
    remote: bool = False
    server: str = ""
    server_tool: str = ""
    typed: bool = False
    read_only: bool = True
    filters: bool = False
    rewritten: bool = False
    schema: Mapping[str, object] | None = None
    arguments: Mapping[str, object] | None = None


def is_heavy(result: ToolResult) -> bool:
    """Whether shaping the result takes so long that it belongs beside the event loop."""
    texts = [part.text for part in result.parts if isinstance(part, TextPart | EmbeddedResourcePart)]
    return sum(len(text) for text in (result.content, *texts) if text is not None) > HEAVY


def outweighs(value: object, limit: int) -> bool:
    """Whether a JSON value has more than `limit` characters and members together; looks no further than that.

    Its JSON text has at least so many bytes.
    """
    weight, waiting = 0, [value]
    while waiting and weight <= limit:
        each = waiting.pop()
        if isinstance(each, str):
            weight += len(each)
        elif isinstance(each, dict):
            weight += len(each)
            if weight <= limit:
                weight += sum(map(len, map(str, each)))
                waiting += each.values()
        elif isinstance(each, list):
            weight += len(each)
            if weight <= limit:
                waiting += each
        else:
            weight += 1
    return weight > limit
