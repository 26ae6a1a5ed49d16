"""A catalog of 2,000 tools: finding one, and listing all, as a model request does."""

from collections.abc import Callable

import hilt
from bench.figures import Figure, Options, number
from bench.timing import batches
from hilt.core.session import ToolFilter
from hilt.engine.disclosure import listed_specs
from hilt.engine.visibility import Visibility

REQ = ("CAT-43",)

TOOLS = 2000
LOOKUP_US = 2.0
SPECS_MS = 5.0
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}}}


class Named:
    """A tool that has a name."""

    def __init__(self, name: str) -> None:
        self.spec = hilt.ToolSpec(name, f"{name}. Use it to measure. Do not use it otherwise.", SCHEMA)
        self.read_only = True

    async def execute(self, call: hilt.ToolCall, env: hilt.Environment) -> hilt.ToolResult:
        """Answer with the name."""
        return hilt.ToolResult.text(call.id, self.spec.name)


def measure(options: Options) -> list[Figure]:
    """Return the medians of a lookup and of the listings."""
    catalog = hilt.Catalog()
    names = [f"tool_{number_:04}" for number_ in range(TOOLS)]
    for name in names:
        catalog.register(Named(name))
    plain = {name: catalog.lookup(name) for name in names}
    filtered = Visibility((ToolFilter(deny=("tool_1*",)),))

    def median(work: Callable[[], object]) -> float:
        def repeated(times: int) -> None:
            for _ in range(times):
                work()

        return batches(repeated, count=options.times(50, 3), size=options.times(20)).median

    found = median(lambda: _each(catalog.lookup, names)) / TOOLS * 1e6
    least = median(lambda: _each(plain.get, names)) / TOOLS * 1e6
    listed = median(lambda: listed_specs(catalog, mode=hilt.Mode.DEFAULT, visibility=filtered))
    return [
        Figure(
            what="lookup among 2,000 tools",
            value=found,
            unit="µs",
            limit=LOOKUP_US,
            beside=f"{found / least:.1f} x dict.get ({number(least)} µs)",
        ),
        Figure(
            what="specs of 2,000 tools",
            value=median(lambda: catalog.specs("plan")) * 1e3,
            unit="ms",
            limit=SPECS_MS,
        ),
        Figure(
            what="the same through a session's tool filter",
            value=listed * 1e3,
            unit="ms",
            limit=SPECS_MS,
        ),
    ]


def _each(function: Callable[[str], object], names: list[str]) -> None:
    for name in names:
        function(name)
