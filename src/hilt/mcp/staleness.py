"""Which lists of a server are to be read again: those it declared changed, and those whose time is over."""

from collections.abc import Callable, Iterator, Mapping, MutableSet

KINDS = ("tools", "prompts", "resources")


class Staleness(MutableSet[str]):
    """The stale kinds of list, as a set; one is stale once it is added, or once its time to live has passed."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._marked: set[str] = set()
        self._until: dict[str, float] = {}

    def __contains__(self, kind: object) -> bool:
        """Whether a list of this kind is to be read again."""
        return kind in self._marked or (kind in self._until and self._monotonic() >= self._until[str(kind)])

    def __iter__(self) -> Iterator[str]:
        """Go over the stale kinds."""
        return iter([kind for kind in {*self._marked, *self._until} if kind in self])

    def __len__(self) -> int:
        """Count the stale kinds."""
        return len(list(iter(self)))

    def add(self, value: str) -> None:
        """Mark a kind as changed."""
        self._marked.add(value)

    def discard(self, value: str) -> None:
        """Count a kind as fresh, for as long as the answers that follow say."""
        self._marked.discard(value)
        self._until.pop(value, None)

    def note(self, method: str, answer: Mapping[str, object]) -> None:
        """Take `ttlMs` from one page of an answer to `<kind>/list`; the shortest of the pages holds."""
        ttl_ms, kind = answer.get("ttlMs"), method.partition("/")[0]
        if isinstance(ttl_ms, int) and not isinstance(ttl_ms, bool) and ttl_ms >= 0:
            until = self._monotonic() + ttl_ms / 1000
            self._until[kind] = min(until, self._until.get(kind, until))
