"""The tool list of a request as its provider takes it, and the way back from the provider's names and keys."""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence

from hilt.core.dialect import wire_names
from hilt.core.dialect_finding import Repair
from hilt.core.dialect_key import turned_back
from hilt.core.dialect_tool import FittedTool, fit
from hilt.core.errors import ModelError
from hilt.core.tool import ToolCall, ToolSpec

logger = logging.getLogger(__name__)

REFUSALS = frozenset({400, 422})
_PLACE = re.compile(r"tools[.\[](\d+)")
NOT_UNIQUE = Repair("", "name-not-unique", "withheld", "another tool is sent under the same name")


class WireList:
    """Makes the wire form of a tool list once, until the list changes."""

    def __init__(self, profile: str) -> None:
        self._profile = profile
        self._given: tuple[ToolSpec, ...] = ()
        self._specs: tuple[ToolSpec, ...] = ()
        self._told: set[str] = set()
        self._known = -1
        self._refused: dict[str, Repair] = {}
        self._collided: frozenset[str] = frozenset()
        self.catalog_names: Mapping[str, str] = {}

    def specs(self, given: Sequence[ToolSpec], every: Iterable[str] = ()) -> Sequence[ToolSpec]:
        """Return the specs as the provider takes them, in the same order.

        `every` are the names of the whole catalog, listed or not. A tool that cannot be made fit, or whose name
        cannot be told from another's, is left out and told once at WARN; `catalog_names` then maps each sent name
        that differs to its catalog name.
        """
        if len(given) == len(self._given) and all(a is b for a, b in zip(given, self._given, strict=True)):
            return self._specs
        self._name([*every, *(spec.name for spec in given)])
        kept = (self._fitted(spec) for spec in given)
        self._specs = tuple(spec for spec in kept if spec is not None)
        self._given = tuple(given)
        return self._specs

    def withheld(self, spec: ToolSpec) -> Repair | None:
        """Return why a tool is not sent, None where it is."""
        if spec.name in self._collided:
            return NOT_UNIQUE
        return self._refused.get(spec.name) or fit(spec, self._profile).withheld

    def refused(self, error: ModelError) -> bool:
        """Withhold the tool that a provider's refusal of a request names; False where it names none."""
        if error.status not in REFUSALS:
            return False
        text = str(error)
        place = _PLACE.search(text)
        at = int(place[1]) if place is not None else len(self._specs)
        named = [spec.name for spec in self._specs if re.search(rf"(?<![\w-]){re.escape(spec.name)}(?![\w-])", text)]
        sent = max(named, key=len) if named else self._specs[at].name if at < len(self._specs) else ""
        name = self.catalog_names.get(sent, sent)
        if not name or name in self._refused:
            return False
        self._refused[name] = Repair("", "refused", "withheld", "the provider refused a request because of it")
        self._given = ()
        return True

    def canonical(self, call: ToolCall, spec: ToolSpec) -> ToolCall:
        """Return a call with the canonical keys of its tool's properties in place of those that were sent."""
        keys = fit(spec, self._profile).keys
        if not keys or not any(key in call.args for key in keys):
            return call
        try:
            arguments = turned_back(json.loads(call.args), keys)
        except (ValueError, RecursionError):
            return call
        return ToolCall(call.id, call.name, json.dumps(arguments, ensure_ascii=False))

    def _name(self, every: Sequence[str]) -> None:
        known = set(every)
        if len(known) == self._known:
            return
        self._known = len(known)
        names = wire_names(known, self._profile)
        self._collided = names.withheld
        self.catalog_names = {wire: name for wire, name in names.to_canonical.items() if wire != name}

    def _fitted(self, spec: ToolSpec) -> ToolSpec | None:
        why = self.withheld(spec)
        if why is None:
            fitted: FittedTool = fit(spec, self._profile)
            return fitted.spec
        if spec.name not in self._told:
            self._told.add(spec.name)
            logger.warning(
                "tool_withheld tool=%s profile=%s rule=%s pointer=%s why=%s",
                spec.name,
                self._profile,
                why.rule,
                why.pointer or "/",
                why.text,
            )
        return None
