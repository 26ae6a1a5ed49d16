"""Passages of earlier turns in which a query is found."""

from collections.abc import Sequence
from dataclasses import dataclass

from hilt.core.earlier import EarlierMessage
from hilt.core.memory_text import excerpt, query_words, ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Where a query was found: a user's message, or an answer with the results of its calls. `score` is up to 1."""

    content: str
    score: float
    start: int
    end: int


def passages(messages: Sequence[EarlierMessage], query: str, *, limit: int, max_chars: int) -> list[Passage]:
    """Return where a query is found, best first, each cut to `max_chars`; none where nothing shares a word with it."""
    wanted = query_words(query)
    groups = _groups(messages) if wanted else []
    found = ranked(wanted, ["\n".join(one.text for one in group) for group in groups])
    return [
        Passage(
            content=excerpt("\n".join(f"{one.role}: {one.text}" for one in groups[at]), wanted, max_chars=max_chars),
            score=round(score, 4),
            start=groups[at][0].number,
            end=groups[at][-1].number,
        )
        for at, score in found[:limit]
    ]


def _groups(messages: Sequence[EarlierMessage]) -> list[list[EarlierMessage]]:
    groups: list[list[EarlierMessage]] = []
    for message in messages:
        last = groups[-1][-1] if groups else None
        if message.role == "tool" and last is not None and last.role == "assistant":
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups
