"""Drafts of skills in a directory of their own: one folder a draft, with the file and a stamp; and their promotion."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import anyio

from hilt.core.errors import RequestError, ToolError
from hilt.core.skill import SkillRuleError, name_fault
from hilt.core.skill_draft import Stamp, digest
from hilt.core.skill_file import FILE_MAX_BYTES, SkillFile, parse_skill
from hilt.ports.clock import Clock
from hilt.ports.skill import NewDraft

FILE: Final = "SKILL.md"
STAMP: Final = "stamp.json"
DRAFTS_MAX: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A draft as it lies in its folder. `skill` is None where it no longer passes the rules, `fault` says why."""

    kept_as: str
    content: bytes
    stamp: Stamp | None
    skill: SkillFile | None
    fault: str = ""


class DraftDirectory:
    """See `DraftStore`. A second draft of a name is kept as `NAME.2`, which no skill can be called."""

    def __init__(self, root: str | os.PathLike[str], clock: Clock) -> None:
        self._root = Path(root)
        self._clock = clock

    async def add(self, draft: NewDraft) -> str:
        """See `DraftStore.add`."""
        stamp = Stamp(
            session=draft.session,
            model=draft.model,
            time=self._clock.now().isoformat(),
            sha256=digest(draft.text.encode()),
        )
        try:
            return await anyio.to_thread.run_sync(self._write, draft, stamp)
        except OSError as exc:
            raise ToolError.execution_failed(f"the draft cannot be written: {exc.strerror}") from exc

    def _write(self, draft: NewDraft, stamp: Stamp) -> str:
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        for number in range(1, DRAFTS_MAX + 1):
            kept_as = draft.name if number == 1 else f"{draft.name}.{number}"
            try:
                (self._root / kept_as).mkdir(mode=0o700)
            except FileExistsError:
                continue
            (self._root / kept_as / FILE).write_text(draft.text, encoding="utf-8", newline="")
            (self._root / kept_as / STAMP).write_text(json.dumps(asdict(stamp), indent=2) + "\n", encoding="utf-8")
            return kept_as
        raise ToolError.execution_failed(f"there are {DRAFTS_MAX} drafts named {draft.name!r}")

    def names(self) -> list[str]:
        """Return the names that drafts are kept under, sorted."""
        if not self._root.is_dir():
            return []
        return sorted(path.name for path in self._root.iterdir() if (path / FILE).is_file())

    def read(self, kept_as: str) -> Draft:
        """Return a draft.

        Raises:
            RequestError: There is none, or it cannot be read.
        """
        name, _, number = kept_as.partition(".")
        folder = self._root / kept_as
        if name_fault(name) or (number and not number.isdecimal()) or not (folder / FILE).is_file():
            raise RequestError(f"no draft {kept_as!r}", code="not_found")
        try:
            with (folder / FILE).open("rb") as file:
                content = file.read(FILE_MAX_BYTES + 1)
            stamp = _stamp(folder / STAMP)
        except OSError as exc:
            raise RequestError(f"the draft {kept_as!r} cannot be read: {exc.strerror}") from exc
        try:
            return Draft(kept_as=kept_as, content=content, stamp=stamp, skill=parse_skill(content, folder=name))
        except SkillRuleError as exc:
            return Draft(kept_as=kept_as, content=content, stamp=stamp, skill=None, fault=str(exc))


def _stamp(path: Path) -> Stamp | None:
    """Return the stamp of a draft, None where it has none that can be read."""
    try:
        body: object = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    if not isinstance(body, Mapping):
        return None
    values = {key: body.get(key) for key in ("session", "model", "time", "sha256")}
    texts = {key: value for key, value in values.items() if isinstance(value, str)}
    return Stamp(**texts) if len(texts) == len(values) else None


def promoted_name(draft: Draft, tier: Path) -> str:
    """Return the name under which a draft would be a skill of a tier.

    Raises:
        RequestError: It has no stamp, its text is not the stamped one, it breaks a rule, or the tier has the name.
    """
    if draft.stamp is None:
        raise RequestError(f"the draft {draft.kept_as!r} has no stamp, so nobody knows where it comes from")
    if digest(draft.content) != draft.stamp.sha256:
        raise RequestError(f"the draft {draft.kept_as!r} was changed since it was stamped")
    if draft.skill is None:
        raise RequestError(f"the draft {draft.kept_as!r} breaks a rule: {draft.fault}")
    name = draft.skill.meta.name
    if os.path.lexists(tier / name):
        raise _taken(name)
    return name


def install(draft: Draft, tier: Path) -> str:
    """Copy a draft into a tier and return the skill's name; it is active from the next start on.

    Raises:
        RequestError: As `promoted_name` does, or it cannot be written.
    """
    name = promoted_name(draft, tier)
    try:
        tier.mkdir(parents=True, exist_ok=True)
        try:
            (tier / name).mkdir()
        except FileExistsError:
            raise _taken(name) from None
        (tier / name / FILE).write_bytes(draft.content)
    except OSError as exc:
        raise RequestError(f"the skill {name!r} cannot be written: {exc.strerror}") from exc
    return name


def _taken(name: str) -> RequestError:
    return RequestError(f"there is a skill {name!r} already", code="conflict")
