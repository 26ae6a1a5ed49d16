"""The two memories of values under keys: their tools' names, what belongs into them, and how they are reached."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.core.errors import ToolError
from hilt.core.memory import StaleVersionError, Writer
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import ToolCall, ToolResult
from hilt.ports.memory import KeyedMemory, ProjectMemory, UserModel
from hilt.ports.tool import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the memories. `what` names it in descriptions, `holds` says what belongs into it, `example` is a key."""

    port: type[KeyedMemory]
    what: str
    holds: str
    example: str
    remember: str
    recall: str
    search: str
    inspect: str
    forget: str
    undo: str

    def of(self, env: Environment) -> KeyedMemory:
        """Return the memory of a session.

        Raises:
            ToolError: It has none.
        """
        try:
            return env.service(self.port)
        except LookupError:
            raise ToolError.unavailable(f"this session has no {self.what}") from None

    @contextmanager
    def telling_versions(self) -> Iterator[None]:
        """Turn a version that is not the current one into an error that names the tool which shows it."""
        try:
            yield
        except StaleVersionError as exc:
            raise ToolError.execution_failed(f"{exc}; look at it with {self.inspect} and try again") from None


PROJECT: Final = Kind(
    port=ProjectMemory,  # type: ignore[type-abstract]  # the host names it by its port
    what="project memory",
    holds="facts about this project that later sessions need: commands, conventions, decisions and their reasons",
    example="build/test-command",
    remember="Remember",
    recall="Recall",
    search="SearchMemory",
    inspect="InspectMemory",
    forget="ForgetMemory",
    undo="UndoMemory",
)
USER: Final = Kind(
    port=UserModel,  # type: ignore[type-abstract]  # the host names it by its port
    what="model of the user",
    holds="what lasts about the user in every project: preferences, role, ways of working",
    example="style/answers",
    remember="RememberUser",
    recall="RecallUser",
    search="SearchUserModel",
    inspect="InspectUserMemory",
    forget="ForgetUserMemory",
    undo="UndoUserMemory",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionedKey:
    """Arguments of the tools that change a key and have seen its version."""

    key: Annotated[str, Field(description="The key.")]
    expected_version: Annotated[str, Field(description="Its version, as the inspecting tool shows it.")]


def one_subject(name: str, text: str) -> Subjects:
    """Show the one argument that counts to patterns, with its name and without."""
    subject = (Subject(text=text),)
    return Subjects(unnamed=subject, named={name: subject})


def writer_of(env: Environment) -> Writer:
    """Return on whose behalf a tool writes."""
    return Writer(session=env.session_id)


def changed(call: ToolCall, key: str, version: str) -> ToolResult:
    """Return what a change gives."""
    return ToolResult.text(call.id, json.dumps({"key": key, "version": version}))
