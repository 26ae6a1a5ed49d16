"""The list of URLs with verdicts, `inputs/ssrf-urls.txt`, whose head explains its columns."""

from dataclasses import dataclass
from pathlib import Path

_LIST = Path(__file__).parent / "inputs" / "ssrf-urls.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One line: `answers` are what the resolver says, one tuple a query; `location` is where the server redirects."""

    number: int
    expected: str
    group: str
    answers: tuple[tuple[str, ...], ...]
    url: str
    location: str

    def __str__(self) -> str:
        return f"{self.number}-{self.group}-{self.expected}"


def listed() -> list[Listed]:
    """Return all lines in order."""
    lines = [line for line in _LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [_read(line) for line in lines]


def _read(line: str) -> Listed:
    number, expected, group, dns, url = line.split("\t")[:5]
    first, _, location = url.encode("ascii").decode("unicode_escape").partition(" => ")
    answers = () if dns in ("-", "NXDOMAIN") else tuple(tuple(answer.split(",")) for answer in dns.split("|"))
    return Listed(number=int(number), expected=expected, group=group, answers=answers, url=first, location=location)
