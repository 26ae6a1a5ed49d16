"""Search engines of the web."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class WebHit:
    """One page that was found; its texts are the engine's own, `snippet` "" where it gave none."""

    title: str
    url: str
    snippet: str = ""


class SearchFailedError(Exception):
    """A search failed; `text` is for the model and holds no key."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class WebSearcher(Protocol):
    """One search engine."""

    async def search(self, query: str, *, count: int) -> Sequence[WebHit]:
        """Return at most `count` pages, best first; none where nothing fits.

        Raises:
            SearchFailedError: The engine does not answer in time, or gives no usable answer.
        """
        ...
