"""The tool list of a request as its provider takes it, and the way back from the provider's names."""

import logging
from collections.abc import Mapping, Sequence

from hilt.core.dialect import wire_names
from hilt.core.tool import ToolSpec

logger = logging.getLogger(__name__)


class WireList:
    """Makes the wire form of a tool list once, until the list changes."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._given: tuple[ToolSpec, ...] = ()
        self._specs: tuple[ToolSpec, ...] = ()
        self._told: set[str] = set()
        self.catalog_names: Mapping[str, str] = {}

    def specs(self, given: Sequence[ToolSpec]) -> Sequence[ToolSpec]:
        """Return the specs under the names that the provider takes, in the same order.

        A tool whose name cannot be told from another's is left out and told once at WARN; `catalog_names` then
        maps each sent name that differs to its catalog name.
        """
        if len(given) == len(self._given) and all(a is b for a, b in zip(given, self._given, strict=True)):
            return self._specs
        names = wire_names([spec.name for spec in given], self._profile)
        for withheld in sorted(names.withheld - self._told):
            self._told.add(withheld)
            logger.warning("tool_withheld tool=%s profile=%s why=name_not_unique", withheld, self._profile)
        self._specs = tuple(
            spec if (wire := names.to_wire[spec.name]) == spec.name else spec.renamed(wire)
            for spec in given
            if spec.name not in names.withheld
        )
        self.catalog_names = {wire: name for wire, name in names.to_canonical.items() if wire != name}
        self._given = tuple(given)
        return self._specs
