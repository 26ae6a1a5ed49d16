"""The sets on which tool search is measured, and what is counted on them (search.md section 4)."""

import json
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hilt.core.search import SearchDocument
from hilt.core.search_text import parameter_text

FOLDER = Path(__file__).parent / "sets"
SETS = ("golden", "steps", "plugins")
CUTS = (1, 3, 5, 10)

Find = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Item:
    """One tool of a set."""

    id: str
    server: str
    name: str
    description: str
    schema: Mapping[str, object]

    def document(self) -> SearchDocument:
        """Return it as hilt searches it."""
        return SearchDocument(
            key=self.id,
            names=(self.id, self.name),
            own_name=self.name,
            server=self.server,
            description=self.description,
            parameters=parameter_text(self.schema),
        )


@dataclass(frozen=True, slots=True)
class Query:
    """A query and the ids of all its right tools."""

    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class Quality:
    """Means over the queries of a set; `recall` is at 1, 3, 5 and 10."""

    recall: tuple[float, ...]
    complete: float
    mrr: float
    ndcg: float

    def at(self, cut: int) -> float:
        """Return the recall at a cut."""
        return self.recall[CUTS.index(cut)]


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def load_tools(name: str) -> list[Item]:
    """Return the tools of a set."""
    found = {}
    for row in _rows(FOLDER / name / "tools.jsonl"):
        schema = row["schema"]
        found[str(row["id"])] = Item(
            str(row["id"]),
            str(row["server"] or ""),
            str(row["name"]),
            str(row["description"] or ""),
            schema if isinstance(schema, dict) else {},
        )
    return list(found.values())


def load_queries(name: str) -> list[Query]:
    """Return the queries of a set: of plugins those with one right answer, of steps those that are not ambiguous."""
    out = []
    for row in _rows(FOLDER / name / "queries.jsonl"):
        gold = row["gold"]
        if isinstance(gold, list) and gold and not row.get("any_of") and row.get("kind", "single") == "single":
            out.append(Query(str(row["query"]), frozenset(map(str, gold))))
    return out


def padded(count: int, *, sources: Sequence[str] = SETS, seed: int = 5) -> list[Item]:
    """Return made-up tools put together from the names, sentences and parameters of these sets."""
    source = [item for name in sources for item in load_tools(name)]
    pick = random.Random(seed)
    sentences = [
        text.strip()
        for item in source
        for text in item.description.replace("\n", " ").split(". ")
        if 20 < len(text) < 300
    ]
    names = [parts for item in source if (parts := [p for p in re.split(r"[_\-. ]", item.name) if p])]
    parameters = [
        (key, value) for item in source for key, value in _properties(item.schema).items() if isinstance(value, dict)
    ]
    out = []
    for at in range(count):
        first, rest = pick.choice(names), pick.choice(names)
        name = "_".join([first[0].lower(), *(part.lower() for part in rest[-2:])])
        text = ". ".join(pick.sample(sentences, pick.choice((1, 1, 2, 2, 3)))) + "."
        schema = {"type": "object", "properties": dict(pick.sample(parameters, pick.randint(1, 6)))}
        out.append(Item(f"made:{at}", f"made{at // 25}", f"{name}_{at % 97}", text, schema))
    return out


def others(name: str) -> tuple[str, ...]:
    """Return the sets that have nothing to do with this one: what it is padded with."""
    return tuple(other for other in SETS if other != name)


def _properties(schema: Mapping[str, object]) -> Mapping[str, object]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def quality(find: Find, queries: Sequence[Query]) -> Quality:
    """Return what a ranking reaches; `find` gives at most ten ids, best first."""
    recall = [0.0] * len(CUTS)
    complete = mrr = ndcg = 0.0
    for query in queries:
        found = list(find(query.text))[:10]
        hits = [place for place, id_ in enumerate(found) if id_ in query.gold]
        for at, cut in enumerate(CUTS):
            recall[at] += sum(place < cut for place in hits) / len(query.gold)
        complete += query.gold <= set(found[:5])
        mrr += 1 / (hits[0] + 1) if hits else 0.0
        best = sum(1 / math.log2(place + 2) for place in range(min(10, len(query.gold))))
        ndcg += sum(1 / math.log2(place + 2) for place in hits) / best
    count = len(queries)
    return Quality(tuple(part / count for part in recall), complete / count, mrr / count, ndcg / count)
