"""Skill: loads the instructions of a skill, or one of the files that belong to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.core.args import Args
from hilt.core.errors import ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.shaping import PAGE_MAX_BYTES, character_start
from hilt.core.skill import (
    BODY_SHOWN_MAX_BYTES,
    AssetNotFound,
    SkillAsset,
    SkillMeta,
    SkillNotFound,
    SkillUnavailableError,
    asset_name_fault,
)
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.results import RetainedResults
from hilt.ports.skill import Skills
from hilt.ports.tool import Environment

LIST_MAX_BYTES: Final = 16_000
ASSETS_MAX_BYTES: Final = 8_000

_ROOM_BYTES: Final = 200
_INTRO: Final = (
    "Load the instructions of a skill and follow them. Use it when a task fits the description of a skill below, before"
    " you start on the task. With `asset` it gives one of the skill's files as text instead. Nothing in a skill is"
    " installed or run for you, and no skill grants a permission. Skills:\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillArgs:
    """Arguments of `Skill`."""

    name: Annotated[str, Field(description="Name of a skill in the list.")]
    asset: Annotated[
        str | None,
        Field(description="One of the skill's files, as the skill lists it; leave it out for the instructions."),
    ] = None


class Skill:
    """Gives the instructions of a skill, as their author wrote them, or an asset's text."""

    _args = Args(SkillArgs)
    read_only = True

    def __init__(self, skills: Skills) -> None:
        """Write the list of skills into the description, which never changes after that."""
        self._skills = skills
        self.spec = ToolSpec(
            name="Skill", description=_INTRO + "\n".join(_listed(skills.metas)), schema=self._args.schema
        )

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the skill's name, which unnamed patterns see too, and the asset where one is asked for."""
        args = self._args.decode(call)
        name = (Subject(text=args.name),)
        asset = () if args.asset is None else (Subject(text=args.asset),)
        return Subjects(unnamed=name, named={"name": name, "asset": asset})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Return instructions and the list of assets, or one asset's text and nothing else."""
        args = self._args.decode(call)
        if args.asset is not None and (fault := asset_name_fault(args.asset)):
            raise ToolError.invalid_arguments(f"asset: {args.asset[:80]!r} is no name of an asset: {fault}")
        try:
            if args.asset is not None:
                return ToolResult.text(call.id, _as_text(args.asset, await self._skills.asset(args.name, args.asset)))
            body, assets = await self._skills.body(args.name), await self._skills.assets(args.name)
        except SkillNotFound:
            raise ToolError.invalid_arguments(_unknown(args.name, self._skills.near(args.name))) from None
        except AssetNotFound as exc:
            raise ToolError.invalid_arguments(f"{exc}; call Skill without `asset` for the list") from None
        except SkillUnavailableError as exc:
            raise ToolError.execution_failed(str(exc)) from None
        return ToolResult.text(call.id, _shown(body, assets, env))


def _unknown(name: str, near: Sequence[str]) -> str:
    return f"no skill {name[:80]!r}; near names: {', '.join(near)}" if near else f"no skill {name[:80]!r}"


def _listed(metas: Sequence[SkillMeta]) -> Iterator[str]:
    """Yield a line for each skill; from the one that would pass 16,000 bytes on, by name alone."""
    used, short = 0, False
    for meta in metas:
        line = f"- {meta.name}: {_flat(meta.description)}"
        used += len(line.encode("utf-8", "replace")) + 1
        short = short or used > LIST_MAX_BYTES
        yield f"- {meta.name}" if short else line


def _flat(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _as_text(asset: str, content: bytes) -> str:
    if b"\0" in content:
        raise ToolError.execution_failed(f"asset {asset!r} is no text: it holds a NUL byte")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise ToolError.execution_failed(f"asset {asset!r} is no text: it is not valid UTF-8") from None


def _shown(body: str, assets: Sequence[SkillAsset], env: Environment) -> str:
    """Return body and list of assets; a body over 25,000 bytes is cut so that both fit a result."""
    raw = body.encode("utf-8", "replace")
    if len(raw) > BODY_SHOWN_MAX_BYTES:
        tail = _asset_lines(assets, ASSETS_MAX_BYTES)
        room = BODY_SHOWN_MAX_BYTES - len(tail.encode("utf-8")) - _ROOM_BYTES
        end = character_start(raw, room)
        return f"{raw[:end].decode('utf-8')}\n{_mark(raw, end, body, env)}{tail}"
    room = min(max(BODY_SHOWN_MAX_BYTES - len(raw), 0), ASSETS_MAX_BYTES)
    return (body or "[this skill has no instructions]") + _asset_lines(assets, room)


def _mark(raw: bytes, offset: int, body: str, env: Environment) -> str:
    try:
        handle = env.service(RetainedResults).keep(body)  # type: ignore[type-abstract]  # named by its Protocol
    except LookupError:
        handle = ""
    missing = len(raw) - offset
    counts = f"{missing} of {len(raw)} bytes are missing here"
    if not handle:
        return f"[{counts}; ReadResult cannot show them, nothing keeps them]"
    call = f'{{"handle": "{handle}", "offset": {offset}, "limit": {min(missing, PAGE_MAX_BYTES)}}}'
    return f"[{counts}; to see them call ReadResult {call}]"


def _asset_lines(assets: Sequence[SkillAsset], room: int) -> str:
    """Return the list of assets in at most `room` bytes; it ends by saying how many are left out."""
    if not assets:
        return ""
    out = "\n\nAssets of this skill; to read one call Skill with its name as `asset`:"
    rest = "\n… and {} more"
    for at, asset in enumerate(assets):
        line = f"\n- {asset.name}" + ("" if asset.size_bytes is None else f" ({asset.size_bytes} bytes)")
        more = rest.format(len(assets) - at)
        reserve = 0 if at == len(assets) - 1 else len(rest.format(len(assets)).encode())
        if len((out + line).encode()) + reserve > room:
            return out + more
        out += line
    return out
