"""Holds a call's arguments against any JSON Schema: prepared once a schema, as little as possible a call.

Validation opens nothing: every address outside the schema is answered by a schema that accepts anything.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, Protocol

from hilt.core.arguments.checked import Checked
from hilt.core.arguments.coercion import Change, apply, changes_for, to_integer, whole_floats
from hilt.core.arguments.decoding import Decoded, check_nesting, decode_arguments
from hilt.core.arguments.example import Examples
from hilt.core.arguments.place import Path, locate, path_text
from hilt.core.arguments.repair import (
    close_root,
    declares_known_dialect,
    drop_foreign_dialects,
    drop_open_references,
    drop_patterns,
    is_within_levels,
)
from hilt.core.arguments.violation import Violation, describe
from hilt.core.arguments.weight import is_too_heavy
from hilt.core.errors import InvalidSpecError, ToolError

__all__ = ["ArgumentCheck", "Checked", "Decoded", "check_schema", "decode_arguments"]

SCHEMA_LEVELS_MAX: Final = 200
# Two thousandths of a second for a pattern that backtracks without end; no honest one needs as many.
BACKTRACKS_MAX: Final = 100_000
# Past this many values only the first violation is looked for: each one costs time.
_LARGE_VALUES: Final = 5_000
_PASSES_MAX: Final = 100
VIOLATIONS_MAX: Final = 5
_SCHEMAS_KEPT: Final = 4_096
_UNBOUNDED: Final = ("BacktrackLimitExceeded", "RegexEngineFailure")
_ANY_OBJECT: Final[Mapping[str, object]] = {"type": "object", "properties": {}}


class _Kind(Protocol):
    @property
    def name(self) -> str: ...

    def as_dict(self) -> dict[str, object]: ...


class _Error(Protocol):
    @property
    def message(self) -> str: ...

    @property
    def schema_path(self) -> list[str | int]: ...

    @property
    def instance_path(self) -> list[str | int]: ...

    @property
    def kind(self) -> _Kind: ...

    @property
    def instance(self) -> object: ...


class _Validator(Protocol):
    def is_valid(self, instance: object) -> bool: ...

    def validate(self, instance: object) -> None: ...

    def iter_errors(self, instance: object) -> Iterable[_Error]: ...


def check_schema(name: str, schema: Mapping[str, object]) -> None:
    """Check that a tool's schema is one: JSON, legal in its dialect, and able to describe an object.

    The dialect is the one that `$schema` declares, 2020-12 without. References are not followed.

    Raises:
        InvalidSpecError: It is not; the message has the path of the fault.
    """
    body = _as_json(name, schema)
    import jsonschema_rs

    kinds = body.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        raise InvalidSpecError(f"the root of the schema is not an object: type is {kinds!r}", key=name)
    dialect = str(body["$schema"]) if declares_known_dialect(body) else "2020-12"
    if dialect == "2020-12" and isinstance(body.get("$schema"), str):
        del body["$schema"]
    try:
        jsonschema_rs.meta.validate(body)
    except jsonschema_rs.ValidationError as exc:
        where = path_text(exc.instance_path) if exc.instance_path else "its root"
        raise InvalidSpecError(
            f"the schema is not valid JSON Schema {dialect} at {where}: {exc.message[:200]}", key=name
        ) from None


def _as_json(name: str, schema: Mapping[str, object]) -> dict[str, object]:
    if not is_within_levels(schema, SCHEMA_LEVELS_MAX):
        raise InvalidSpecError(f"the schema nests deeper than {SCHEMA_LEVELS_MAX} levels", key=name)
    try:
        text = json.dumps(schema, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError) as exc:
        raise InvalidSpecError(f"the schema is not JSON: {exc}", key=name) from None
    body: dict[str, object] = json.loads(text)
    return body


class ArgumentCheck:
    """The check of one tool's arguments, prepared once.

    `warnings` says what of the schema cannot be asked: references that lead outside or nowhere, patterns that
    no engine can run. What a schema lacks accepts anything. Report them once, when the check is made.
    """

    __slots__ = ("_has_integers", "_name", "_schema", "_validator", "warnings")

    def __init__(self, name: str, schema_json: str, *, strict_keys: bool) -> None:
        self._name = name
        self._schema: dict[str, object] = json.loads(schema_json)
        self._has_integers = '"integer"' in schema_json
        if strict_keys:
            close_root(self._schema)
        self.warnings: tuple[str, ...] = ()
        self._validator: _Validator
        self._prepare()

    @staticmethod
    def of(spec_name: str, schema_json: str, *, strict_keys: bool) -> "ArgumentCheck":
        """Return the check of a tool's schema, the same one for the same name and text.

        With `strict_keys` a key that the root of the schema does not know is a violation, also where the
        schema does not say so.
        """
        return _prepared(spec_name, schema_json, strict_keys)

    def check(self, arguments: dict[str, object]) -> Checked:
        """Return arguments that fit the schema: the given object itself where it does.

        Raises:
            ToolError: `invalid_arguments`, with up to five violations.
        """
        try:
            fits = self._validator.is_valid(arguments)
            fitting = Checked(arguments) if fits else self._mended(arguments)
        except UnicodeEncodeError:
            raise ToolError.invalid_arguments("a text holds half a surrogate pair") from None
        if self._has_integers and _may_hold_floats(fitting.arguments):
            return self._with_integers(fitting)
        return fitting

    def _mended(self, arguments: dict[str, object]) -> Checked:
        """Coerce what has one reading and drop nulls that stand for absence, until the arguments fit."""
        notes: list[str] = []
        warnings: list[str] = []
        nulls: dict[Path, Violation] = {}
        for _ in range(_PASSES_MAX):
            violations = self._violations(arguments, warnings)
            if not violations:
                return Checked(arguments, tuple(notes), tuple(warnings))
            changes = changes_for(violations)
            if not changes:
                break
            nulls.update({v.path: v for v in violations if v.came is None})
            arguments = apply(arguments, changes)
            check_nesting(arguments)
            notes += [change.note for change in changes]
        told = [nulls.get(_missing_path(v), v) for v in violations]
        raise ToolError.invalid_arguments(describe(told, self._schema, Examples(self._schema, _matches)))

    def _violations(self, arguments: object, warnings: list[str]) -> list[Violation]:
        """Return what breaks the schema; a pattern that backtracks without end is dropped for good."""
        while True:
            errors = self._errors(arguments)
            endless = [error for error in errors if type(error.kind).__name__ in _UNBOUNDED]
            if not endless or not (gone := self._drop_pattern(endless[0].schema_path)):
                return [_violation(error) for error in errors]
            warnings += gone

    def _errors(self, arguments: object) -> list[_Error]:
        import jsonschema_rs

        if not _is_large(arguments):
            return list(self._validator.iter_errors(arguments))
        try:
            self._validator.validate(arguments)
        except jsonschema_rs.ValidationError as exc:
            return [exc]
        return []

    def _drop_pattern(self, path: Sequence[str | int]) -> list[str]:
        """Drop the pattern that the path names, every pattern if it names none; return the warnings."""
        named = [*path, locate(self._schema, path)]
        gone = drop_patterns(self._schema, lambda each: each in named)
        gone = gone or drop_patterns(self._schema, lambda each: True)
        warnings = [f"{self._name}: the pattern {each!r} backtracks too long and is skipped" for each in gone]
        self._prepare()
        self.warnings += tuple(warnings)
        return warnings

    def _with_integers(self, fitting: Checked) -> Checked:
        """Write whole floats as integers where the schema wants an integer and nothing else."""
        paths = list(whole_floats(fitting.arguments))
        if not paths:
            return fitting
        probe = apply(fitting.arguments, [Change(path, 0.5, "") for path in paths])
        refused = {
            tuple(error.instance_path)
            for error in self._validator.iter_errors(probe)
            if error.kind.name == "type" and error.kind.as_dict().get("types") == ["integer"]
        }
        changes = [to_integer(fitting.arguments, path) for path in paths if path in refused]
        notes = fitting.coercions + tuple(change.note for change in changes)
        return Checked(apply(fitting.arguments, changes), notes, fitting.warnings)

    def _prepare(self) -> None:
        self._validator, warnings = _compiled(self._schema)
        told = (f"{self._name}: {warning}" for warning in warnings)
        self.warnings = tuple(dict.fromkeys([*self.warnings, *told]))


def output_violation(schema: Mapping[str, object], value: object) -> tuple[str, Sequence[str]]:
    """Return the first violation of a result's schema, "" where it fits, and what of the schema was ignored."""
    body: dict[str, object] = json.loads(json.dumps(schema))
    validator, warnings = _compiled(body)
    found = next(iter(validator.iter_errors(value)), None)
    if found is None or type(found.kind).__name__ in _UNBOUNDED:
        return "", warnings
    violation = _violation(found)
    return f"{path_text(violation.path) if violation.path else 'its root'}: {violation.message}", warnings


def output_violations(schema: Mapping[str, object], value: object) -> Sequence[str]:
    """Return up to five violations of a schema that a JSON value of any kind is held against, none where it fits."""
    validator, _ = _compiled(json.loads(json.dumps(schema)))
    found = list(islice(validator.iter_errors(value), VIOLATIONS_MAX))
    bounded = [error for error in found if type(error.kind).__name__ not in _UNBOUNDED]
    texts = [_violation(error) for error in bounded]
    return [f"{path_text(each.path) if each.path else 'its root'}: {each.message}" for each in texts]


@lru_cache(maxsize=_SCHEMAS_KEPT)
def _prepared(name: str, schema_json: str, strict_keys: bool) -> ArgumentCheck:
    return ArgumentCheck(name, schema_json, strict_keys=strict_keys)


def _compiled(schema: dict[str, object]) -> tuple[_Validator, list[str]]:
    """Return the validator of a schema, and what had to be taken out of it to make one."""
    import jsonschema_rs

    unusable = (ValueError, jsonschema_rs.ReferencingError)
    drop_foreign_dialects(schema)
    warnings: list[str] = []
    if is_too_heavy(schema):
        warnings.append(_open_up(schema, "its references multiply without bound"))
    try:
        return _built(schema, warnings), warnings
    except unusable:
        warnings = [_nowhere(each) for each in drop_open_references(schema)]
        warnings += [f"the pattern {each!r} cannot be compiled" for each in drop_patterns(schema, _refuses)]
    try:
        return _built(schema, warnings), warnings
    except unusable as exc:
        warnings.append(_open_up(schema, str(exc).partition("\n")[0][:200]))
        return _built(schema, warnings), warnings


def _open_up(schema: dict[str, object], reason: str) -> str:
    schema.clear()
    schema.update(_ANY_OBJECT)
    return f"the schema cannot be used and any object is accepted: {reason}"


def _built(schema: dict[str, object], warnings: list[str]) -> _Validator:
    import jsonschema_rs

    def accept_anything(address: str, /) -> bool:
        warnings.append(_nowhere(address))
        return True

    return jsonschema_rs.validator_for(
        schema,
        retriever=accept_anything,
        validate_formats=False,
        mask="the value",
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX),
    )


def _nowhere(reference: str) -> str:
    return f"the reference {reference!r} leads out of the schema or nowhere: anything is accepted there"


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern admits a text; one that cannot be run admits none."""
    import jsonschema_rs

    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS_MAX)
    return not _refuses(pattern) and jsonschema_rs.is_valid({"pattern": pattern}, text, pattern_options=options)


def _refuses(pattern: str) -> bool:
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for({"pattern": pattern})
    except ValueError:
        return True
    return False


def _violation(error: _Error) -> Violation:
    return Violation(
        keyword=error.kind.name,
        path=tuple(error.instance_path),
        schema_path=tuple(error.schema_path),
        came=error.instance,
        details=error.kind.as_dict(),
        message=error.message,
    )


def _missing_path(violation: Violation) -> Path:
    """Return the path of the property that a `required` misses, else the violation's own."""
    missing = violation.details.get("property")
    return (*violation.path, missing) if isinstance(missing, str) else violation.path


def _may_hold_floats(arguments: dict[str, object]) -> bool:
    return any(type(value) in _FLOAT_HOLDERS for value in arguments.values())


_FLOAT_HOLDERS: Final = frozenset({float, dict, list})


def _is_large(value: object) -> bool:
    seen, waiting = 0, [value]
    while waiting and seen < _LARGE_VALUES:
        node = waiting.pop()
        seen += 1
        if isinstance(node, dict):
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return bool(waiting)
