"""Which values are secrets: known keys and tokens of the environment, and whatever the settings expand."""

from collections.abc import Iterable, Mapping

from hilt.core.redaction import Redactor

ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIAL", "_CREDENTIALS")
SHORTEST = 6


def secret_values(environment: Mapping[str, str], further: Iterable[str] = ()) -> frozenset[str]:
    """Return the values of variables with a telling name, and further ones, of 6 characters or more.

    A value that is an absolute path is a place where a secret lies, and no secret.
    """
    named = (
        value for name, value in environment.items() if name.upper().endswith(ENDINGS) and not value.startswith("/")
    )
    return frozenset(value for value in (*named, *further) if len(value) >= SHORTEST)


def redactor(environment: Mapping[str, str], further: Iterable[str] = ()) -> Redactor:
    """Return the redactor of the process."""
    return Redactor(secret_values(environment, further))
