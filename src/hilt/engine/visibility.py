"""Which tools an agent sees: filters in layers, of which none can widen what another narrowed."""

import logging
from collections.abc import Sequence

from hilt.core.pattern import matches_name
from hilt.core.session import ToolFilter
from hilt.engine.catalog import Catalog

logger = logging.getLogger(__name__)


class Visibility:
    """The layers of one session: settings, its creation, the agent definition, one turn.

    Allow sets intersect, deny sets unite, deny beats allow. A layer that cannot be applied hides everything. `names`,
    where given, are all that may be seen, taken literally: what a child agent got of its parent's.
    """

    def __init__(self, layers: Sequence[ToolFilter] = (), *, names: frozenset[str] | None = None) -> None:
        self._layers = tuple(layers)
        self._names = names
        self._cache: dict[str, bool] = {}
        self._broken = [layer for layer in self._layers if not _readable(layer)]
        if self._broken:
            logger.error("tool_filter_unreadable layers=%d: every tool is hidden", len(self._broken))

    def sees(self, name: str) -> bool:
        """Tell whether a tool of this catalog name may be seen."""
        if self._names is not None and name not in self._names:
            return False
        known = self._cache.get(name)
        if known is None:
            known = self._cache[name] = not self._broken and all(_admits(layer, name) for layer in self._layers)
        return known

    @property
    def open(self) -> bool:
        """Whether every tool is seen."""
        filtered = any(layer.allow is not None or layer.deny for layer in self._layers)
        return not filtered and not self._broken and self._names is None

    def narrowed(self, layer: ToolFilter) -> "Visibility":
        """Return the same layers and one more."""
        return Visibility((*self._layers, layer), names=self._names)

    def report_unknown(self, catalog: Catalog, *, complete: bool = True) -> None:
        """Tell, at WARN, which allowed names no tool of the catalog has.

        Without `complete` tools of MCP servers may still come, and their names are not told.
        """
        unknown = sorted(
            {
                pattern
                for layer in self._layers
                if layer not in self._broken
                for pattern in layer.allow or ()
                if not any(matches_name(pattern, name) for name in catalog.names)
                and (complete or not pattern.startswith("mcp__"))
            }
        )
        if unknown:
            logger.warning("tool_filter_names_unknown allow=%s", ",".join(unknown))


def _readable(layer: ToolFilter) -> bool:
    """Tell whether a layer, which may come from outside the type checker's reach, can be applied."""
    sets: tuple[object, object] = (layer.allow if layer.allow is not None else (), layer.deny)
    return all(isinstance(set_, tuple) and all(isinstance(item, str) for item in set_) for set_ in sets)


def _admits(layer: ToolFilter, name: str) -> bool:
    if any(matches_name(pattern, name) for pattern in layer.deny):
        return False
    return layer.allow is None or any(matches_name(pattern, name) for pattern in layer.allow)
