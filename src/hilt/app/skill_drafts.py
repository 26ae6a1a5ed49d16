"""Drafts of skills for the person who reviews them: `hilt skills`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.skill_draft_dir import Draft, DraftDirectory, install, promoted_name
from hilt.app.config import Config
from hilt.app.skill_places import PROJECT, SKILLS, USER
from hilt.core.errors import ConfigError

__all__ = ["TIERS", "Draft", "Drafts", "Target"]

TIERS: Final = (USER, PROJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A tier that a draft can be copied into; `shown` is how messages name it."""

    folder: Path
    shown: str


class Drafts:
    """The drafts of the configured directory."""

    def __init__(self, config: Config) -> None:
        """Take the directory of the settings.

        Raises:
            ConfigError: There is none.
        """
        folder = config.skills.draft_dir
        if folder is None:
            raise ConfigError("no directory of drafts was chosen; give --skills-draft-dir", key="skills.draft_dir")
        self._config = config
        self._directory = DraftDirectory(folder, SystemClock())

    def names(self) -> list[str]:
        """Return the names that drafts are kept under, sorted."""
        return self._directory.names()

    def read(self, kept_as: str) -> Draft:
        """Return a draft.

        Raises:
            RequestError: There is none, or it cannot be read.
        """
        return self._directory.read(kept_as)

    def target(self, tier: str) -> Target:
        """Return where the skills of a tier lie: of `user` or of `project`."""
        if tier == PROJECT:
            return Target(folder=Path(self._config.workspace_root, SKILLS), shown=SKILLS)
        return Target(folder=Path(self._config.user_config_dir, "skills"), shown="the user's skills")

    def check(self, draft: Draft, tier: str) -> str:
        """Return the name that the draft would have as a skill of a tier.

        Raises:
            RequestError: It has no stamp, its text is not the stamped one, it breaks a rule, or the name is taken.
        """
        return promoted_name(draft, self.target(tier).folder)

    def promote(self, draft: Draft, tier: str) -> str:
        """Copy the draft into a tier and return the skill's name; raises as `check` does."""
        return install(draft, self.target(tier).folder)
