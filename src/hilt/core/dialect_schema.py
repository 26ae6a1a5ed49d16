"""Rewrites a schema into what one provider takes: keyword by keyword, as the table says."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hilt.core.dialect_finding import FindingKind, Repair, StrictLostError, pointer
from hilt.core.dialect_key import wire_key
from hilt.core.dialect_refs import Schema, merged, resolved
from hilt.core.dialect_table import FORMATS_KNOWN, LOOK_AROUND, Act, Dialect

LEVELS_MAX: Final = 24
BYTES_MAX: Final = 50_000
_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_BY_TYPE: Final = {
    "minLength": "string", "maxLength": "string", "pattern": "string", "format": "string",
    "minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number",
    "multipleOf": "number", "items": "array", "minItems": "array", "maxItems": "array", "uniqueItems": "array",
    "contains": "array", "properties": "object", "required": "object", "additionalProperties": "object",
}  # fmt: skip
_BRANCHES: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_MAPS: Final = ("patternProperties", "dependentSchemas")
_SINGLE: Final = (
    "items", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip


class Rewriter:
    """Rewrites one document for one provider; what was done is in `repairs`, `told`, `keys` and `definitions`."""

    def __init__(self, document: Mapping[str, object], dialect: Dialect) -> None:
        self._document = document
        self._dialect = dialect
        self._left = BYTES_MAX
        self._names: dict[str, str] = {}
        self._waiting: list[tuple[str, str]] = []
        self.definitions: dict[str, object] = {}
        self.repairs: list[Repair] = []
        self.told: list[str] = []
        self.keys: dict[str, str] = {}

    def root(self, schema: Mapping[str, object]) -> Schema:
        """Return the rewritten root with the definitions that it needs.

        Raises:
            StrictLostError: Strict mode cannot say it.
        """
        body = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
        out = self._object(body, "", "", (), 0)
        while self._waiting:
            reference, name = self._waiting.pop()
            found = self._schema(resolved(self._document, reference), reference[1:], name, (), 1)
            self.definitions[name] = {"not": {}} if found is None else found
        if self.definitions:
            out["$defs"] = self.definitions
        return out

    # ------------------------------------------------------------ one schema

    def _schema(self, schema: object, at: str, name: str, trail: tuple[str, ...], level: int) -> object:
        """Return a schema rewritten, None for one that nothing fits; `trail` are the references put in place."""
        if schema is False:
            self._note(at, "boolean", "repaired", "a schema that nothing fits is left out")
            return None
        if not isinstance(schema, Mapping):
            if schema is not True:
                self._note(at, "no-schema", "repaired", "what is no schema is replaced by an open one")
            return {}
        if level > LEVELS_MAX or self._left <= 0:
            return self._stub(schema, at, name)
        return self._object(schema, at, name, trail, level)

    def _object(self, schema: Mapping[str, object], at: str, name: str, trail: tuple[str, ...], level: int) -> Schema:
        reference = schema.get("$ref", schema.get("$dynamicRef", schema.get("$recursiveRef")))
        if isinstance(reference, str):
            return self._referred(schema, reference, at, name, trail=trail, level=level)
        body = self._shaped(schema, at, name)
        out: Schema = {}
        for keyword, value in body.items():
            if keyword in ("$defs", "definitions"):
                continue
            self._left -= len(keyword) + 4
            self._keyword(out, keyword, value, (at, name, trail, level))
        if self._dialect.strict:
            self._close(out)
        return out

    def _keyword(self, out: Schema, keyword: str, value: object, place: tuple[str, str, tuple[str, ...], int]) -> None:
        at, name, trail, level = place
        # What these may not hold is gone already.
        settled = keyword == "enum" or (keyword == "nullable" and self._dialect.act("type") is Act.NULLABLE)
        act = Act.KEEP if settled else self._dialect.act(keyword)
        here = pointer(at, keyword)
        if keyword in ("properties", "additionalProperties", "required"):
            self._of_object(out, keyword, value, place)
        elif act is Act.STRICT:
            raise StrictLostError(here)
        elif act is Act.DROP:
            self._note(here, "no-meaning", "repaired", f"{keyword} is left out")
        elif act is Act.TELL or (act is Act.KNOWN and not self._is_known(keyword, value)):
            self._tell(here, name, keyword, value)
        elif keyword in _BRANCHES and isinstance(value, list):
            found = [self._schema(one, pointer(here, n), name, trail, level + 1) for n, one in enumerate(value)]
            branches = [one for one in found if one is not None]
            if branches:
                out["anyOf" if keyword == "oneOf" and act is Act.ANY else keyword] = branches
        elif keyword in _MAPS and isinstance(value, Mapping):
            below = {k: self._schema(v, pointer(here, k), name, trail, level + 1) for k, v in value.items()}
            out[keyword] = {key: False if one is None else one for key, one in below.items()}
        elif keyword in _SINGLE and not isinstance(value, list):
            one = self._schema(value, here, f"{name}[]" if keyword == "items" else name, trail, level + 1)
            if one is not None:
                out[keyword] = one
        else:
            self._left -= len(json.dumps(value, ensure_ascii=False))
            out[keyword] = value

    def _of_object(
        self, out: Schema, keyword: str, value: object, place: tuple[str, str, tuple[str, ...], int]
    ) -> None:
        at, name, trail, level = place
        here = pointer(at, keyword)
        if keyword == "properties" and isinstance(value, Mapping):
            out[keyword] = self._properties(value, here, name, trail, level)
        elif keyword == "required" and isinstance(value, list):
            out[keyword] = [self._key(key, here) for key in value if isinstance(key, str)]
        elif keyword == "additionalProperties":
            self._additional(out, value, here, place)

    def _properties(
        self, properties: Mapping[str, object], at: str, name: str, trail: tuple[str, ...], level: int
    ) -> Schema:
        out: Schema = {}
        for key, value in properties.items():
            inner = f"{name}.{key}" if name else str(key)
            self._left -= len(key) + 6
            one = self._schema(value, pointer(at, key), inner, trail, level + 1)
            if one is not None:
                out[self._key(key, pointer(at, key))] = one
        return out

    def _additional(self, out: Schema, value: object, here: str, place: tuple[str, str, tuple[str, ...], int]) -> None:
        _, name, trail, level = place
        act = self._dialect.act("additionalProperties")
        if act is Act.CLOSED:
            if value is not False:
                raise StrictLostError(here)
            return
        if act is Act.OPEN:
            if isinstance(value, Mapping) and value:
                self._tell(here, name, "additionalProperties", value)
            else:
                self._note(here, "no-meaning", "repaired", "additionalProperties is left out")
            return
        one = self._schema(value, here, f"{name}.*", trail, level + 1) if isinstance(value, Mapping) else value
        out["additionalProperties"] = {} if one is None else one

    # ------------------------------------------------------------ references

    def _referred(
        self, schema: Mapping[str, object], reference: str, at: str, name: str, *, trail: tuple[str, ...], level: int
    ) -> Schema:
        act = self._dialect.act("$ref")
        beside = {k: v for k, v in schema.items() if k not in ("$ref", "$dynamicRef", "$recursiveRef")}
        target = resolved(self._document, reference)
        if target is None:
            self._note(pointer(at, "$ref"), "ref-nowhere", "repaired", f"{reference!r} leads outside or nowhere")
            return self._object(beside, at, name, trail, level)
        if act is Act.PLACE:
            if reference in trail:
                return self._stub(target if isinstance(target, Mapping) else {}, at, name)
            self._note(pointer(at, "$ref"), "ref-in-place", "repaired", f"{reference!r} is put in place")
            whole = merged(beside, target) if isinstance(target, Mapping) else beside
            found = self._schema(whole, at, name, (*trail, reference), level)
            return found if isinstance(found, dict) else {}
        link: Schema = {"$ref": self._defined(reference)}
        if act is Act.ALONE:
            if beside:
                self._note(at, "ref-alone", "repaired", "what stands beside a reference is left out")
            return link
        return {**self._object(beside, at, name, trail, level), **link}

    def _defined(self, reference: str) -> str:
        """Put what is referred to into the definitions, once, and return the reference to it."""
        name = self._names.get(reference)
        if name is None:
            last = "".join(c if c.isalnum() or c in "_-." else "_" for c in reference.rpartition("/")[2].strip("#"))
            name = last or "root"
            while name in self.definitions:
                name += "_"
            self._names[reference] = name
            self.definitions[name] = {}
            self._waiting.append((reference, name))
        return f"#/$defs/{name}"

    # ------------------------------------------------------------ shapes that are rewritten before

    def _shaped(self, schema: Mapping[str, object], at: str, name: str) -> Schema:
        body = dict(schema)
        act = self._dialect.act
        if act("allOf") is Act.MERGE and isinstance(body.get("allOf"), list):
            body = self._all_of(body, at)
        if act("const") is Act.ENUM and "const" in body:
            self._note(pointer(at, "const"), "const", "repaired", "const became an enum of one value")
            body["enum"] = [body.pop("const")]
        enum = body.get("enum")
        if act("enum") is Act.TELL and isinstance(enum, list) and not all(isinstance(one, str) for one in enum):
            self._tell(pointer(at, "enum"), name, "one of", body.pop("enum"))
            body.setdefault("type", _type_of(enum))
        kind = body.get("type")
        if isinstance(kind, list):
            body = self._types(body, [one for one in kind if isinstance(one, str)], at)
        elif act("properties") is Act.DROP and kind not in (None, "object"):
            for keyword in ("properties", "required", "additionalProperties"):
                if body.pop(keyword, None) is not None:
                    self._note(pointer(at, keyword), "beside-type", "repaired", f"{keyword} is left out beside {kind}")
        return body

    def _all_of(self, body: Schema, at: str) -> Schema:
        every = body.pop("allOf")
        self._note(pointer(at, "allOf"), "all-of", "repaired", "allOf is merged")
        for branch in every if isinstance(every, list) else ():
            reference = branch.get("$ref") if isinstance(branch, Mapping) else None
            if isinstance(reference, str) and isinstance(branch, Mapping):
                target = resolved(self._document, reference)
                branch = merged({k: v for k, v in branch.items() if k != "$ref"}, _mapping(target))  # noqa: PLW2901 - the branch, put in place
            if isinstance(branch, Mapping):
                body = merged(body, {key: value for key, value in branch.items() if key != "allOf"})
        return body

    def _types(self, body: Schema, kinds: Sequence[str], at: str) -> Schema:
        """Return a schema whose list of types is said as the provider takes it."""
        act = self._dialect.act("type")
        if act is Act.KEEP:
            return body
        self._note(pointer(at, "type"), "types", "repaired", "the list of types is rewritten")
        real = [kind for kind in kinds if kind != "null"]
        if act is Act.NULLABLE and len(real) <= 1:
            return {**body, "type": real[0] if real else "null", **({"nullable": True} if "null" in kinds else {})}
        if len(kinds) == 1:
            return {**body, "type": kinds[0]}
        wanted = real if act is Act.NULLABLE else kinds
        outer = {key: value for key, value in body.items() if key not in _BY_TYPE and key not in ("type", "enum")}
        branches = [_narrowed(body, kind) for kind in wanted]
        if outer.pop("anyOf", None) is not None:
            self._note(pointer(at, "anyOf"), "types", "repaired", "anyOf beside a list of types is left out")
        null: Schema = {"nullable": True} if act is Act.NULLABLE and "null" in kinds else {}
        return {**outer, "anyOf": branches, **null}

    def _close(self, out: Schema) -> None:
        """Make an object as strict mode wants it: closed, every property required, optional ones nullable."""
        properties = out.get("properties")
        if out.get("type") != "object" and not isinstance(properties, dict):
            return
        required = out.get("required")
        known = required if isinstance(required, list) else []
        table = properties if isinstance(properties, dict) else {}
        out["properties"] = {key: one if key in known else _nullable(one) for key, one in table.items()}
        out["required"] = list(table)
        out["additionalProperties"] = False

    # ------------------------------------------------------------ small things

    def _is_known(self, keyword: str, value: object) -> bool:
        if keyword == "format":
            return value in FORMATS_KNOWN
        return isinstance(value, str) and LOOK_AROUND.search(value) is None

    def _key(self, key: str, at: str) -> str:
        if not self._dialect.keys:
            return key
        sent = wire_key(key)
        if sent != key:
            if sent not in self.keys:
                self._note(at, "key", "repaired", f"the key {key[:80]!r} is sent as {sent!r}")
            self.keys[sent] = key
        return sent

    def _stub(self, schema: Mapping[str, object], at: str, name: str) -> Schema:
        kind = schema.get("type")
        self._note(at, "stub", "told", "what would go on without end is replaced by its type")
        self.told.append(f"{name or 'arguments'}: more of the same inside")
        return {"type": kind} if isinstance(kind, str) and kind in _TYPES else {}

    def _tell(self, at: str, name: str, keyword: str, value: object) -> None:
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        self._note(at, "told", "told", f"{keyword} is said in the description")
        self.told.append(f"{name or 'arguments'}: {keyword} {shown[:120]}")

    def _note(self, at: str, rule: str, kind: FindingKind, text: str) -> None:
        self.repairs.append(Repair(at, rule, kind, text))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _type_of(values: Sequence[object]) -> object:
    tests: Sequence[tuple[str, Callable[[object], bool]]] = (
        ("boolean", lambda one: isinstance(one, bool)),
        ("integer", lambda one: isinstance(one, int) and not isinstance(one, bool)),
        ("number", lambda one: isinstance(one, int | float) and not isinstance(one, bool)),
    )
    return next((kind for kind, test in tests if values and all(map(test, values))), "string")


def _narrowed(body: Mapping[str, object], kind: str) -> Schema:
    """Return what a schema says of values of one type."""
    family = "number" if kind == "integer" else kind
    own = {key: value for key, value in body.items() if _BY_TYPE.get(key) == family}
    return {"type": kind, **own, **({"enum": body["enum"]} if kind == "string" and "enum" in body else {})}


def _nullable(schema: object) -> object:
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return schema
    if isinstance(kind, str | list) and not schema.keys() & {"enum", "const", "anyOf", "$ref"}:
        return {**schema, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    return {"anyOf": [schema, {"type": "null"}]}
