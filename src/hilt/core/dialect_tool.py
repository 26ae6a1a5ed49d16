"""One tool as one provider is sent it, or the reason why it is not."""

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from typing import Final

from hilt.core.check import check_schema
from hilt.core.dialect import wire_name
from hilt.core.dialect_finding import Repair, StrictLostError
from hilt.core.dialect_root import object_root
from hilt.core.dialect_schema import Rewriter
from hilt.core.dialect_table import Dialect, dialect_of
from hilt.core.errors import InvalidSpecError
from hilt.core.frozen import frozen
from hilt.core.tool import ToolSpec, canonical_json

CANONICAL_MAX_BYTES: Final = 256 * 1024
WIRE_MAX_BYTES: Final = 64 * 1024
KEPT_MAX: Final = 20_000
TOLD_MAX_CHARS: Final = 500
_TOLD: Final = "\n\nNot in the schema: "


@frozen
class FittedTool:
    """A tool for one provider. `spec` None: it is withheld, and the last of `repairs` says why.

    `keys` are from sent property keys to canonical ones, `strict` says whether the strict flag is set.
    """

    name: str
    spec: ToolSpec | None
    strict: bool = False
    repairs: tuple[Repair, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)

    @property
    def withheld(self) -> Repair | None:
        """Why it is not sent, None where it is."""
        return self.repairs[-1] if self.spec is None else None


@lru_cache(maxsize=KEPT_MAX)
def fit(spec: ToolSpec, profile: str) -> FittedTool:
    """Return a tool as the provider takes it: the same for the same spec and profile, in every process."""
    if len(spec.schema_json.encode("utf-8", "surrogatepass")) > CANONICAL_MAX_BYTES:
        return _withheld(spec, "", "too-large", f"its schema is longer than {CANONICAL_MAX_BYTES} bytes")
    dialect = dialect_of(profile)
    try:
        return _fitted(spec, dialect)
    except StrictLostError as lost:
        fitted = _fitted(spec, dialect_of("openai"))
        text = "it is sent without the strict flag"
        return FittedTool(
            name=fitted.name,
            spec=fitted.spec,
            repairs=(Repair(str(lost), "strict", "repaired", text), *fitted.repairs),
            keys=fitted.keys,
        )


def _fitted(spec: ToolSpec, dialect: Dialect) -> FittedTool:
    document = spec.schema
    root = object_root(document)
    if root is None:
        return _withheld(spec, "/type", "root", "its schema admits no object")
    rewriter = Rewriter(document, dialect)
    schema = rewriter.root(root.schema)
    if dialect.listed:
        schema.setdefault("properties", {})
    name = wire_name(spec.name, dialect.name)
    repairs = [*root.repairs, *rewriter.repairs]
    if name != spec.name:
        repairs.append(Repair("", "name", "repaired", f"the name is sent as {name!r}"))
    own = spec.description
    if dialect.described and not own.strip():
        own = _described(spec.name)
        repairs.append(Repair("", "description", "repaired", "the empty description is replaced by a sentence"))
    wire = canonical_json(schema)
    if len(wire.encode("utf-8", "surrogatepass")) > WIRE_MAX_BYTES:
        wire = canonical_json({"type": "object", "properties": {}})
        repairs.append(Repair("", "stub", "told", f"the schema is longer than {WIRE_MAX_BYTES} bytes on the wire"))
        rewriter.told.append("arguments: too many to list")
    try:
        check_schema(spec.name, schema)
    except InvalidSpecError as exc:
        return _withheld(spec, "", "invalid", f"what is left of its schema is not valid: {exc.reason}")
    said = _told([*root.told, *rewriter.told])
    description = own + said if own else said.lstrip()
    sent = spec if _same(spec, name, description, wire) else spec.fitted(name, description, wire)
    return FittedTool(
        name=spec.name, spec=sent, strict=dialect.strict, repairs=tuple(dict.fromkeys(repairs)), keys=rewriter.keys
    )


def _same(spec: ToolSpec, name: str, description: str, schema_json: str) -> bool:
    return (spec.name, spec.description, spec.schema_json) == (name, description, schema_json)


def _withheld(spec: ToolSpec, pointer: str, rule: str, text: str) -> FittedTool:
    return FittedTool(name=spec.name, spec=None, repairs=(Repair(pointer, rule, "withheld", text),))


def _described(name: str) -> str:
    prefix, _, rest = name.partition("__")
    server, _, own = rest.partition("__")
    return f"The tool {own} of the server {server}." if prefix == "mcp" and own else f"The tool {name}."


def _told(told: list[str]) -> str:
    """Return what is said after the tool's own text, at most 500 characters."""
    if not told:
        return ""
    text = f"{_TOLD}{'; '.join(dict.fromkeys(told))}."
    return text if len(text) <= TOLD_MAX_CHARS else text[: TOLD_MAX_CHARS - 1] + "…"
