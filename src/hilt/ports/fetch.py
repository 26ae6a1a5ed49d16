"""Documents of the public web, fetched for a model."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from hilt.core.fetched import Fetched


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRequest:
    """What to fetch; `redirects_max` is how many are followed, `accept` the types that are asked for."""

    url: str
    schemes: Collection[str] = ("https",)
    redirects_max: int = 10
    accept: str = "*/*"


class FetchFailedError(Exception):
    """A document could not be fetched; `text` is for the model and names no resolved address."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Fetcher(Protocol):
    """Fetches from public addresses alone, without cookies, credentials, referrer, client certificate or proxy."""

    async def fetch(self, request: FetchRequest) -> Fetched:
        """Get one document; a status of 400 and up is an answer like any other.

        The URL and every redirect are checked by `validate_media_url`, and every address that a name resolves to
        by `check_address`, before a connection is opened for it. Time, headers and decompressed body are bounded.

        Raises:
            FetchFailedError: The URL or a redirect is refused, a bound is passed, or the exchange fails.
        """
        ...
