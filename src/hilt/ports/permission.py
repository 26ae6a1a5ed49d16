"""Where rules come from and who answers an ask."""

from collections.abc import Sequence
from typing import Literal, Protocol

from hilt.core.frozen import frozen
from hilt.core.permission import PermissionRule

VerdictKind = Literal["allow_once", "allow_always", "deny"]


@frozen
class Ask:
    """One question to a person; `arguments` is JSON text, masked, at most 4,096 bytes."""

    ask_id: str
    session_id: str
    call_id: str
    tool: str
    reason: str
    rule: str = ""
    arguments: str = "{}"
    child: str = ""
    rememberable: bool = True


@frozen
class Verdict:
    """A person's answer; `persist` asks for the rule to be written to the local project settings too."""

    kind: VerdictKind
    message: str = ""
    persist: bool = False


class Approver(Protocol):
    """Puts an ask to a person and waits for the answer; may be cancelled at any time."""

    async def decide(self, ask: Ask) -> Verdict:
        """Return the verdict."""
        ...


class RuleSource(Protocol):
    """Rules as they stand now."""

    async def load(self) -> Sequence[PermissionRule]:
        """Return the rules of every file and flag, in the order of scopes, as written within each.

        Raises:
            ConfigError: A file cannot be read or a rule does not parse; names file and line.
        """
        ...

    async def remember(self, rule: PermissionRule) -> None:
        """Add an allow rule to the local project settings, keeping comments and order.

        Raises:
            ConfigError: There is no such file to write, or it is broken.
        """
        ...
