"""What `.gitignore` files name, decided in linear time whatever their patterns."""

from collections.abc import Callable
from dataclasses import dataclass

import re2
from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

IGNORE_FILE = ".gitignore"
IGNORE_MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rule:
    matches: Callable[[bytes], object]
    ignores: bool


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one directory: its own after those of the directories above."""

    layers: tuple[tuple[str, tuple[_Rule, ...]], ...] = ()

    def entering(self, directory: str, content: bytes | None) -> "IgnoreRules":
        """Return the rules below `directory`, whose `.gitignore` holds `content` (None: has no such file)."""
        rules = _parsed(content) if content else ()
        if not rules:
            return self
        prefix = "" if directory == "." else f"{directory}/"
        return IgnoreRules((*self.layers, (prefix, rules)))

    def ignores(self, path: str, *, directory: bool) -> bool:
        """Return whether a path below the directory is left out: the last rule that matches decides."""
        for prefix, rules in reversed(self.layers):
            name = f"{path[len(prefix) :]}{'/' if directory else ''}".encode("utf-8", "surrogateescape")
            for rule in reversed(rules):
                if rule.matches(name):
                    return rule.ignores
        return False


def _parsed(content: bytes) -> tuple[_Rule, ...]:
    lines = content[:IGNORE_MAX_BYTES].decode("utf-8", "replace").removeprefix("\ufeff").splitlines()
    rules = [rule for line in lines if (rule := _rule(line)) is not None]
    return tuple(rules)


def _rule(line: str) -> _Rule | None:
    """Return the rule of one line; a comment, a blank and what git does not understand are none."""
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1  # names are bytes
    try:
        regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
        if regex is None or ignores is None:
            return None
        text = regex if isinstance(regex, bytes) else regex.encode()
        return _Rule(re2.compile(text, options).search, ignores)
    except (GitIgnorePatternError, re2.error, UnicodeEncodeError):
        return None
