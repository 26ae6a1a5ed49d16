"""Skills from a directory: one folder a skill, with a SKILL.md and the files beside it, found once."""

import hashlib
import logging
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from hilt.adapters._files import read_regular
from hilt.core.skill import (
    ASSET_MAX_BYTES,
    AssetNotFound,
    SkillAsset,
    SkillMeta,
    SkillNotFound,
    SkillRuleError,
    SkillUnavailableError,
    valid_asset_name,
)
from hilt.core.skill_file import FILE_MAX_BYTES, parse_skill

logger = logging.getLogger(__name__)

FILES: Final = ("SKILL.md", "skill.md")
ASSETS_MAX: Final = 10_000

_PASSED_OVER: Final = frozenset({".git", "__pycache__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asset:
    """A file as it was found; `sha256` "" for one that is too large to be shown."""

    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Skill:
    folder: Path
    meta: SkillMeta
    body: str
    assets: Mapping[str, _Asset]


class SkillDirectory:
    """The skills of one directory as they were when this was made; see `SkillSource`.

    `label` names the directory in messages. A skill that breaks a rule is left out with a WARN that names file and
    rule. A directory that holds a SKILL.md itself is one skill. Assets are files below the skill's folder; what a
    link leads to outside of it is none.
    """

    def __init__(self, root: str | os.PathLike[str], *, label: str = "") -> None:
        """Read every SKILL.md, and the digest of every file beside it.

        Raises:
            OSError: The directory cannot be listed.
        """
        path = Path(root)
        self.label = label or path.name
        self._skills: dict[str, _Skill] = {}
        for folder in skill_folders(path):
            self._take(folder, "" if folder == path else f"{folder.name}/")

    def _take(self, folder: Path, inner: str) -> None:
        found = skill_file(folder)
        name = FILES[0] if found is None else found.name
        try:
            if found is None:
                raise SkillRuleError("it is no file inside its directory")
            parsed = parse_skill(read_regular(found, FILE_MAX_BYTES + 1), folder=folder.name)
        except (SkillRuleError, OSError) as exc:
            why = exc.strerror if isinstance(exc, OSError) else exc
            logger.warning("skill_left_out file=%s/%s%s why=%s", self.label, inner, name, why)
            return
        for note in parsed.meta.notes:
            logger.info("skill_note file=%s/%s%s note=%s", self.label, inner, name, note)
        home = folder.resolve()
        self._skills[parsed.meta.name] = _Skill(
            folder=home, meta=parsed.meta, body=parsed.body, assets=dict(_assets(home))
        )

    async def list_skills(self) -> Sequence[SkillMeta]:
        """See `SkillSource.list_skills`; sorted by name."""
        return [self._skills[name].meta for name in sorted(self._skills)]

    async def skill_body(self, name: str) -> str:
        """See `SkillSource.skill_body`."""
        return self._skill(name).body

    async def list_skill_assets(self, name: str) -> Sequence[SkillAsset]:
        """See `SkillSource.list_skill_assets`."""
        assets = self._skill(name).assets
        return [SkillAsset(name=asset, size_bytes=assets[asset].size_bytes) for asset in sorted(assets)]

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        """See `SkillSource.read_skill_asset`; the content must be what it was when the skill was found."""
        held = self._skill(skill)
        known = held.assets.get(asset)
        if known is None:
            raise AssetNotFound(skill, asset)
        if not known.sha256:
            raise SkillUnavailableError(f"asset {asset!r} has {known.size_bytes} bytes, {ASSET_MAX_BYTES} are the most")
        content = await anyio.to_thread.run_sync(_read_again, held.folder / asset)
        if content is None or hashlib.sha256(content).hexdigest() != known.sha256:
            text = f"asset {asset!r} of skill {skill!r} has changed since hilt started; restart hilt to use it"
            raise SkillUnavailableError(text)
        return content

    def _skill(self, name: str) -> _Skill:
        found = self._skills.get(name)
        if found is None:
            raise SkillNotFound(name)
        return found


def skill_folders(root: Path) -> list[Path]:
    """Return the folders of skills, sorted by name: the directory itself, or those below it that have a SKILL.md."""
    if _has_file(root):
        return [root]
    return sorted(path for path in root.iterdir() if path.is_dir() and _has_file(path))


def _has_file(folder: Path) -> bool:
    return any(os.path.lexists(folder / name) for name in FILES)


def skill_file(folder: Path) -> Path | None:
    """Return the skill's file, None where it is no regular file inside the folder."""
    name = next((name for name in FILES if os.path.lexists(folder / name)), None)
    if name is None or not _is_inside(folder / name, folder.resolve()):
        return None
    return folder / name


def _is_inside(path: Path, home: Path) -> bool:
    """Tell whether a path leads to a regular file below the resolved folder."""
    try:
        real = path.resolve(strict=True)
        return real.is_relative_to(home) and stat.S_ISREG(real.stat().st_mode)
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return False


def _assets(home: Path) -> Iterator[tuple[str, _Asset]]:
    """Yield the files of a skill with their digests; at most 10,000, which a WARN tells."""
    count = 0
    for folder, below, files in os.walk(home):
        below[:] = sorted(name for name in below if name not in _PASSED_OVER)
        for file in sorted(files):
            path = Path(folder, file)
            name = path.relative_to(home).as_posix()
            if name in FILES or not valid_asset_name(name) or not _is_inside(path, home):
                continue
            if count == ASSETS_MAX:
                logger.warning("skill_assets_left_out skill=%s more_than=%d", home.name, ASSETS_MAX)
                return
            count += 1
            asset = _asset(path)
            if asset is not None:
                yield name, asset


def _asset(path: Path) -> _Asset | None:
    try:
        content = read_regular(path, ASSET_MAX_BYTES + 1)
        if len(content) > ASSET_MAX_BYTES:
            return _Asset(size_bytes=path.stat().st_size, sha256="")
    except OSError:
        return None
    return _Asset(size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


def _read_again(path: Path) -> bytes | None:
    try:
        return read_regular(path, ASSET_MAX_BYTES + 1)
    except OSError:
        return None
