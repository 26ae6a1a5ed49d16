"""What ToolSearch sees of one session: its tools and which of them it was given in full."""

from collections.abc import Collection, Mapping, Sequence

from hilt.core.tool import ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.conversation import Conversation
from hilt.engine.disclosure import TOOL_SEARCH


class SessionToolIndex:
    """See `ToolIndex`. Until it is bound to a conversation nothing is visible."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._conversation: Conversation | None = None

    def bind(self, conversation: Conversation) -> None:
        """Show the tools of this conversation's session."""
        self._conversation = conversation

    def specs(self) -> Mapping[str, ToolSpec]:
        """See `ToolIndex.specs`."""
        state = self._conversation
        if state is None:
            return {}
        return {
            entry.spec.name: entry.spec
            for entry in self._catalog.available_entries(state.mode)
            if state.visibility.sees(entry.spec.name) and entry.spec.name != TOOL_SEARCH
        }

    def hydrate(self, names: Sequence[str]) -> Collection[str]:
        """See `ToolIndex.hydrate`."""
        state = self._conversation
        if state is None:
            return ()
        fresh = [name for name in names if name not in state.hydrated]
        state.hydrated.update(fresh)
        return fresh
