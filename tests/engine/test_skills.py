"""Skills of several sources as one: whose wins, what a failing source costs."""

import logging
from collections.abc import Sequence

import anyio
import pytest

from hilt.core.errors import RequestError
from hilt.core.skill import SkillAsset, SkillMeta, SkillNotFound, SkillUnavailableError
from hilt.engine.skill_commands import SkillCommands
from hilt.engine.skills import Registered, SkillBook, gather
from hilt.ports.skill import SkillSource


class Source:
    """Skills by name and body; `broken` is raised, or waited for when it is None."""

    def __init__(
        self, bodies: dict[str, str] | None = None, *, broken: Exception | None = None, slow: bool = False
    ) -> None:
        self.bodies = bodies or {}
        self.broken = broken
        self.slow = slow

    async def _go(self) -> None:
        if self.slow:
            await anyio.sleep_forever()
        if self.broken is not None:
            raise self.broken

    async def list_skills(self) -> Sequence[SkillMeta]:
        await self._go()
        return [SkillMeta(name=name, description=f"about {name}") for name in self.bodies]

    async def skill_body(self, name: str) -> str:
        await self._go()
        return self.bodies[name]

    async def list_skill_assets(self, name: str) -> Sequence[SkillAsset]:
        return [SkillAsset(name="b"), SkillAsset(name="a")]

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        return b"x"


def registered(*sources: SkillSource) -> list[Registered]:
    return [Registered(source=one, tier=f"tier{at}", place=f"place{at}") for at, one in enumerate(sources)]


@pytest.mark.req("SKL-23")
async def test_the_earlier_source_wins_and_one_warning_names_the_loser(caplog: pytest.LogCaptureFixture) -> None:
    book = await gather(registered(Source({"b": "1", "a": "1"}), Source({"b": "2", "c": "2"})))
    assert [(found.meta.name, found.origin.place) for found in book.all] == [
        ("a", "place0"),
        ("b", "place0"),
        ("c", "place1"),
    ]
    assert await book.body("b") == "1"
    assert [record.getMessage() for record in caplog.records] == [
        "skill_hidden skill=b winner=place0 (tier0) loser=place1 (tier1)"
    ]


@pytest.mark.req("SKL-27")
async def test_a_source_that_fails_or_never_answers_is_left_out_and_the_others_load(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sources = [Source(broken=ValueError("x")), Source(broken=SkillUnavailableError("away")), Source(slow=True)]
    with anyio.fail_after(5):
        book = await gather(registered(*sources, Source({"a": "1"})), timeout_s=0.05)
    assert [meta.name for meta in book.metas] == ["a"]
    assert sorted(record.getMessage() for record in caplog.records if record.levelno == logging.WARNING) == [
        "skill_source_left_out source=place0 why=ValueError",
        "skill_source_left_out source=place1 why=away",
        "skill_source_left_out source=place2 why=no answer in 0.05 s",
    ]


@pytest.mark.req("SKL-03", "SKL-08")
async def test_the_rules_hold_for_every_source(caplog: pytest.LogCaptureFixture) -> None:
    book = await gather(registered(Source({"Bad": "1", "good": "1"})))
    assert [meta.name for meta in book.metas] == ["good"]
    (record,) = caplog.records
    assert record.getMessage().startswith("skill_left_out skill=Bad source=place0 why=name: 'Bad'")


@pytest.mark.req("SKL-59", "SKL-18")
async def test_a_source_that_fails_later_is_told_as_unavailable() -> None:
    source = Source({"a": "1"})
    book = await gather(registered(source), timeout_s=0.05)
    assert [asset.name for asset in await book.assets("a")] == ["a", "b"]
    assert await book.asset("a", "b") == b"x"
    with pytest.raises(SkillNotFound):
        await book.body("nope")
    for broken, slow, text in (
        (ValueError("x"), False, "place0 failed on skill 'a': ValueError"),
        (SkillUnavailableError("gone"), False, "gone"),
        (None, True, r"place0 gave no answer on skill 'a' in 0\.05 s"),
    ):
        source.broken, source.slow = broken, slow
        with anyio.fail_after(5), pytest.raises(SkillUnavailableError, match=text):
            await book.body("a")
        with anyio.fail_after(5), pytest.raises(RequestError, match="/a: ") as caught:
            await SkillCommands(book).expand("/a")
        assert caught.value.code == "unavailable"


@pytest.mark.req("SKL-43")
async def test_up_to_twenty_near_names_are_given() -> None:
    book = await gather(registered(Source({f"skill-{number}": "" for number in range(30)})))
    near = book.near("skill-7")
    assert (len(near), near[0]) == (20, "skill-7")
    assert SkillBook().near("a") == []


async def test_a_skill_without_instructions_is_an_error_as_a_command() -> None:
    commands = SkillCommands(await gather(registered(Source({"a": " \n"}))))
    assert list(commands.names()) == ["a"]
    assert await commands.expand("/b") is None
    with pytest.raises(RequestError, match="/a: this skill has no instructions"):
        await commands.expand("/a")
