"""Puts a server's question to the person at the terminal: a form, field by field, or an address to visit."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

import anyio
import click

from hilt.cli.output import Paint, one_line
from hilt.cli.reading import Interrupted, LineReader
from hilt.core.mcp_text import clean_text
from hilt.ports.elicitation import ElicitAnswer, Elicitation

ABOUT_MAX = 200
CHOICES_MAX = 20
DECLINED = ElicitAnswer(action="decline")
_WORDS = {"a": True, "answer": True, "y": True, "yes": True, "d": False, "decline": False, "n": False, "no": False}
_TRUE, _FALSE = frozenset({"y", "yes", "true", "1"}), frozenset({"n", "no", "false", "0"})


class TerminalElicitor:
    """Asks the person; an end of input cancels the question.

    Ctrl-C cancels the run through `interrupt`, which tells whether there is one. `turns` is held by whoever reads a
    line. `aside` is entered while a question is on the screen.
    """

    def __init__(
        self,
        reader: LineReader,
        paint: Paint,
        *,
        interrupt: Callable[[], bool],
        turns: anyio.Lock,
        aside: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._reader = reader
        self._paint = paint
        self._interrupt = interrupt
        self._turns = turns
        self.aside = aside

    async def elicit(self, asked: Elicitation) -> ElicitAnswer:
        """See `Elicitor.elicit`."""
        async with self._turns:
            with self.aside():
                self._reader.drop_typed_ahead()
                try:
                    return await (self._visit(asked) if asked.url else self._form(asked))
                except Interrupted:
                    if self._interrupt():
                        await anyio.sleep_forever()
                except EOFError:
                    pass
        return ElicitAnswer(action="cancel")

    def _head(self, asked: Elicitation, wants: str) -> None:
        mark = self._paint("?", "yellow", bold=True)
        click.echo(f"{mark} the server {self._paint(asked.server, bold=True)} {wants}")
        for line in clean_text(asked.message).splitlines():
            click.echo(f"    {line}")

    async def _visit(self, asked: Elicitation) -> ElicitAnswer:
        self._head(asked, "wants you to visit an address; nothing opens it for you")
        click.echo(f"    {asked.url}")
        agreed = await self._agreed("  [a]nswer that you will, [d]ecline > ")
        return ElicitAnswer(action="accept") if agreed else DECLINED

    async def _form(self, asked: Elicitation) -> ElicitAnswer:
        self._head(asked, "asks you; it is sent what you type")
        if asked.problem:
            click.echo(self._paint(f"  that did not fit: {one_line(asked.problem, ABOUT_MAX)}", "yellow"))
        if not await self._agreed("  [a]nswer, [d]ecline > "):
            return DECLINED
        properties, required = asked.schema.get("properties"), asked.schema.get("required")
        content: dict[str, object] = {}
        for name, about in properties.items() if isinstance(properties, Mapping) else ():
            field = about if isinstance(about, Mapping) else {}
            needed = isinstance(required, list) and name in required and "default" not in field
            given = await self._field(str(name), field, needed=needed)
            if given is not None:
                content[name] = given
        return ElicitAnswer(action="accept", content=content)

    async def _field(self, name: str, about: Mapping[str, object], *, needed: bool) -> object:
        """Return what was typed as the field's type, None where it was left out."""
        prompt = _prompt(name, about, needed=needed)
        while True:
            typed = (await self._line(prompt)).strip()
            if not typed and not needed:
                return None
            try:
                return value_of(typed, about)
            except ValueError as exc:
                click.echo(self._paint(f"  {exc}", "yellow"))

    async def _agreed(self, prompt: str) -> bool:
        while True:
            answer = _WORDS.get((await self._line(prompt)).strip().lower())
            if answer is not None:
                return answer
            click.echo(self._paint("  please answer with one of the letters", "yellow"))

    async def _line(self, prompt: str) -> str:
        typed = await self._reader.line(prompt)
        if typed is None:
            raise EOFError
        return typed


def _prompt(name: str, about: Mapping[str, object], *, needed: bool) -> str:
    notes = []
    choices = _choices(about)
    if choices:
        many = "any of" if about.get("type") == "array" else "one of"
        more = "" if len(choices) <= CHOICES_MAX else ", …"
        notes.append(f"{many} {', '.join(choices[:CHOICES_MAX])}{more}")
    elif isinstance(about.get("type"), str):
        notes.append("yes or no" if about["type"] == "boolean" else str(about["type"]))
    if "default" in about:
        notes.append(f"default {about['default']}")
    elif not needed:
        notes.append("may be left out")
    told = " ".join(str(about[key]) for key in ("title", "description") if isinstance(about.get(key), str))
    label = f"{name}: {told}" if told else name
    return f"    {one_line(clean_text(label), ABOUT_MAX)} ({one_line(clean_text('; '.join(notes)), ABOUT_MAX)}) > "


def _choices(about: Mapping[str, object]) -> list[str]:
    """Return the values that a field may have: those of `enum`, or the constants of `oneOf` or `anyOf`."""
    holder = about.get("items") if about.get("type") == "array" else about
    if not isinstance(holder, Mapping):
        return []
    given = holder.get("enum")
    if isinstance(given, list):
        return [str(value) for value in given]
    titled = holder.get("oneOf") or holder.get("anyOf")
    items = titled if isinstance(titled, list) else []
    return [str(item["const"]) for item in items if isinstance(item, Mapping) and "const" in item]


def value_of(typed: str, about: Mapping[str, object]) -> object:
    """Return what was typed as a value of the field's type; whether it fits the schema is checked later.

    Raises:
        ValueError: It is none; the text says what is wanted.
    """
    choices = _choices(about)
    match about.get("type"):
        case "array":
            chosen = [piece.strip() for piece in typed.split(",") if piece.strip()]
            wrong = [piece for piece in chosen if choices and piece not in choices]
            if wrong:
                raise ValueError(f"{one_line(wrong[0], 40)!r} is none of them; separate several by commas")
            return chosen
        case "boolean":
            if typed.lower() in _TRUE | _FALSE:
                return typed.lower() in _TRUE
            raise ValueError("please type yes or no")
        case "integer":
            return _number(typed, int, "a whole number")
        case "number":
            return _number(typed, float, "a number")
    if choices and typed not in choices:
        raise ValueError(f"{one_line(typed, 40)!r} is none of them")
    if not typed:
        raise ValueError("it is required")
    return typed


def _number(typed: str, kind: Callable[[str], float], wanted: str) -> float:
    try:
        return kind(typed)
    except ValueError:
        raise ValueError(f"please type {wanted}") from None
