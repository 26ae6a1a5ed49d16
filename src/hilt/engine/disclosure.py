"""Which tools a model request lists, in which form. Disclosure is off in this stage: every tool in full."""

from collections.abc import Sequence, Set

from hilt.core.session import Mode
from hilt.core.tool import ToolSpec
from hilt.engine.catalog import Catalog
from hilt.engine.visibility import Visibility

TOOL_SEARCH = "ToolSearch"


def listed_specs(
    catalog: Catalog,
    *,
    mode: Mode,
    visibility: Visibility,
    hydrated: Set[str] = frozenset(),
    disclosure: bool = False,
) -> Sequence[ToolSpec]:
    """Return the specs of a request, by name; ToolSearch is listed only while disclosure is on."""
    specs = catalog.advertised_specs(mode, hydrated) if disclosure else catalog.specs(mode)
    if visibility.open and disclosure:
        return specs
    return [spec for spec in specs if visibility.sees(spec.name) and (disclosure or spec.name != TOOL_SEARCH)]
