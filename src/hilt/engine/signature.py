"""Reads a function's signature: the JSON Schema of its parameters, and how a call's arguments fill them."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, TypeAdapter, create_model
from pydantic.fields import FieldInfo

from hilt.core.args import Adapter, annotated_text, decoded, modern, without_titles
from hilt.core.tool import ToolCall
from hilt.ports.tool import Environment

_LENT: Final = (Environment, ToolCall)
_OPEN_KINDS: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class _Arguments(BaseModel):
    """What the models of parameters have in common."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """What a function takes: `fields` from the model, by field of the adapter's type, and `lent` by hilt."""

    schema: dict[str, object]
    adapter: Adapter
    fields: Mapping[str, str]
    lent: Mapping[str, object]
    positional: tuple[str, ...]

    def bind(self, call: ToolCall, env: Environment) -> tuple[list[object], dict[str, object]]:
        """Return positional and keyword arguments of the function for one call.

        Raises:
            ToolError: `invalid_arguments`, with the path of the first fault.
        """
        values = decoded(self.adapter, call.arguments)
        keyword = {name: getattr(values, field) for field, name in self.fields.items()}
        for name, kind in self.lent.items():
            keyword[name] = env if kind is Environment else call
        return [keyword.pop(name) for name in self.positional], keyword


def read_signature(function: Callable[..., object], described: Mapping[str, str]) -> Signature:
    """Return the signature of `function`; `described` has the texts of its docstring by parameter.

    Raises:
        TypeError: A parameter has no annotation, takes any number of values, or has a type that JSON cannot
            carry; the message names it.
    """
    parameters = inspect.signature(function).parameters
    hints = _hints(function)
    for name, parameter in parameters.items():
        if parameter.kind in _OPEN_KINDS:
            shown = str(parameter).partition(":")[0]
            raise TypeError(f"{_named(function)}: the parameter {shown!r} takes any number of values")
        if name not in hints:
            raise TypeError(f"{_named(function)}: the parameter {name!r} needs an annotation")
    lent = {name: _bare(hints[name]) for name in parameters if _bare(hints[name]) in _LENT}
    filled = [parameter for name, parameter in parameters.items() if name not in lent]
    # Fields get names of their own: a parameter may be called like a method of the model.
    fields = {f"field_{number}": parameter.name for number, parameter in enumerate(filled)}
    definitions = {
        field: _definition(parameters[name], hints[name], described.get(name, "")) for field, name in fields.items()
    }
    adapter = _adapter(function, definitions)
    positional = [p.name for p in parameters.values() if p.kind is inspect.Parameter.POSITIONAL_ONLY]
    return Signature(
        schema=_schema(function, adapter),
        adapter=adapter,
        fields=fields,
        lent=lent,
        positional=tuple(positional),
    )


def _hints(function: Callable[..., object]) -> dict[str, object]:
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as exc:
        raise TypeError(f"{_named(function)}: an annotation cannot be read: {exc}") from None


def _bare(hint: object) -> object:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _named(function: Callable[..., object]) -> str:
    return f"{getattr(function, '__name__', type(function).__name__)}()"


def _definition(parameter: inspect.Parameter, hint: object, described: str) -> tuple[object, FieldInfo]:
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    field: FieldInfo = Field(default, alias=parameter.name)
    text = annotated_text(hint) or described
    if text and not _has_description(hint):
        field = Field(default, alias=parameter.name, description=text)
    return modern(hint), field


def _has_description(hint: object) -> bool:
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return any(isinstance(extra, FieldInfo) and extra.description for extra in extras)


def _adapter(function: Callable[..., object], definitions: Mapping[str, tuple[object, FieldInfo]]) -> Adapter:
    try:
        model: type[_Arguments] = create_model("Arguments", __base__=_Arguments, **definitions)  # type: ignore[call-overload]  # types known at run time only
    except PydanticUserError as exc:
        raise _unfit(function, exc) from None
    return TypeAdapter(model)


def _schema(function: Callable[..., object], adapter: Adapter) -> dict[str, object]:
    try:
        return without_titles(adapter.json_schema())
    except PydanticUserError as exc:
        raise _unfit(function, exc) from None


def _unfit(function: Callable[..., object], exc: PydanticUserError) -> TypeError:
    return TypeError(f"{_named(function)}: a parameter has a type without a schema: {exc.message}")
