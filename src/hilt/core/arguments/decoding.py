"""Reads the argument text of a call: JSON as models write it, never mended by guessing."""

import json
import math
import re
from collections.abc import Mapping
from typing import Final, NoReturn

from hilt.core.errors import ToolError
from hilt.core.frozen import frozen

TEXT_MAX_BYTES: Final = 4 * 1024 * 1024
NESTING_MAX_LEVELS: Final = 100

_RECOVERED: Final = "recovered from a JSON string"
_MAY_HOLD_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


@frozen(kw_only=False)
class Decoded:
    """The arguments of a call, and what was done to the text to read them."""

    arguments: dict[str, object]
    notes: tuple[str, ...] = ()


class _Unfit(ValueError):
    """A value that JSON does not have, or that no later step could write again."""


def _refuse_constant(name: str) -> NoReturn:
    raise _Unfit(f"{name} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise _Unfit(f"the number {text[:40]} is too large")
    return value


_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)


def decode_arguments(text: str) -> Decoded:
    """Return the arguments in `text`: nothing, blanks and `null` mean none.

    A JSON string that itself holds a JSON object is read once more, and a note says so. Integers keep every
    digit. Of a key that occurs twice the last value counts.

    Raises:
        ToolError: `invalid_arguments`: the text is not JSON (with the parser's message and position), not an
            object, holds NaN or Infinity or half a surrogate pair, nests deeper than 100 levels or is longer
            than 4 MiB.
    """
    if not text or text.isspace():
        return Decoded({})
    value = parse_json(text)
    if isinstance(value, dict):
        return Decoded(value)
    if value is None:
        return Decoded({})
    if isinstance(value, str):
        inner = _object_in(value)
        if inner is not None:
            return Decoded(inner, (_RECOVERED,))
    raise ToolError.invalid_arguments(f"expected a JSON object, got {_kind(value)}")


def parse_json(text: str) -> object:
    """Return the JSON value of `text` within the bounds that arguments have.

    Raises:
        ToolError: `invalid_arguments`, as `decode_arguments`.
    """
    _check_size(text)
    try:
        value: object = _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        raise ToolError.invalid_arguments(_parser_text(exc)) from None
    except _Unfit as exc:
        raise ToolError.invalid_arguments(str(exc)) from None
    except ValueError:
        raise ToolError.invalid_arguments("a number has too many digits") from None
    except RecursionError:
        raise _too_deep() from None
    if text.count("[") + text.count("{") > NESTING_MAX_LEVELS:
        check_nesting(value)
    if _MAY_HOLD_SURROGATE.search(text) is not None:
        _check_surrogates(value)
    return value


def check_nesting(value: object) -> None:
    """Refuse a value of more than 100 levels of objects and lists.

    Raises:
        ToolError: `invalid_arguments`.
    """
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > NESTING_MAX_LEVELS:
            raise _too_deep()
        level = [child for holder in level for child in _children(holder) if isinstance(child, dict | list)]


def _children(holder: object) -> list[object]:
    if isinstance(holder, dict):
        return list(holder.values())
    return holder if isinstance(holder, list) else []


def _too_deep() -> ToolError:
    return ToolError.invalid_arguments(f"the JSON nests deeper than {NESTING_MAX_LEVELS} levels")


def _check_size(text: str) -> None:
    if text.isascii():
        size = len(text)
    else:
        try:
            size = len(text.encode())
        except UnicodeEncodeError:
            raise _half_pair() from None
    if size > TEXT_MAX_BYTES:
        raise ToolError.invalid_arguments(f"the text has {size} bytes; at most {TEXT_MAX_BYTES} are read")


def _check_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise _half_pair() from None


def _half_pair() -> ToolError:
    return ToolError.invalid_arguments("the text holds half a surrogate pair, which is no character")


def _parser_text(exc: json.JSONDecodeError) -> str:
    """Tell what the parser met and where; text that ends too early is called incomplete."""
    cut_off = exc.pos >= len(exc.doc.rstrip()) or exc.msg.startswith("Unterminated string")
    fault = "the JSON is incomplete" if cut_off else "the text is not JSON"
    return f"{fault}: {exc.msg} at line {exc.lineno}, column {exc.colno} (character {exc.pos})"


def _object_in(text: str) -> dict[str, object] | None:
    """Return the object that a JSON string holds, None when it holds anything else."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        value = parse_json(text)
    except ToolError as exc:
        raise ToolError.invalid_arguments(f"inside a JSON string, {exc.reason}") from None
    return value if isinstance(value, dict) else None


_KINDS: Final[Mapping[type, str]] = {
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    list: "a list",
}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), type(value).__name__)
