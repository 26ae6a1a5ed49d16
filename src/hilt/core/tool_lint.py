"""What providers would make of tools: every repair, and every tool that would be withheld."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from hilt.core.dialect import wire_names
from hilt.core.dialect_finding import FindingKind, Repair
from hilt.core.dialect_tool import fit
from hilt.core.tool import ToolSpec

EVERY = "*"


@dataclass(frozen=True, slots=True, order=True)
class ToolFinding:
    """One finding. `provider` is `*` for what holds whatever the provider; `pointer` is into the tool's schema."""

    server: str
    tool: str
    provider: str
    pointer: str
    rule: str
    kind: FindingKind
    text: str

    def to_json(self) -> dict[str, object]:
        """Return the finding as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintedTool:
    """A tool to look at: its server, "" without one, its name there, and what was repaired when it was listed."""

    server: str
    own_name: str
    spec: ToolSpec
    repaired: tuple[str, ...] = ()
    hints: Mapping[str, object] | None = None


def lint_tools(tools: Sequence[LintedTool], providers: Iterable[str]) -> list[ToolFinding]:
    """Return all findings in a fixed order: by server, tool, provider, place and rule."""
    found = {finding for tool in tools for finding in _own(tool)}
    by_name = {tool.spec.name: tool for tool in tools}
    for provider in providers:
        for name in wire_names(by_name, provider).withheld:
            text = "another tool is sent under the same name"
            found.add(_finding(by_name[name], provider, Repair("", "name-not-unique", "withheld", text)))
        for tool in tools:
            found.update(_finding(tool, provider, repair) for repair in fit(tool.spec, provider).repairs)
    return sorted(found)


def _finding(tool: LintedTool, provider: str, repair: Repair) -> ToolFinding:
    return ToolFinding(tool.server, tool.own_name, provider, repair.pointer, repair.rule, repair.kind, repair.text)


def _own(tool: LintedTool) -> list[ToolFinding]:
    """Return what is to be said of the tool itself."""
    repairs = [Repair("", _rule_of(text), "repaired", text) for text in tool.repaired]
    if not tool.spec.description.strip():
        repairs.append(
            Repair("", "no-description", "told", "it has no description; a model cannot tell when to use it")
        )
    hints = tool.hints or {}
    if hints.get("readOnlyHint") is True and hints.get("destructiveHint") is True:
        text = "readOnlyHint and destructiveHint are both true; it counts as one that changes things"
        repairs.append(Repair("", "hints", "told", text))
    return [_finding(tool, EVERY, repair) for repair in repairs]


def _rule_of(text: str) -> str:
    return "hidden-characters" if "not shown" in text else "listing"
