"""What an entry of the kit is: its name, where it fits, its kinds and its settings, all as data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hilt.faults.core import Server
from hilt.faults.log import Log
from hilt.faults.protocol import Era, Transport
from hilt.faults.setup import Setup, UsageError

BOTH: Final = (Era.HANDSHAKE, Era.STATELESS)
HANDSHAKE: Final = (Era.HANDSHAKE,)
STATELESS: Final = (Era.STATELESS,)
ALL: Final = (Transport.HTTP, Transport.SSE, Transport.STDIO)
HTTP: Final = (Transport.HTTP,)
SSE: Final = (Transport.SSE,)
STDIO: Final = (Transport.STDIO,)
NETWORK: Final = (Transport.HTTP, Transport.SSE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way in which an entry misbehaves, chosen by the setting `kind`."""

    name: str
    eras: tuple[Era, ...] = BOTH
    transports: tuple[Transport, ...] = ALL


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A value that `--set NAME=VALUE` changes; `default` is its text."""

    name: str
    default: str
    summary: str


COMMON: Final = (
    Setting(name="answers", default="json", summary="how calls are answered over HTTP: json or sse"),
    Setting(name="revision", default="2025-11-25", summary="the newest revision that the handshake agrees to"),
    Setting(name="seed", default="1", summary="where random choices begin"),
)

AFTER: Final = Setting(name="after", default="0", summary="calls that are answered well before")
ONCE: Final = Setting(name="times", default="1", summary="calls that are hit then; 0: all")
ALWAYS: Final = Setting(name="times", default="0", summary="calls that are hit then; 0: all")
CALLS_ONCE: Final = (AFTER, ONCE)
CALLS_ALWAYS: Final = (AFTER, ALWAYS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One way to run an entry; `kind` is empty where the entry has but one."""

    entry: str
    transport: Transport
    era: Era
    kind: str = ""

    @property
    def id(self) -> str:
        """A name for reports."""
        return "-".join(part for part in (self.entry, self.kind, self.transport, self.era) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One hostile server. `section` and `ids` are those of the specification of the kit."""

    name: str
    section: int
    ids: tuple[str, ...]
    summary: str
    server: type[Server]
    eras: tuple[Era, ...] = BOTH
    transports: tuple[Transport, ...] = ALL
    kinds: tuple[Kind, ...] = ()
    settings: tuple[Setting, ...] = ()

    def fits(self, transport: Transport, era: Era, kind: str = "") -> bool:
        """Say whether the entry can be run so; SSE knows the handshake era alone."""
        if transport not in self.transports or era not in self.eras:
            return False
        if transport is Transport.SSE and era is Era.STATELESS:
            return False
        return not kind or any(
            kind == known.name and transport in known.transports and era in known.eras for known in self.kinds
        )

    def cases(self) -> Iterator[Case]:
        """Yield every way to run the entry: each transport, era and kind that go together."""
        for transport in Transport:
            for era in Era:
                for kind in [known.name for known in self.kinds] or [""]:
                    if self.fits(transport, era, kind):
                        yield Case(entry=self.name, transport=transport, era=era, kind=kind)

    def defaults(self, transport: Transport, eras: tuple[Era, ...]) -> dict[str, str]:
        """Return every setting with its default; `kind` is the first that fits."""
        found = {setting.name: setting.default for setting in (*COMMON, *self.settings)}
        for known in reversed(self.kinds):
            if any(self.fits(transport, era, known.name) for era in eras):
                found["kind"] = known.name
        return found


def set_up(
    entry: Entry,
    *,
    transport: Transport,
    eras: tuple[Era, ...],
    settings: Mapping[str, str],
    log_path: Path | None,
) -> Setup:
    """Check how an entry is to be run and return its set-up.

    Raises:
        UsageError: The entry does not fit, a setting is unknown, or one that is a number is given a text.
    """
    fitting = tuple(era for era in eras if entry.fits(transport, era, settings.get("kind", "")))
    if not fitting:
        ways = ", ".join(case.id for case in entry.cases())
        raise UsageError(f"{entry.name!r} does not fit this transport, era and kind; it runs as: {ways}")
    known = entry.defaults(transport, fitting)
    unknown = sorted(set(settings) - set(known))
    if unknown:
        raise UsageError(f"{entry.name!r} has no setting {unknown[0]!r}; it has: {', '.join(sorted(known))}")
    for name, value in settings.items():
        if name != "kind" and _is_number(known[name]) and not _is_number(value):
            raise UsageError(f"the setting {name!r} is a number, not {value!r}")
    log = Log(log_path)
    return Setup(
        entry=entry.name,
        transport=transport,
        eras=fitting,
        log=log,
        settings={**known, **settings},
        log_path=log_path,
    )


def _is_number(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False
