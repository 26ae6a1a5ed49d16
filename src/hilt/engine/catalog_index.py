"""The search index of a catalog: one for all sessions over it, made in a thread, brought up to date as it grows."""

import json
import logging
from collections.abc import Callable, Sequence
from itertools import islice
from weakref import WeakKeyDictionary, ref

import anyio
import anyio.to_thread

from hilt.core.dialect import NAME_RULES, wire_name
from hilt.core.search import Likeness, SearchDocument, SearchIndex
from hilt.core.search_query import SearchQuery
from hilt.core.search_text import parameter_text
from hilt.engine.catalog import Catalog, Entry
from hilt.engine.disclosure import TOOL_SEARCH
from hilt.engine.origin import own_name, server_of
from hilt.ports.search import Embedder, TextVectors

logger = logging.getLogger(__name__)

INLINE_MAX = 8
EMBEDDER_MAX_S = 2.0
EMBEDDED_AT_ONCE = 64


def document(entry: Entry) -> SearchDocument:
    """Return a tool as it is searched."""
    name, own = entry.spec.name, own_name(entry)
    return SearchDocument(
        key=name,
        names=(name, own, *(wire_name(name, profile) for profile in NAME_RULES)),
        own_name=own,
        server=server_of(entry),
        description=entry.spec.description,
        parameters=parameter_text(json.loads(entry.spec.schema_json)),
    )


class CatalogIndex:
    """Finds tools of one catalog by what is said of them, whatever a session may see."""

    def __init__(self, catalog: Catalog, embedder: Embedder | None = None) -> None:
        # The table of indexes keeps its catalogs weakly: an index must not hold its own.
        self._catalog = ref(catalog)
        self._index = SearchIndex()
        self._taken = 0
        self._lock = anyio.Lock()
        self._embedder = embedder
        self._vectors: TextVectors | None = None if embedder is None else embedder.vectors()
        self._texts: list[str] = []
        self._embedded = 0
        self._told = False

    async def find(self, query: SearchQuery, *, limit: int, admits: Callable[[str], bool]) -> list[str]:
        """Return the catalog names of the tools that are admitted, best first; see `SearchIndex.find`."""
        async with self._lock:
            await self._catch_up()
            likeness = await self._likeness(query.text)
            return self._index.find(query, limit=limit, admits=admits, likeness=likeness)

    async def called(self, name: str) -> list[str]:
        """Return the catalog names of all tools that answer to a name, whatever its case and separators; by name."""
        async with self._lock:
            await self._catch_up()
            return self._index.called(name)

    async def _catch_up(self) -> None:
        catalog = self._catalog()
        if catalog is None or len(catalog.names) == self._taken:
            return
        fresh = list(islice(catalog.names, self._taken, None))
        entries = [entry for name in fresh if name != TOOL_SEARCH and (entry := catalog.entry(name)) is not None]
        if len(entries) <= INLINE_MAX:
            self._take(entries)
        else:
            await anyio.to_thread.run_sync(self._take, entries)
        self._taken += len(fresh)

    def _take(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            one = document(entry)
            self._index.add(one)
            if self._embedder is not None:
                self._texts.append(self._embedder.text(one))

    async def _likeness(self, text: str) -> Likeness | None:
        """Ask the embedder; its failure and its delay cost one WARN, never the search."""
        if self._embedder is None or self._vectors is None or not text.strip():
            return None
        cause = "it took too long"
        try:
            with anyio.move_on_after(EMBEDDER_MAX_S):
                while self._embedded < len(self._texts):
                    some = self._texts[self._embedded : self._embedded + EMBEDDED_AT_ONCE]
                    await self._vectors.add(some)
                    self._embedded += len(some)
                return Likeness(await self._vectors.likeness(text), self._embedder.share)
        except Exception as exc:
            cause = type(exc).__name__
        if not self._told:
            self._told = True
            logger.warning("embedder_failed embedder=%s cause=%s", self._embedder.name, cause)
        return None


class CatalogIndexes:
    """The indexes of the catalogs of an application, each kept as long as its catalog."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._indexes: WeakKeyDictionary[Catalog, CatalogIndex] = WeakKeyDictionary()

    def of(self, catalog: Catalog) -> CatalogIndex:
        """Return the catalog's index, the same each time."""
        found = self._indexes.get(catalog)
        if found is None:
            found = self._indexes[catalog] = CatalogIndex(catalog, self._embedder)
        return found
