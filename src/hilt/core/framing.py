"""Text of uncertain origin as the model gets it: between marks that the text itself cannot hold."""

import hashlib


def between_marks(tag: str, text: str) -> str:
    """Return the text between an opening and a closing mark made from its own digest.

    Nobody can write a text that holds its own mark, so that what comes behind the last one is not of that origin.
    """
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"<{tag} {mark}>\n{text}\n</{tag} {mark}>"


def framed(head: str, text: str, *, kind: str, warning: str) -> str:
    """Return `head` in brackets, the warning, and the text between marks of its `kind`."""
    return f"[{head}]\n{warning}\n{between_marks(kind, text)}"
