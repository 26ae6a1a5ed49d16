"""Paths as rules see them: freed of `.` and `..`, and relative to the workspace where they lie in it."""

from hilt.core.pattern import STAR, escape, tokens


def path_text(path: str, *, root: str = "", home: str = "") -> str:
    """Return the spelling of a path that patterns are held against; purely lexical, no link is followed.

    `root` and `home` are absolute; without `root` a relative path stays relative. The root itself is `.`.
    """
    whole = absolute(path, root=root, home=home)
    base = root.rstrip("/")
    if base and whole == base:
        return "."
    if base and whole.startswith(base + "/"):
        return whole[len(base) + 1 :]
    return whole


def absolute(path: str, *, root: str = "", home: str = "") -> str:
    """Return the path below `root`, freed of `.`, `..` and doubled slashes; `~/` means a given `home`."""
    if home and (path == "~" or path.startswith("~/")):
        path = home.rstrip("/") + path[1:]
    if not path.startswith("/") and root:
        path = f"{root}/{path}"
    lead = "/" if path.startswith("/") else ""
    kept: list[str] = []
    for part in path.split("/"):
        if part in {"", "."}:
            continue
        if part != "..":
            kept.append(part)
        elif kept and kept[-1] != "..":
            if STAR in tokens(kept[-1]):
                kept.append(part)
            else:
                kept.pop()
        elif not lead:
            kept.append(part)
    return lead + "/".join(kept) or "."


def pattern_path(pattern: str, *, root: str = "", home: str = "") -> str:
    """Return a rule's path pattern normalised like a path: relative to the workspace, or absolute.

    One that was written absolute stays so, since it may cover more than the workspace.
    """
    if pattern.startswith(("/", "~/")) or pattern == "~":
        return absolute(pattern, home=escape(home))
    plain = absolute(pattern)
    if plain == ".." or plain.startswith("../"):
        return absolute(pattern, root=escape(root))
    return plain
