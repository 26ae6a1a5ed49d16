"""What the tools cost a turn, and what disclosure saves (search.md section 5)."""

from collections.abc import Callable, Sequence

from hilt.core.disclosure import BYTES_PER_TOKEN, Tier
from hilt.core.event import TurnTokens
from hilt.core.session import AssistantMessage, ToolMessage
from hilt.core.tool import ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.conversation import Conversation
from hilt.engine.disclosure import TOOL_SEARCH, ToolList, listed_specs
from hilt.ports.model import Model

ESTIMATE = "bytes/4"
PROVIDER = "provider"


def _estimated(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN


class TokenMeter:
    """Counts with the model's own `count_tokens` if it has one, else as bytes / 4; `counter` says which."""

    def __init__(self, model: Model) -> None:
        own: Callable[[str], int] | None = getattr(model, "count_tokens", None)
        self.counter = PROVIDER if callable(own) else ESTIMATE
        self._count = own if callable(own) else _estimated
        self._specs: dict[ToolSpec, int] = {}
        self._full: tuple[object, int] = (None, 0)

    def text(self, text: str) -> int:
        """Return the tokens of a text."""
        return self._count(text)

    def specs(self, specs: Sequence[ToolSpec]) -> int:
        """Return the tokens of definitions; each is counted once."""
        return sum(map(self._spec, specs))

    def turn(self, state: Conversation, tools: ToolList, catalog: Catalog) -> TurnTokens:
        """Return what the tools of the turn that ends cost, and what listing all of them in full would have."""
        listed = self.specs(tools.specs(state))
        full = self._full_list(state, catalog)
        hydrated = [entry.spec for name in state.hydrated if (entry := catalog.entry(name)) is not None]
        last = state.messages[-1] if state.messages else None
        results = last.results if isinstance(last, ToolMessage) else ()
        searched = 0 if tools.tier(state) is Tier.FULL else self._searches(state)
        return TurnTokens(
            counter=self.counter,
            listed=listed,
            hydrated=self.specs(hydrated),
            results=sum(self.text(result.content) for result in results),
            full=full,
            saved=full - listed - searched,
        )

    def _spec(self, spec: ToolSpec) -> int:
        known = self._specs.get(spec)
        if known is None:
            known = self._specs[spec] = self._count(f"{spec.name}{spec.description}{spec.schema_json}")
        return known

    def _full_list(self, state: Conversation, catalog: Catalog) -> int:
        key = (catalog.entries(), state.mode, state.visibility)
        before, known = self._full
        if isinstance(before, tuple) and all(a is b for a, b in zip(before, key, strict=True)):
            return known
        full = self.specs(listed_specs(catalog, mode=state.mode, visibility=state.visibility))
        self._full = (key, full)
        return full

    def _searches(self, state: Conversation) -> int:
        """Return the tokens of every call of ToolSearch that is in the conversation, and of its answer."""
        cost = 0
        ids: set[str] = set()
        for message in state.messages:
            if isinstance(message, AssistantMessage):
                calls = [call for call in message.calls if call.name == TOOL_SEARCH]
                ids = {call.id for call in calls}
                cost += sum(self.text(call.name + call.args) for call in calls)
            elif isinstance(message, ToolMessage):
                cost += sum(self.text(result.content) for result in message.results if result.call_id in ids)
        return cost
