"""Rules that a host writes in code: the same text as in settings, with CLI scope."""

from hilt.core.permission import Effect, PermissionRule
from hilt.core.rule_text import parse_rule

SOURCE = "code"


def allow(rule: str) -> PermissionRule:
    """Return a rule that lets what it matches run unasked.

    Raises:
        ConfigError: The text is no rule; names the column.
    """
    return parse_rule(rule, effect=Effect.ALLOW, source=SOURCE)


def ask(rule: str) -> PermissionRule:
    """Return a rule that puts what it matches to a person.

    Raises:
        ConfigError: The text is no rule; names the column.
    """
    return parse_rule(rule, effect=Effect.ASK, source=SOURCE)


def deny(rule: str) -> PermissionRule:
    """Return a rule that stops what it matches.

    Raises:
        ConfigError: The text is no rule; names the column.
    """
    return parse_rule(rule, effect=Effect.DENY, source=SOURCE)
