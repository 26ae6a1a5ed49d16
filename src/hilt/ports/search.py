"""Finding tools by name: what one session may see."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from hilt.core.tool import ToolSpec


class ToolIndex(Protocol):
    """The tools of one session as ToolSearch sees them."""

    def specs(self) -> Mapping[str, ToolSpec]:
        """Return the full specs that the session may see, by catalog name, in the order of the catalog."""
        ...

    def hydrate(self, names: Sequence[str]) -> Collection[str]:
        """Give these tools with their full spec from now on; return those that were not so before."""
        ...
