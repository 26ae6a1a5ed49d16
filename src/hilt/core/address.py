"""Which URLs, hosts and addresses may be fetched when a server, a model or a caller names them (results.md section 8).

One strict parser reads the host for the check, the dial, the TLS name and the Host header. Nothing is folded into
a form that is allowed: what browsers and libraries read in different ways is refused.
"""

import re
import unicodedata
from collections.abc import Collection
from enum import StrEnum
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final
from urllib.parse import quote

import idna

from hilt.core.frozen import frozen

URL_MAX_BYTES: Final = 8192
HOST_MAX_CHARS: Final = 253

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_REFUSED_SUFFIXES: Final = (
    ".localhost",
    ".localdomain",
    ".local",
    ".internal",
    ".intranet",
    ".lan",
    ".home",
    ".home.arpa",
    ".corp",
    ".private",
)
_REFUSED_V4: Final = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's host, public by its range
    )
)
_ACCEPTED_V6: Final = IPv6Network("2000::/3")
_REFUSED_V6: Final = tuple(
    IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
_HOLDS_V4: Final = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
# The upper half of the interface identifier, with and without the bit for "globally unique".
_ISATAP: Final = frozenset({0x0000_5EFE, 0x0200_5EFE})

# https://fetch.spec.whatwg.org/#bad-port, and 0.
_BAD_PORTS: Final = frozenset(
    {
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104),
        *(109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515),
        *(526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049),
        *(3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    }
)

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*\Z")
_PORT = re.compile(r"[0-9]{1,5}\Z")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\Z")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)\Z")
_DECIMAL = re.compile(r"(?:0|[1-9][0-9]{0,2})\Z")
# The dot segments of a path, also written with percent signs, as every client resolves them before sending.
_DOT: Final = frozenset({".", "%2e"})
_DOTS: Final = frozenset({"..", ".%2e", "%2e.", "%2e%2e"})
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


class AddressRule(StrEnum):
    """The rule that a refused URL breaks, in words for the model."""

    LENGTH = f"a URL has at most {URL_MAX_BYTES} bytes"
    CHARACTER = "a URL has no space, control or invisible character and no backslash"
    ABSOLUTE = "a URL is absolute: scheme, ://, host"
    SCHEME = "this scheme is not fetched"
    USER_INFO = "a URL holds no user or password"
    PORT = "this port is not fetched from"
    HOST = "this is no host name"
    NUMBER = "an IPv4 address is written as four plain decimal numbers"
    IPV6 = "an IPv6 address is written plainly, without zone"
    LOCAL_NAME = "local host names are not fetched from"
    ADDRESS = "only public addresses are fetched from"


class UrlRefusedError(ValueError):
    """A URL or address may not be fetched; `rule` says which rule it breaks, never what a name resolved to."""

    def __init__(self, rule: AddressRule) -> None:
        super().__init__(str(rule))
        self.rule = rule


@frozen
class MediaUrl:
    """A URL that passed, in the one form that is sent.

    `host` is a lower-case ASCII name without a dot at its end, or an address without brackets; `target` is path and
    query in ASCII with dot segments resolved. There is no fragment.
    """

    scheme: str
    host: str
    port: int
    target: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == DEFAULT_PORTS.get(self.scheme) else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.target}"


def validate_media_url(url: str, *, schemes: Collection[str] = ("https",)) -> MediaUrl:
    """Return the URL in the form in which it may be sent; addresses that a name resolves to are for the dialer.

    Raises:
        UrlRefusedError: It breaks a rule of results.md section 8.
    """
    check_characters(url)
    scheme, separator, rest = url.partition("://")
    if not separator or not _SCHEME.match(scheme):
        raise UrlRefusedError(AddressRule.ABSOLUTE)
    scheme = scheme.lower()
    if scheme not in schemes:
        raise UrlRefusedError(AddressRule.SCHEME)
    cut = next((place for place, char in enumerate(rest) if char in "/?#"), len(rest))
    host, port = _authority(rest[:cut])
    return MediaUrl(
        scheme=scheme,
        host=host,
        port=DEFAULT_PORTS.get(scheme, 0) if port is None else port,
        target=_target(rest[cut:]),
    )


def check_characters(url: str) -> None:
    """Check length and characters alone: what must hold before anything takes a URL apart.

    Raises:
        UrlRefusedError: It is too long, or has a character that some reader would drop, move or turn into another.
    """
    if len(url) > URL_MAX_BYTES or len(url.encode("utf-8", "surrogatepass")) > URL_MAX_BYTES:
        raise UrlRefusedError(AddressRule.LENGTH)
    if any(char == "\\" or unicodedata.category(char) in _UNSEEN for char in url):
        raise UrlRefusedError(AddressRule.CHARACTER)


def check_address(address: str) -> None:
    """Check one address of a resolver's answer, or of a URL.

    Raises:
        UrlRefusedError: It is none, or not public.
    """
    try:
        public = _is_public_v6(IPv6Address(address)) if ":" in address else _is_public_v4(IPv4Address(address))
    except AddressValueError:
        public = False
    if not public:
        raise UrlRefusedError(AddressRule.ADDRESS)


def is_address(host: str) -> bool:
    """Whether the host of a `MediaUrl` is an address, so that there is nothing to resolve."""
    return ":" in host or _NUMBER.match(host.rpartition(".")[2]) is not None


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _REFUSED_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    if address.scope_id is not None:
        return False
    if any(address in network for network in _HOLDS_V4):
        return _is_public_v4(IPv4Address(int(address) & 0xFFFF_FFFF))
    if address not in _ACCEPTED_V6 or any(address in network for network in _REFUSED_V6):
        return False
    return (int(address) >> 32) & 0xFFFF_FFFF not in _ISATAP


def _authority(text: str) -> tuple[str, int | None]:
    """Return host and port of what stands between `://` and the path."""
    if "@" in text:
        raise UrlRefusedError(AddressRule.USER_INFO)
    if "%" in text:
        raise UrlRefusedError(AddressRule.IPV6 if text.startswith("[") else AddressRule.HOST)
    if text.startswith("["):
        inner, closed, rest = text[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise UrlRefusedError(AddressRule.IPV6)
        return _ipv6(inner), _port(rest[1:])
    host, _, port = text.partition(":")
    if not host:
        raise UrlRefusedError(AddressRule.ABSOLUTE)
    return _host(host), _port(port)


def _port(text: str) -> int | None:
    if not text:
        return None
    port = int(text) if _PORT.match(text) else 0
    if port in _BAD_PORTS or port > 0xFFFF:
        raise UrlRefusedError(AddressRule.PORT)
    return port


def _ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except AddressValueError:
        raise UrlRefusedError(AddressRule.IPV6) from None
    check_address(str(address))
    return str(address)


def _host(text: str) -> str:
    if len(text) > HOST_MAX_CHARS + 1:
        raise UrlRefusedError(AddressRule.HOST)
    labels = [_label(label) for label in text.removesuffix(".").split(".")]
    host = ".".join(labels)
    if len(host) > HOST_MAX_CHARS:
        raise UrlRefusedError(AddressRule.HOST)
    if _NUMBER.match(labels[-1]):
        if len(labels) != 4 or not all(_DECIMAL.match(label) and int(label) <= 255 for label in labels):
            raise UrlRefusedError(AddressRule.NUMBER)
        check_address(host)
    elif len(labels) == 1 or host.endswith(_REFUSED_SUFFIXES):
        raise UrlRefusedError(AddressRule.LOCAL_NAME)
    return host


def _label(text: str) -> str:
    """Return one label in ASCII: lower case, or by IDNA 2008 without mapping."""
    if not text.isascii():
        try:
            return idna.alabel("".join(char.lower() if char.isascii() else char for char in text)).decode("ascii")
        except UnicodeError:
            raise UrlRefusedError(AddressRule.HOST) from None
    label = text.lower()
    if not _LABEL.match(label):
        raise UrlRefusedError(AddressRule.HOST)
    return label


def _target(text: str) -> str:
    """Return path and query as they are sent: dot segments resolved, what is not ASCII percent-encoded."""
    path, mark, query = text.partition("#")[0].partition("?")
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment.lower() in _DOTS:
            kept = kept[:-1]
        elif segment.lower() not in _DOT:
            kept.append(segment)
    if segments and segments[-1].lower() in _DOT | _DOTS:
        kept.append("")
    return quote(f"/{'/'.join(kept)}{mark}{query}", safe="!#$%&'()*+,/:;=?@[]~")
