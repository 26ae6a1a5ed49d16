"""What holds for a tool that the host brings in code when no rule names it.

The host vouches for what it passes in: such a tool counts like a built-in one, so reading runs unasked and
anything else is asked for. MCP tools have no default, whoever brought them.
"""

from collections.abc import Iterable

from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.engine.catalog import MCP_FAMILIES, Catalog

SOURCE = "the host's own tools"


def host_defaults(catalog: Catalog, known: Iterable[str] = ()) -> list[PermissionRule]:
    """Return a default rule for each tool that is neither an MCP tool nor in `known`."""
    named = frozenset(known)
    return [
        PermissionRule(
            effect=Effect.ALLOW if entry.read_only else Effect.ASK,
            tool=_literal(entry.spec.name),
            scope=Scope.BUILTIN_DEFAULT,
            source=SOURCE,
        )
        for entry in catalog.entries()
        if entry.family not in MCP_FAMILIES and entry.spec.name not in named
    ]


def _literal(name: str) -> str:
    return "".join(f"\\{char}" if char in "\\*?" else char for char in name)
