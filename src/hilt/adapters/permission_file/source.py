"""Rules from settings files, read anew for each session, and rules that a person chose to keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import anyio.to_thread

from hilt.adapters.permission_file.edit import add_allow
from hilt.adapters.permission_file.reading import read_settings, rules_of
from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rule_text import format_rule
from hilt.core.yaml_document import parse_yaml

_PROJECT: Final = frozenset({Scope.LOCAL_PROJECT, Scope.SHARED_PROJECT})
_ORDER: Final = tuple(Scope)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleFile:
    """A settings file: where it is, what messages call it, the scope of its rules. It may be absent."""

    path: str
    shown: str
    scope: Scope


class PermissionFiles:
    """The rules of settings files and flags as they stand at each `load`."""

    def __init__(
        self, files: Sequence[RuleFile], flags: Sequence[PermissionRule] = (), *, trusted: bool = False
    ) -> None:
        self._files = tuple(files)
        self._flags = tuple(flags)
        self._trusted = trusted

    async def load(self) -> Sequence[PermissionRule]:
        """See `RuleSource.load`; a project's allows are left out unless it is trusted."""
        return await anyio.to_thread.run_sync(self.read)

    async def remember(self, rule: PermissionRule) -> None:
        """See `RuleSource.remember`."""
        await anyio.to_thread.run_sync(self._remember, rule)

    def read(self) -> list[PermissionRule]:
        """Return what `load` returns, in the caller's thread."""
        return [rule for rule in self._all() if self._counts(rule)]

    def withheld(self) -> list[PermissionRule]:
        """Return the allows that are left out for want of trust.

        Raises:
            ConfigError: As `load`.
        """
        return [rule for rule in self._all() if not self._counts(rule)]

    def _counts(self, rule: PermissionRule) -> bool:
        return self._trusted or rule.effect is not Effect.ALLOW or rule.scope not in _PROJECT

    def _all(self) -> list[PermissionRule]:
        rules = list(self._flags)
        for file in self._files:
            text = read_settings(file.path, shown=file.shown)
            if text is not None:
                rules += rules_of(parse_yaml(text, source=file.shown), scope=file.scope, source=file.shown)
        return sorted(rules, key=lambda rule: _ORDER.index(rule.scope))

    def _remember(self, rule: PermissionRule) -> None:
        local = next((file for file in self._files if file.scope is Scope.LOCAL_PROJECT), None)
        if local is None:
            raise ConfigError("there is no workspace whose settings could keep the rule")
        add_allow(local.path, format_rule(rule), shown=local.shown)
