"""Which calls of a turn run together: maximal runs of reads, and every other call alone."""

from collections.abc import Sequence

from hilt.core.pattern import matches_name


def phases(reads: Sequence[bool]) -> list[list[int]]:
    """Cut positions into phases, in order: `R1 R2 M1 R3 R4` gives `{R1 R2}`, `{M1}`, `{R3 R4}`."""
    out: list[list[int]] = []
    open_ = False
    for position, read in enumerate(reads):
        if read and open_:
            out[-1].append(position)
        else:
            out.append([position])
        open_ = read
    return out


def best_match(name: str, patterns: Sequence[str]) -> str | None:
    """Return the pattern that fits a name best: the name itself, else the glob with most literal characters."""
    if name in patterns:
        return name
    fitting = [pattern for pattern in patterns if matches_name(pattern, name)]
    return max(fitting, key=lambda pattern: (len(pattern.replace("*", "")), pattern), default=None)
