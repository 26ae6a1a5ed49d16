"""What a call shows to patterns where its tool does not say: every top-level argument, and no unnamed one."""

from collections.abc import Iterable, Mapping

from hilt.core.permission import Subject, Subjects
from hilt.core.tool import canonical_json


def argument_text(value: object) -> str:
    """Return the text of one argument: text as it is, anything else as compact JSON with sorted keys."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else canonical_json(value)


def argument_subjects(arguments: Mapping[str, object], known: Iterable[str] = ()) -> Subjects:
    """Return the subjects of a call; `known` are the names of the tool's arguments, given or not."""
    named: dict[str, tuple[Subject, ...]] = dict.fromkeys(known, ())
    for key, value in arguments.items():
        named[key] = (Subject(text=argument_text(value)),)
    return Subjects(named=named)
