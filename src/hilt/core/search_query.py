"""What a search asks for: words, words that a tool must hold, and a server to look in."""

from dataclasses import dataclass
from typing import Final

QUERY_MAX_CHARS: Final = 1_000
_SERVER: Final = "server:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """A query taken apart.

    `text` is what is ranked by, the required words included; `server` is None for every server.
    """

    text: str = ""
    required: tuple[str, ...] = ()
    server: str | None = None


def parse_query(text: str, *, server: str | None = None) -> SearchQuery:
    """Take a query apart: `+word` is required, `server:NAME` names a server; `server` is that of an argument.

    What is past 1,000 characters is cut. A server named in the query comes before the argument.
    """
    kept: list[str] = []
    required: list[str] = []
    for part in text[:QUERY_MAX_CHARS].split():
        if part.casefold().startswith(_SERVER) and len(part) > len(_SERVER):
            server = part[len(_SERVER) :]
        elif part.startswith("+") and part.strip("+"):
            required.append(part.strip("+"))
            kept.append(part.strip("+"))
        else:
            kept.append(part)
    return SearchQuery(text=" ".join(kept), required=tuple(required), server=server or None)
