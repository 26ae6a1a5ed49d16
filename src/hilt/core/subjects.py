"""What a call shows to patterns where its tool does not say: every top-level argument, and no unnamed one."""

from collections.abc import Iterable, Mapping

from hilt.core.address import UrlRefusedError, validate_media_url
from hilt.core.permission import Subject, Subjects
from hilt.core.tool import canonical_json


def argument_text(value: object) -> str:
    """Return the text of one argument: text as it is, anything else as compact JSON with sorted keys."""
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else canonical_json(value)


def argument_subjects(arguments: Mapping[str, object], known: Iterable[str] = ()) -> Subjects:
    """Return the subjects of a call; `known` are the names of the tool's arguments, given or not."""
    named: dict[str, tuple[Subject, ...]] = dict.fromkeys(known, ())
    for key, value in arguments.items():
        named[key] = (Subject(text=argument_text(value)),)
    return Subjects(named=named)


def url_subjects(key: str, url: str) -> Subjects:
    """Return what patterns see of a call that fetches a URL: the URL under `key` and unnamed, and its host.

    Both stand in the form that is sent, so that no spelling slips by; denies and asks are held against the spelling
    of the call too. The host is absent where the URL is refused anyway.
    """
    try:
        sent = validate_media_url(url, schemes=("http", "https"))
    except UrlRefusedError:
        whole = Subject(text=url)
        return Subjects(unnamed=(whole,), named={key: (whole,), "host": ()})
    authority = url.partition("://")[2].replace("?", "/").replace("#", "/").partition("/")[0]
    whole = Subject(text=str(sent), also=(url,))
    host = Subject(text=sent.host, also=(authority.partition(":")[0],))
    return Subjects(unnamed=(whole,), named={key: (whole,), "host": (host,)})
