"""What a call that fetches shows to patterns: its URL in the form that is sent, and the host."""

from hilt.core.address import UrlRefusedError, validate_media_url
from hilt.core.permission import Subject, Subjects


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
