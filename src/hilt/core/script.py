"""A script of model answers in JSON lines, checked as a whole before any is given (cli.md section 5)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from hilt.core.errors import ConfigError
from hilt.core.session import Usage

ANSWER_KEYS = ("text", "reasoning", "calls", "chunk", "delay_ms", "usage", "when", "error", "break")
CALL_KEYS = ("name", "args", "id")
USAGE_KEYS = ("input", "output")
ERROR_KEYS = ("status", "retry_after_s", "message")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedCall:
    """One call of an answer; `args` is the raw argument text, `id` is "" where the script gives none."""

    name: str
    args: str
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedError:
    """How a provider fails: HTTP status, its word on when to retry in seconds, what it says."""

    status: int
    retry_after_s: float | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """One line of a script.

    `chunk` is in characters, None streams a text in one piece; `when` is text that the last message must
    hold; with `breaks` the stream ends inside the last call.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    chunk: int | None = None
    delay_ms: float = 0
    usage: Usage = field(default_factory=Usage)
    when: str = ""
    error: ScriptedError | None = None
    breaks: bool = False


def parse_script(text: str, *, source: str) -> tuple[ScriptedAnswer, ...]:
    """Return the answers of a script in JSON lines; blank lines are passed over.

    Raises:
        ConfigError: A line is no JSON object of the shape; names source, line and key.
    """
    answers = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            answers.append(parse_answer(_decoded(line, source, number), source=source, line=number))
    return tuple(answers)


def _decoded(line: str, source: str, number: int) -> object:
    try:
        return json.loads(line, parse_constant=_refused, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as exc:
        raise ConfigError(f"{exc.msg} at column {exc.colno}", source=source, line=number) from None
    except RecursionError:
        raise ConfigError("nested too deeply", source=source, line=number) from None
    except ValueError as exc:
        raise ConfigError(str(exc), source=source, line=number) from None


def _refused(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    repeated = next((key for key in keys if keys.count(key) > 1), None)
    if repeated is not None:
        raise ValueError(f"the key {repeated!r} occurs twice")
    return dict(pairs)


def parse_answer(raw: object, *, source: str, line: int) -> ScriptedAnswer:
    """Return the answer that a decoded JSON object stands for.

    Raises:
        ConfigError: It is not of the shape; names source, line and key.
    """
    if not isinstance(raw, Mapping):
        raise ConfigError(f"an answer is an object, not {_kind(raw)}", source=source, line=line)
    entry = _Entry(raw=raw, source=source, line=line)
    entry.check_keys(ANSWER_KEYS)
    answer = ScriptedAnswer(
        text=entry.text("text"),
        reasoning=entry.text("reasoning"),
        calls=_calls(entry),
        chunk=entry.whole("chunk", least=1),
        delay_ms=entry.number("delay_ms") or 0,
        usage=_usage(entry.inner("usage")),
        when=entry.text("when"),
        error=_error(entry.inner("error")),
        breaks=entry.true("break"),
    )
    if answer.breaks and answer.error is not None:
        raise entry.fault("break", "stands beside `error`; an answer ends in one way")
    if answer.breaks and not answer.calls:
        raise entry.fault("break", "ends the stream inside the last call, and there is no call")
    return answer


def _calls(entry: "_Entry") -> tuple[ScriptedCall, ...]:
    raw = entry.raw.get("calls", [])
    if not isinstance(raw, list | tuple):
        raise entry.fault("calls", f"expected a list, got {_kind(raw)}")
    return tuple(_call(entry.under(value, f"calls[{at}]")) for at, value in enumerate(raw))


def _call(entry: "_Entry") -> ScriptedCall:
    entry.check_keys(CALL_KEYS)
    entry.need("name")
    args = entry.raw.get("args", {})
    if not isinstance(args, str | Mapping):
        raise entry.fault("args", f"expected an object or raw text, got {_kind(args)}")
    text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
    return ScriptedCall(name=entry.text("name"), args=text, id=entry.text("id"))


def _usage(entry: "_Entry | None") -> Usage:
    if entry is None:
        return Usage()
    entry.check_keys(USAGE_KEYS)
    return Usage(input=entry.whole("input") or 0, output=entry.whole("output") or 0)


def _error(entry: "_Entry | None") -> ScriptedError | None:
    if entry is None:
        return None
    entry.check_keys(ERROR_KEYS)
    entry.need("status")
    return ScriptedError(
        status=entry.whole("status", least=100) or 0,
        retry_after_s=entry.number("retry_after_s"),
        message=entry.text("message"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A JSON object of a script with the place that its errors name."""

    raw: Mapping[str, object]
    source: str
    line: int
    path: str = ""

    def fault(self, key: str, message: str) -> ConfigError:
        return ConfigError(message, source=self.source, line=self.line, key=f"{self.path}{key}")

    def check_keys(self, known: Sequence[str]) -> None:
        for key in self.raw:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"known keys are {', '.join(known)}"
                raise self.fault(key, f"unknown key; {hint}")

    def need(self, key: str) -> None:
        if key not in self.raw:
            raise self.fault(key, "is missing")

    def true(self, key: str) -> bool:
        if key in self.raw and self.raw[key] is not True:
            raise self.fault(key, "is given as true or left out")
        return key in self.raw

    def text(self, key: str) -> str:
        value = self.raw.get(key, "")
        if not isinstance(value, str):
            raise self.fault(key, f"expected text, got {_kind(value)}")
        return value

    def number(self, key: str, *, whole: bool = False, least: int = 0) -> float | None:
        if key not in self.raw:
            return None
        value = self.raw[key]
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or value < least:
            wanted = f"a {'whole ' if whole else ''}number from {least}"
            got = _kind(value)
            raise self.fault(key, f"expected {wanted}, got {value if got == 'a number' else got}")
        return value

    def whole(self, key: str, *, least: int = 0) -> int | None:
        value = self.number(key, whole=True, least=least)
        return None if value is None else int(value)

    def inner(self, key: str) -> "_Entry | None":
        return self.under(self.raw[key], key) if key in self.raw else None

    def under(self, value: object, key: str) -> "_Entry":
        if not isinstance(value, Mapping):
            raise self.fault(key, f"expected an object, got {_kind(value)}")
        return _Entry(raw=value, source=self.source, line=self.line, path=f"{self.path}{key}.")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
