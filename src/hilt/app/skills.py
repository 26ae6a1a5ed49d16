"""Loads the skills and commands of an application, once, before any session."""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

import anyio

from hilt.adapters.clock_system import SystemClock
from hilt.adapters.command_dir import CommandDirectory
from hilt.adapters.skill_dir import SkillDirectory
from hilt.adapters.skill_draft_dir import DraftDirectory
from hilt.app.config import Config
from hilt.app.skill_places import DRIVER, EXPLICIT, Place, agent_places, check_draft_dir, command_places, skill_places
from hilt.builtins.skills.skill import Skill
from hilt.builtins.skills.skill_draft import SkillDraft
from hilt.core.errors import ConfigError
from hilt.engine.skill_commands import SkillCommands
from hilt.engine.skills import SOURCE_TIMEOUT_S, Registered, SkillBook, gather
from hilt.ports.clock import Clock
from hilt.ports.command import Expander
from hilt.ports.skill import SkillSource
from hilt.ports.tool import Tool

logger = logging.getLogger(__name__)

T = TypeVar("T")

SkillSources = Sequence[SkillSource | Expander]
"""What a host passes to `build`: sources of skills, of commands, or of both."""

_OF_SKILLS = ("list_skills", "skill_body", "list_skill_assets", "read_skill_asset")
_OF_COMMANDS = ("names", "expand")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedSkills:
    """What skills give an application: who expands `/names`, in order, and the tools of its last two families.

    `folders` are the directories that skills and commands are read from, absolute, links resolved or not.
    """

    book: SkillBook = field(default_factory=SkillBook)
    expanders: Sequence[Expander] = ()
    folders: Sequence[str] = ()
    skill: Sequence[Tool] = ()
    draft: Sequence[Tool] = ()


async def load_skills(
    config: Config,
    sources: SkillSources = (),
    enable: frozenset[str] = frozenset(),
    *,
    root: str = "",
    clock: Clock | None = None,
) -> LoadedSkills:
    """Return what the settings' directories and the host's `sources` give, as it is now.

    A source of the host gives skills, commands or both, by the operations that it has. A project's directories count
    only if it is trusted and is the workspace `root` at all.

    Raises:
        ConfigError: A source has neither, or drafts would lie where they must not.
    """
    config = _for_workspace(config, root)
    check_draft_dir(config, root or config.workspace_root)
    skills, commands = _of_host(sources)
    registered = [one for place in skill_places(config) if (one := await _of_place(place)) is not None]
    book = await gather([*registered, *skills])
    directories: list[Expander] = []
    for place in command_places(config):
        made = await _made(place, partial(CommandDirectory, place.path, label=place.shown))
        directories += [] if made is None else [made]
    skill, draft = _tools(config, book, clock or SystemClock()) if "skills" in enable else ([], [])
    return LoadedSkills(
        book=book,
        expanders=[*directories, SkillCommands(book), *commands],
        folders=sorted(_folders(config)),
        skill=skill,
        draft=draft,
    )


def _folders(config: Config) -> set[str]:
    places = [place.path for place in (*skill_places(config), *command_places(config), *agent_places(config))]
    return {os.path.normpath(path) for path in places} | {os.path.realpath(path) for path in places}


def _for_workspace(config: Config, root: str) -> Config:
    """Return the configuration, without trust where it was settled for another workspace than `root`."""
    own = not root or not config.workspace_root or os.path.realpath(config.workspace_root) == os.path.realpath(root)
    return config if own else replace(config, trusted=False)


async def _of_place(place: Place) -> Registered | None:
    source = await _made(place, partial(SkillDirectory, place.path, label=place.shown))
    return None if source is None else Registered(source=source, tier=place.tier, place=place.shown)


def _tools(config: Config, book: SkillBook, clock: Clock) -> tuple[list[Tool], list[Tool]]:
    skill: list[Tool] = [Skill(book)] if book.metas else []
    folder = config.skills.draft_dir
    if folder is None:
        return skill, []
    drafts = DraftDirectory(folder, clock)
    return skill, [SkillDraft(drafts, book, similarity=config.skills.draft_similarity)]


def _of_host(sources: SkillSources) -> tuple[list[Registered], list[Expander]]:
    skills: list[Registered] = []
    commands: list[Expander] = []
    for number, source in enumerate(sources, start=1):
        label = getattr(source, "label", "")
        place = label if isinstance(label, str) and label else f"source {number}"
        of_skills = all(hasattr(source, name) for name in _OF_SKILLS)
        of_commands = all(hasattr(source, name) for name in _OF_COMMANDS)
        if of_skills:
            skills.append(Registered(source=source, tier=DRIVER, place=place))  # type: ignore[arg-type]  # looked at above
        if of_commands:
            commands.append(source)  # type: ignore[arg-type]  # looked at above
        if not of_skills and not of_commands:
            raise ConfigError(f"source {number} has the operations of neither skills nor commands", key="skill_sources")
    return skills, commands


async def _made(place: Place, make: Callable[[], T]) -> T | None:
    """Read a directory, None where there is none; one that cannot be read in time is left out with a WARN."""
    try:
        with anyio.fail_after(SOURCE_TIMEOUT_S):
            return await anyio.to_thread.run_sync(make, abandon_on_cancel=True)
    except TimeoutError:
        why: object = f"no answer in {SOURCE_TIMEOUT_S:g} s"
    except OSError as exc:
        if isinstance(exc, FileNotFoundError) and place.tier != EXPLICIT:
            return None
        why = exc.strerror
    logger.warning("skill_source_left_out source=%s why=%s", place.shown, why)
    return None
