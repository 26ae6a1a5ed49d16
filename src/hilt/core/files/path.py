"""Paths as text: freed of `.` and `..`, told apart by root. Nothing here looks at a disk."""

from collections.abc import Sequence

SYSTEM_ROOTS = ("/proc", "/sys", "/dev")
"""Trees that show the machine and not files; no workspace reaches into them."""


def normalised(path: str) -> str:
    """Return the path without `.`, `..`, doubled or trailing slashes; `..` above `/` vanishes.

    A relative path that climbs above its start keeps its leading `..`; the start itself is `.`.
    """
    absolute = path.startswith("/")
    parts: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part != ".." or not absolute:
            parts.append(part)
    text = "/".join(parts)
    return f"/{text}" if absolute else text or "."


def joined(root: str, path: str) -> str:
    """Return `path` made absolute against `root`, normalised."""
    return normalised(path if path.startswith("/") else f"{root}/{path}")


def below(root: str, path: str) -> str | None:
    """Return the normalised absolute `path` relative to `root` (`.` for the root itself), None outside it."""
    if path == root:
        return "."
    prefix = root if root.endswith("/") else f"{root}/"
    return path[len(prefix) :] if path.startswith(prefix) else None


def is_system(path: str) -> bool:
    """Return whether the normalised absolute path lies in a tree of `SYSTEM_ROOTS`."""
    return any(below(root, path) is not None for root in SYSTEM_ROOTS)


def split_last(path: str) -> tuple[str, str]:
    """Return directory (`.` where there is none) and last name of a normalised path."""
    directory, slash, name = path.rpartition("/")
    if not slash:
        return ".", path
    return directory or "/", name


def child(directory: str, name: str) -> str:
    """Return the path of `name` in a normalised directory; `.` is where paths begin and is left out."""
    return name if directory == "." else f"{directory.rstrip('/')}/{name}"


def printable(text: str) -> str:
    """Return a name that is safe to print: bytes that are not UTF-8 and line ends become marks."""
    clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join("�" if ord(c) < 0x20 or ord(c) == 0x7F else c for c in clean)


def nearest(name: str, names: Sequence[str], *, count: int = 3) -> tuple[str, ...]:
    """Return up to `count` of the names that look like `name`, the most alike first, case ignored."""
    wanted = name.casefold()
    scored = sorted((-_likeness(wanted, other.casefold()), other) for other in names)
    return tuple(other for score, other in scored[:count] if score <= -0.5)


def _likeness(one: str, two: str) -> float:
    """Return 0 to 1: shared pairs of letters, and more where one name holds the other."""
    if one == two:
        return 1.0
    pairs_one = {f"^{one}$"[i : i + 2] for i in range(len(one) + 1)}
    pairs_two = {f"^{two}$"[i : i + 2] for i in range(len(two) + 1)}
    shared = 2 * len(pairs_one & pairs_two) / (len(pairs_one) + len(pairs_two))
    holds = min(len(one), len(two)) > 3 and (one in two or two in one)
    return max(shared, 0.6) if holds else shared
