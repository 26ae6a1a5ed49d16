"""The skills of an application: gathered once from all sources, the earlier source first, then asked by name."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, TypeVar

import anyio

from hilt.core.errors import HiltError
from hilt.core.skill import SkillAsset, SkillMeta, SkillNotFound, SkillUnavailableError, meta_fault
from hilt.ports.skill import SkillSource

logger = logging.getLogger(__name__)

T = TypeVar("T")

SOURCE_TIMEOUT_S: Final = 10.0
NEAR_MAX: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A source in its tier: explicit, project, user or driver; `place` names it in messages."""

    source: SkillSource
    tier: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A skill and where it comes from."""

    meta: SkillMeta
    origin: Registered


class SkillBook:
    """The skills that there are: the same for the life of the application. See `Skills`."""

    def __init__(self, found: Sequence[Found] = (), *, timeout_s: float = SOURCE_TIMEOUT_S) -> None:
        self._found = {one.meta.name: one for one in sorted(found, key=lambda one: one.meta.name)}
        self._timeout_s = timeout_s

    @property
    def all(self) -> Sequence[Found]:
        """Every skill, sorted by name."""
        return tuple(self._found.values())

    @property
    def metas(self) -> Sequence[SkillMeta]:
        """See `Skills.metas`."""
        return tuple(found.meta for found in self._found.values())

    def get(self, name: str) -> Found | None:
        """Return the skill of a name, None where there is none."""
        return self._found.get(name)

    def near(self, name: str) -> list[str]:
        """Return up to 20 names, the nearest first."""
        return get_close_matches(name, self._found, n=NEAR_MAX, cutoff=0.0)

    async def body(self, name: str) -> str:
        """Return a skill's instructions.

        Raises:
            SkillNotFound: There is no such skill.
            SkillUnavailableError: Its source fails or takes over 10 seconds.
        """
        return await self._asked(name, lambda source: source.skill_body(name))

    async def assets(self, name: str) -> Sequence[SkillAsset]:
        """Return a skill's assets, sorted by name; raises as `body` does."""
        found = await self._asked(name, lambda source: source.list_skill_assets(name))
        return sorted(found, key=lambda asset: asset.name)

    async def asset(self, name: str, asset: str) -> bytes:
        """Return what an asset holds; raises as `body` does, and AssetNotFound."""
        return await self._asked(name, lambda source: source.read_skill_asset(name, asset))

    async def _asked(self, name: str, ask: Callable[[SkillSource], Awaitable[T]]) -> T:
        found = self._found.get(name)
        if found is None:
            raise SkillNotFound(name)
        place = found.origin.place
        try:
            with anyio.fail_after(self._timeout_s):
                return await ask(found.origin.source)
        except HiltError:
            raise
        except TimeoutError:
            text = f"{place} gave no answer on skill {name!r} in {self._timeout_s:g} s"
        except Exception as exc:
            logger.exception("skill_source_failed source=%s skill=%s", place, name)
            text = f"{place} failed on skill {name!r}: {type(exc).__name__}"
        raise SkillUnavailableError(text)


async def gather(sources: Sequence[Registered], *, timeout_s: float = SOURCE_TIMEOUT_S) -> SkillBook:
    """Return the skills of all sources: on equal names that of the earlier source, which a WARN tells.

    The sources are asked at the same time. One that fails, takes over `timeout_s` seconds, or lists a skill that
    breaks a rule is told in a WARN; the others load.
    """
    listed: list[Sequence[SkillMeta]] = [()] * len(sources)

    async def ask(at: int) -> None:
        listed[at] = await _listed(sources[at], timeout_s)

    async with anyio.create_task_group() as group:
        for at in range(len(sources)):
            group.start_soon(ask, at)
    found: dict[str, Found] = {}
    for origin, metas in zip(sources, listed, strict=True):
        for meta in metas:
            _take(found, Found(meta=meta, origin=origin))
    return SkillBook(list(found.values()), timeout_s=timeout_s)


async def _listed(origin: Registered, timeout_s: float) -> Sequence[SkillMeta]:
    try:
        with anyio.fail_after(timeout_s):
            return list(await origin.source.list_skills())
    except TimeoutError:
        logger.warning("skill_source_left_out source=%s why=no answer in %g s", origin.place, timeout_s)
    except HiltError as exc:
        logger.warning("skill_source_left_out source=%s why=%s", origin.place, exc)
    except Exception as exc:
        logger.warning("skill_source_left_out source=%s why=%s", origin.place, type(exc).__name__, exc_info=exc)
    return ()


def _take(found: dict[str, Found], one: Found) -> None:
    meta, origin = one.meta, one.origin
    fault = meta_fault(meta)
    if fault:
        logger.warning("skill_left_out skill=%s source=%s why=%s", meta.name[:80], origin.place, fault)
        return
    winner = found.setdefault(meta.name, one)
    if winner is not one:
        logger.warning(
            "skill_hidden skill=%s winner=%s (%s) loser=%s (%s)",
            meta.name,
            winner.origin.place,
            winner.origin.tier,
            origin.place,
            origin.tier,
        )
