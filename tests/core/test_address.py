"""Which URLs and addresses may be fetched: the whole list, each rule of its own, and other parsers beside ours."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hilt
from hilt.core.address import AddressRule, UrlRefusedError, check_address, is_address, validate_media_url
from tests.core.address_list import Listed, listed

LINES = listed()
# Their form is fine: what they resolve to, or redirect to, is for the dialer (tests/adapters/test_fetch_http.py).
RESOLVED = {119}


def rule_of(url: str) -> AddressRule | None:
    """Return the rule that the URL breaks."""
    try:
        validate_media_url(url)
    except UrlRefusedError as exc:
        return exc.rule
    return None


def passes(address: str) -> bool:
    """Whether the address may be dialled."""
    try:
        check_address(address)
    except UrlRefusedError:
        return False
    return True


def test_the_list_is_whole() -> None:
    assert [line.number for line in LINES] == list(range(1, 156))


@pytest.mark.req("RES-73", "RES-74", "RES-75", "RES-76", "RES-77", "RES-78", "RES-79", "RES-80", "RES-81")
@pytest.mark.parametrize("line", LINES, ids=str)
def test_each_url_of_the_list_is_judged_as_it_says(line: Listed) -> None:
    by_form = line.expected == "deny" and line.group not in ("dns", "redirect") and line.number not in RESOLVED
    if line.group == "dns" and line.answers and line.expected == "deny":
        assert not all(passes(address) for address in line.answers[0])
    assert (rule_of(line.url) is not None) is by_form


@pytest.mark.req("RES-73")
@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://example.com/", AddressRule.SCHEME),
        ("ui://app/x", AddressRule.SCHEME),
        ("https:example.com", AddressRule.ABSOLUTE),
        ("/x", AddressRule.ABSOLUTE),
        ("https:///x", AddressRule.ABSOLUTE),
        ("https://:443/", AddressRule.ABSOLUTE),
        ("https://a@example.com/", AddressRule.USER_INFO),
        ("https://@example.com/", AddressRule.USER_INFO),
        ("https://example.com/a\\b", AddressRule.CHARACTER),
        ("https://example.com/a b", AddressRule.CHARACTER),
        ("https://example.com/\u200b", AddressRule.CHARACTER),
        ("https://example.com/\u00a0", AddressRule.CHARACTER),
        ("https://example.com/\u2028", AddressRule.CHARACTER),
        ("https://example.com/\u202e", AddressRule.CHARACTER),
        ("https://example.com/\x7f", AddressRule.CHARACTER),
        ("https://example.com/\ud800", AddressRule.CHARACTER),
        ("https://example%2ecom/", AddressRule.HOST),
        ("https://example..com/", AddressRule.HOST),
        ("https://example.com../", AddressRule.HOST),
        ("https://-a.example/", AddressRule.HOST),
        ("https://a!b.example/", AddressRule.HOST),
        ("https://./", AddressRule.HOST),
        (f"https://{'a' * 64}.example/", AddressRule.HOST),
        (f"https://{'a.' * 130}example/", AddressRule.HOST),
        (f"https://{'ü.' * 60}example/", AddressRule.HOST),
        ("https://example.com:443:443/", AddressRule.PORT),
        ("https://example.com:+443/", AddressRule.PORT),
        ("https://example.com:\uff14\uff14\uff13/", AddressRule.PORT),
    ],
)
def test_a_url_of_another_form_is_refused_by_the_rule_it_breaks(url: str, rule: AddressRule) -> None:
    assert rule_of(url) is rule


@pytest.mark.req("RES-73")
def test_a_url_has_at_most_8192_bytes() -> None:
    room = 8192 - len("https://example.com/")
    assert rule_of("https://example.com/" + "a" * room) is None
    assert rule_of("https://example.com/" + "a" * (room + 1)) is AddressRule.LENGTH
    assert rule_of("https://example.com/" + "ü" * (room // 2 + 1)) is AddressRule.LENGTH


@pytest.mark.req("RES-74")
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "printer",
        "a.localhost",
        "a.localdomain",
        "a.local",
        "a.internal",
        "a.intranet",
        "a.lan",
        "a.home",
        "a.home.arpa",
        "a.corp",
        "a.private",
        "A.LOCAL.",
    ],
)
def test_local_names_are_refused(host: str) -> None:
    assert rule_of(f"https://{host}/") is AddressRule.LOCAL_NAME


@pytest.mark.req("RES-75")
@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "1.2.3.4.5", "1.2.3.04", "1.2.3.256", "1", "0x", "example.0x1f"])
def test_a_host_that_ends_in_a_number_is_a_plain_address_or_refused(host: str) -> None:
    assert rule_of(f"https://{host}/") is AddressRule.NUMBER


@pytest.mark.req("RES-76")
@pytest.mark.parametrize(
    "host",
    ["\uff25xample.com", "example\u2177.com", "a\u3002example", "\u210c.example", "B\u00dcCHER.example", "\u2615.us"],
)
def test_international_names_are_not_folded(host: str) -> None:
    assert rule_of(f"https://{host}/") is AddressRule.HOST


@pytest.mark.req("RES-76")
def test_an_international_name_is_sent_in_ascii() -> None:
    assert validate_media_url("https://Bücher.Example/").host == "xn--bcher-kva.example"
    assert validate_media_url("https://例え.テスト/").host == "xn--r8jz45g.xn--zckzah"


@pytest.mark.req("RES-77")
@pytest.mark.parametrize(
    "host", ["[fe80::1%25eth0]", "[fe80::1%eth0]", "[v1.a:b]", "[::1", "[::1]x", "[]", "[1.2.3.4]"]
)
def test_addresses_with_zones_and_future_forms_are_refused(host: str) -> None:
    assert rule_of(f"https://{host}/") is AddressRule.IPV6


@pytest.mark.req("RES-78")
@pytest.mark.parametrize("port", ["0", "22", "6667", "10080", "65536", "99999", "100000"])
def test_bad_ports_are_refused(port: str) -> None:
    assert rule_of(f"https://example.com:{port}/") is AddressRule.PORT


@pytest.mark.req("RES-79")
@pytest.mark.parametrize(
    "network",
    [
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
        *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4", "168.63.129.16/32"),
    ],
)
def test_refused_networks_are_refused_to_their_edges(network: str) -> None:
    edges = IPv4Network(network)
    assert not passes(str(edges[0]))
    assert not passes(str(edges[-1]))


@pytest.mark.req("RES-79")
@pytest.mark.parametrize(
    "address", ["1.0.0.0", "9.255.255.255", "172.32.0.0", "168.63.129.17", "192.0.1.0", "223.255.255.255"]
)
def test_addresses_beside_the_refused_networks_pass(address: str) -> None:
    assert passes(address)


@pytest.mark.req("RES-80")
@given(st.integers(min_value=0, max_value=2**128 - 1))
def test_of_ipv6_only_the_global_network_passes(number: int) -> None:
    address = IPv6Address(number)
    holds = any(address in IPv6Network(text) for text in ("::ffff:0:0/96", "64:ff9b::/96"))
    assert not passes(str(address)) or holds or address in IPv6Network("2000::/3")


@pytest.mark.req("RES-80")
@pytest.mark.parametrize(
    "address",
    ["2001::1", "2001:db8::1", "2002::1", "2620:4f:8000::1", "3fff::1", "2606::200:5efe:102:304", "fe80::1%lo"],
)
def test_of_the_global_network_the_special_parts_are_refused(address: str) -> None:
    assert not passes(address)


@pytest.mark.req("RES-81")
@given(st.integers(min_value=0, max_value=2**32 - 1))
def test_an_ipv4_address_inside_an_ipv6_address_is_judged_itself(number: int) -> None:
    inner = IPv4Address(number)
    for prefix in ("::ffff:0:0", "64:ff9b::"):
        assert passes(str(IPv6Address(int(IPv6Address(prefix)) + number))) is passes(str(inner))


@pytest.mark.req("RES-79")
@pytest.mark.parametrize("address", ["", "example.com", "1.2.3", "1.2.3.4/8", "::g", "01.2.3.4"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert not passes(address)


def test_the_rule_is_public() -> None:
    assert hilt.validate_media_url is validate_media_url


def test_the_form_that_is_sent_has_neither_fragment_nor_dot_segments() -> None:
    url = validate_media_url("HTTPS://Example.COM.:443/a/./b/../%2E%2e/c/..?x=ü y".replace(" ", "+") + "#frag")
    assert str(url) == "https://example.com/?x=%C3%BC+y"
    assert str(validate_media_url("https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:8443")) == (
        "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:8443/"
    )
    assert str(validate_media_url("http://example.com?q#f", schemes=("http", "https"))) == "http://example.com/?q"


def test_an_address_needs_no_resolver() -> None:
    assert is_address(validate_media_url("https://1.1.1.1/").host)
    assert is_address(validate_media_url("https://[2606:2800::1]/").host)
    assert not is_address(validate_media_url("https://1.example/").host)


@pytest.mark.req("RES-73")
@given(st.text(alphabet="abc.:/?#@[]%\\-_~0123456789xX ü\t", max_size=40), st.sampled_from(["https://", "https:", ""]))
def test_other_parsers_read_the_host_that_was_checked(text: str, head: str) -> None:
    try:
        url = validate_media_url(head + text)
    except UrlRefusedError:
        return
    theirs = httpx2.URL(str(url))
    assert theirs.raw_host.decode("ascii") == url.host
    assert theirs.raw_path.decode("ascii") == url.target
    assert urlsplit(str(url)).hostname == url.host
    assert str(validate_media_url(str(url))) == str(url)
