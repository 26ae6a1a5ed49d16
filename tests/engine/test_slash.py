"""The order in which sources of commands are asked."""

from collections.abc import Sequence

import pytest

from hilt.core.errors import RequestError
from hilt.engine.slash import EXPANSION_MAX_BYTES, SlashCommands


class Known:
    """A source that knows some commands; `asked` has the lines it saw."""

    def __init__(self, **texts: str | Exception) -> None:
        self._texts = texts
        self.asked: list[str] = []

    def names(self) -> Sequence[str]:
        """Return the names."""
        return list(self._texts)

    async def expand(self, line: str) -> str | None:
        """Return the text of a name."""
        self.asked.append(line)
        found = self._texts.get(line.removeprefix("/").split()[0])
        if isinstance(found, Exception):
            raise found
        return found


@pytest.mark.req("SKL-56")
async def test_the_first_that_knows_the_name_expands_it() -> None:
    first, second = Known(a="first a"), Known(a="second a", b="/a")
    slash = SlashCommands([first, second])
    assert await slash.expand("/a x") == "first a"
    assert await slash.expand("  /b \n") == "/a"
    assert second.asked == ["/b"]
    assert slash.names() == ["a", "b"]


@pytest.mark.req("SKL-59")
async def test_a_source_that_fails_ends_it() -> None:
    second = Known(a="second")
    slash = SlashCommands([Known(a=RequestError("bad arguments")), second])
    with pytest.raises(RequestError, match="bad arguments"):
        await slash.expand("/a")
    assert second.asked == []


@pytest.mark.req("SKL-60")
@pytest.mark.parametrize("text", ["hello", "/", "/ a", "/c", "/etc/passwd is what?", "a /a", ""])
async def test_what_nobody_knows_is_left_as_it_is(text: str) -> None:
    assert await SlashCommands([Known(a="a")]).expand(text) is None


@pytest.mark.req("SKL-62")
async def test_an_expansion_that_is_too_long_is_an_error() -> None:
    slash = SlashCommands([Known(a="é" * (EXPANSION_MAX_BYTES // 2), b="é" * (EXPANSION_MAX_BYTES // 2) + "!")])
    assert await slash.expand("/a") is not None
    with pytest.raises(RequestError, match="/b gives 100001 bytes"):
        await slash.expand("/b")
