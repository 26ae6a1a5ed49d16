"""Where skills come from and where drafts of skills go: no operation, argument or value holds a place on a disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hilt.core.skill import SkillAsset, SkillMeta


class SkillSource(Protocol):
    """Skills from one place. `build` lists each source once; bodies and assets are asked for when they are used.

    Optional member: `label`, a text that names the source in messages.
    """

    async def list_skills(self) -> Sequence[SkillMeta]:
        """Return the skills that there are, each name once.

        Raises:
            SkillUnavailableError: The source does not answer.
        """
        ...

    async def skill_body(self, name: str) -> str:
        """Return a skill's instructions as their author wrote them.

        Raises:
            SkillNotFound: There is no such skill.
            SkillUnavailableError: The source does not answer.
        """
        ...

    async def list_skill_assets(self, name: str) -> Sequence[SkillAsset]:
        """Return the files that belong to a skill, sorted by name; none is called `SKILL.md`.

        Raises:
            SkillNotFound: There is no such skill.
            SkillUnavailableError: The source does not answer.
        """
        ...

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        """Return what an asset holds; `asset` is a name that `valid_asset_name` accepts.

        Raises:
            SkillNotFound: There is no such skill.
            AssetNotFound: The skill has no such asset.
            SkillUnavailableError: It changed since the skill was listed, is too large, or the source does not answer.
        """
        ...


class Skills(Protocol):
    """The skills of an application, whatever source each comes from; what fails raises as in `SkillSource`."""

    @property
    def metas(self) -> Sequence[SkillMeta]:
        """Every skill, sorted by name; the same for the life of the application."""
        ...

    def near(self, name: str) -> Sequence[str]:
        """Return up to 20 names, the nearest first."""
        ...

    async def body(self, name: str) -> str:
        """Return a skill's instructions."""
        ...

    async def assets(self, name: str) -> Sequence[SkillAsset]:
        """Return a skill's assets, sorted by name."""
        ...

    async def asset(self, name: str, asset: str) -> bytes:
        """Return what an asset holds."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAuthor:
    """Which model drafts: a service of the session's environment."""

    model: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDraft:
    """A drafted skill that passed the rules: its name, the text of its file, and who wrote it."""

    name: str
    text: str
    session: str
    model: str


class DraftStore(Protocol):
    """Keeps drafts apart from everything that is active."""

    async def add(self, draft: NewDraft) -> str:
        """Keep a draft with its stamp and return the name it is kept under; nothing that is there is replaced.

        Raises:
            ToolError: It cannot be written.
        """
        ...
