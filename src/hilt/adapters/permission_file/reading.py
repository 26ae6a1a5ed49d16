"""The rules that one settings file holds."""

from collections.abc import Mapping
from typing import Final

from hilt.core.errors import ConfigError
from hilt.core.permission import Effect, PermissionRule, Scope
from hilt.core.rule_text import parse_rule
from hilt.core.yaml_document import Located

SETTINGS_MAX_BYTES: Final = 4 * 1024 * 1024


def read_settings(path: str, *, shown: str) -> str | None:
    """Return the text of a settings file, None where there is none.

    Raises:
        ConfigError: It cannot be read, is too large, or is no UTF-8.
    """
    try:
        with open(path, "rb") as file:
            raw = file.read(SETTINGS_MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise ConfigError(f"cannot be read: {exc.strerror}", source=shown) from None
    if len(raw) > SETTINGS_MAX_BYTES:
        raise ConfigError(f"is larger than {SETTINGS_MAX_BYTES // 1024 // 1024} MiB", source=shown)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = raw.count(b"\n", 0, exc.start) + 1
        raise ConfigError("is not UTF-8 text", source=shown, line=line) from None


def rules_of(document: Located, *, scope: Scope, source: str) -> list[PermissionRule]:
    """Return the rules under `permissions` of a settings document: allows, asks, denies, each as written.

    Raises:
        ConfigError: The part is not of its shape, or a rule does not parse; names source, line and column.
    """
    permissions = _table(document, source, "").get("permissions")
    if permissions is None:
        return []
    table = _table(permissions, source, "permissions")
    rules: list[PermissionRule] = []
    for name, value in table.items():
        key = f"permissions.{name}"
        if name not in tuple(Effect):
            known = ", ".join(Effect)
            raise ConfigError(f"unknown key; known are {known}", source=source, line=value.line, key=key)
        rules += _rules(value, Effect(name), scope=scope, source=source)
    return rules


def _rules(value: Located, effect: Effect, *, scope: Scope, source: str) -> list[PermissionRule]:
    if value.value is None:
        return []
    key = f"permissions.{effect}"
    if not isinstance(value.value, tuple):
        raise ConfigError("expected a list of rules", source=source, line=value.line, key=key)
    rules: list[PermissionRule] = []
    for item in value.value:
        if not isinstance(item.value, str):
            raise ConfigError("expected a rule as text", source=source, line=item.line, key=key)
        rules.append(
            parse_rule(item.value, effect=effect, scope=scope, source=source, line=item.line, column=item.column)
        )
    return rules


def _table(node: Located, source: str, key: str) -> Mapping[str, Located]:
    if node.value is None:
        return {}
    if not isinstance(node.value, Mapping):
        raise ConfigError("expected a table", source=source, line=node.line, key=key or None)
    return node.value
