"""Asking the person at a session for what a server wants to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

ElicitAction = Literal["accept", "decline", "cancel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicitation:
    """One question of a server to a person.

    A form has a `schema` (JSON Schema of an object with plain properties); a visit has a `url`, to be shown whole
    and opened by nobody but the person. `problem` says why the answer before this one did not fit, "" at first.
    """

    server: str
    message: str
    session_id: str = ""
    schema: Mapping[str, object] = field(default_factory=dict)
    url: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ElicitAnswer:
    """A person's answer; `content` counts for an accepted form only."""

    action: ElicitAction
    content: Mapping[str, object] = field(default_factory=dict)


class Elicitor(Protocol):
    """Puts a server's question to a person and waits for the answer; may be cancelled at any time.

    A host offers it as a service: `build(services={Elicitor: …})`. Without one every question is declined.
    """

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        """Return the answer."""
        ...
