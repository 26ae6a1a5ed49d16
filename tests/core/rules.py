"""Short ways to write rules, subjects and decisions down in tests."""

from collections.abc import Mapping, Sequence

from hilt.core.defaults import builtin_defaults
from hilt.core.permission import Decision, Effect, PermissionRule, Scope, Subject, Subjects
from hilt.core.rule_text import parse_rule
from hilt.core.rulebook import RuleBook
from hilt.core.session import Mode
from hilt.core.shell import analyse

ROOT = "/work/space"
HOME = "/home/me"


def rule(text: str, scope: Scope = Scope.CLI, *, line: int = 0) -> PermissionRule:
    """Read `EFFECT RULE`, such as `deny shell(rm:*)`."""
    effect, _, body = text.partition(" ")
    return parse_rule(body, effect=Effect(effect), scope=scope, source="settings.yaml", line=line)


def book(*texts: str, scope: Scope = Scope.CLI, defaults: bool = True) -> RuleBook:
    """Return the rules of one scope, with the built-in defaults behind them."""
    written = [rule(text, scope) for text in texts]
    return RuleBook([*written, *(builtin_defaults() if defaults else ())], root=ROOT, home=HOME)


def command(text: str) -> Subjects:
    """Return what a call of the shell shows."""
    segments = analyse(text).subjects()
    return Subjects(unnamed=segments, named={"command": segments, "working_dir": (), "background": ()})


def path(*spellings: str) -> Subjects:
    """Return what a file tool shows: one path as written, and as resolved."""
    subject = Subject(text=spellings[0], kind="path", also=spellings[1:])
    return Subjects(unnamed=(subject,), named={"path": (subject,)})


def two_paths(source: str, destination: str) -> Subjects:
    """Return what Copy and Move show."""
    first, second = Subject(text=source, kind="path"), Subject(text=destination, kind="path")
    return Subjects(unnamed=(first, second), named={"source": (first,), "destination": (second,)})


def text(value: str, **named: str) -> Subjects:
    """Return one unnamed text and named ones."""
    return Subjects(unnamed=(Subject(text=value),), named={key: (Subject(text=v),) for key, v in named.items()})


def shell(rules: RuleBook, line: str, mode: Mode = Mode.DEFAULT, grants: Sequence[PermissionRule] = ()) -> Effect:
    """Return what is decided on a command."""
    return rules.decide("shell", command(line), mode=mode, grants=grants).effect


def named(values: Mapping[str, str], *absent: str) -> Subjects:
    """Return named subjects alone; `absent` are arguments that the call leaves out."""
    given = {key: (Subject(text=value),) for key, value in values.items()}
    return Subjects(named={**given, **dict.fromkeys(absent, ())})


def effect_of(rules: RuleBook, tool: str, subjects: Subjects, mode: Mode = Mode.DEFAULT) -> Effect:
    """Return the decided effect."""
    decision: Decision = rules.decide(tool, subjects, mode=mode)
    return decision.effect
