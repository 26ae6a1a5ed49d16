"""Text of uncertain origin as the model gets it: between marks that the text itself cannot hold."""

import hashlib


def framed(head: str, text: str, *, kind: str, warning: str) -> str:
    """Return `head` in brackets, the warning, and the text between two marks made of `kind` and its own digest.

    Nobody can write a text that holds its own mark, so that what comes behind the last one is not of that origin.
    """
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"[{head}]\n{warning}\n<{kind} {mark}>\n{text}\n</{kind} {mark}>"
