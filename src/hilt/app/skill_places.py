"""Where skills and command files of a machine lie, by tier, and how many an untrusted project does not get."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from hilt.adapters.child_dir import definition_files
from hilt.adapters.command_dir import command_files
from hilt.adapters.skill_dir import skill_folders
from hilt.app.config import Config
from hilt.app.settings import SkillSettings
from hilt.core.errors import ConfigError

EXPLICIT: Final = "explicit"
PROJECT: Final = "project"
USER: Final = "user"
DRIVER: Final = "driver"

SKILLS: Final = ".hilt/skills"
COMMANDS: Final = ".hilt/commands"
AGENTS: Final = ".hilt/agents"
OTHER_SKILLS: Final = (".agents/skills", ".claude/skills")
OTHER_COMMANDS: Final = (".claude/commands",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A directory of skills or commands; `shown` is how messages name it."""

    path: Path
    shown: str
    tier: str


def skill_places(config: Config) -> list[Place]:
    """Return the directories of skills, the strongest first; a project's own only where it is trusted."""
    explicit = [Place(path=Path(name), shown=Path(name).name, tier=EXPLICIT) for name in config.skills.dirs]
    others = OTHER_SKILLS if config.skills.conventional else ()
    return [*explicit, *_project(config, SKILLS, others), *_user(config, "skills", others)]


def command_places(config: Config) -> list[Place]:
    """Return the directories of command files, the strongest first; a project's own only where it is trusted."""
    others = OTHER_COMMANDS if config.skills.conventional else ()
    return [*_project(config, COMMANDS, others), *_user(config, "commands", others)]


def agent_places(config: Config) -> list[Place]:
    """Return the directories of definitions of agents, the strongest first; a project's only where it is trusted."""
    return [*_project(config, AGENTS, ()), *_user(config, "agents", ())]


def _project(config: Config, own: str, others: Sequence[str]) -> list[Place]:
    if not config.trusted or not config.workspace_root:
        return []
    return [Place(path=Path(config.workspace_root, name), shown=name, tier=PROJECT) for name in (own, *others)]


def _user(config: Config, own: str, others: Sequence[str]) -> list[Place]:
    places: list[Place] = []
    if config.user_config_dir:
        path = Path(config.user_config_dir, own)
        places.append(Place(path=path, shown=_shown(path, config.home), tier=USER))
    if config.home:
        places += [Place(path=Path(config.home, name), shown=f"~/{name}", tier=USER) for name in others]
    return places


def _shown(path: Path, home: str) -> str:
    return f"~/{path.relative_to(home)}" if home and path.is_relative_to(home) else path.name


def withheld(root: Path, settings: SkillSettings) -> Iterator[tuple[str, int]]:
    """Yield how many skills, commands and agents a project has, by their files alone; nothing of it is read."""
    others = settings.conventional
    yield "skills", sum(_count_skills(root / name) for name in (SKILLS, *(OTHER_SKILLS if others else ())))
    yield "commands", sum(_count_commands(root / name) for name in (COMMANDS, *(OTHER_COMMANDS if others else ())))
    yield "agent definitions", _count_agents(root / AGENTS)


def _count_agents(path: Path) -> int:
    try:
        return len(definition_files(path))
    except OSError:
        return 0


def _count_skills(path: Path) -> int:
    try:
        return len(skill_folders(path))
    except OSError:
        return 0


def _count_commands(path: Path) -> int:
    try:
        return len(command_files(path))
    except OSError:
        return 0


def placed(config: Config, *, root: Path, cwd: Path, home: Path) -> SkillSettings:
    """Return the settings of skills with absolute directories: a flag's below `cwd`, a file's below the workspace.

    Raises:
        ConfigError: A directory of skills is none; names flag or file.
    """
    settings = config.skills
    dirs: list[str] = []
    source = config.source("skills.dirs")
    for name in settings.dirs:
        path = _absolute(name, cwd if source.kind == "flag" else root, home)
        if not path.is_dir():
            raise ConfigError(f"{name!r} is no directory", source=str(source))
        dirs.append(str(path))
    draft = settings.draft_dir
    if draft is not None:
        flag = config.source("skills.draft_dir").kind == "flag"
        draft = str(_absolute(draft, cwd if flag else root, home))
    return replace(settings, dirs=tuple(dirs), draft_dir=draft)


def _absolute(name: str, below: Path, home: Path) -> Path:
    return home / name[2:] if name.startswith("~/") else below / name


def check_draft_dir(config: Config, root: str) -> None:
    """Hold the directory of drafts against what agents can write to and what is read as skills.

    Raises:
        ConfigError: It lies in the workspace, an extra root or a directory of skills, or one of these lies in it.
    """
    if config.skills.draft_dir is None:
        return
    drafts = Path(config.skills.draft_dir).resolve()
    everywhere = replace(config, trusted=True, skills=replace(config.skills, conventional=True))
    for what, path in [
        ("the workspace", Path(root)),
        *(("an extra root", Path(name)) for name in config.extra_roots),
        *((f"the skills of {place.shown}", place.path) for place in skill_places(everywhere)),
    ]:
        real = path.resolve()
        if drafts.is_relative_to(real) or (what.startswith("the skills") and real.is_relative_to(drafts)):
            raise ConfigError(
                f"the directory of drafts must lie outside of {what}",
                key="skills.draft_dir",
                source=str(config.source("skills.draft_dir")),
            )
