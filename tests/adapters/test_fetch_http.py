"""The fetcher against a public web on loopback: what it opens, what it sends, where it stops."""

import gzip
import socket
import struct
import zlib
from pathlib import Path

import anyio
import anyio.abc
import httpcore2
import pytest

from hilt.adapters.fetch_http import FetchLimits, GuardedBackend, HttpFetcher
from hilt.adapters.fetch_http.guard import SystemResolver
from hilt.core.address import AddressRule, UrlRefusedError
from hilt.core.fetched import Fetched
from hilt.ports.fetch import FetchFailedError, FetchRequest
from tests.core.address_list import Listed, listed
from tests.web.authority import client_context
from tests.web.world import PUBLIC, Asked, World, answer, redirect, world

OK = answer("hello")
BOTH = ("http", "https")


async def fails(web: World, url: str, *, limits: FetchLimits | None = None, redirects_max: int = 10) -> str:
    """Return why fetching the URL fails."""
    with pytest.raises(FetchFailedError) as caught, anyio.fail_after(20):
        await web.fetcher(limits).fetch(FetchRequest(url=url, redirects_max=redirects_max))
    return caught.value.text


async def fetched(web: World, url: str, *, limits: FetchLimits | None = None) -> Fetched:
    """Return what fetching the URL gives."""
    with anyio.fail_after(20):
        return await web.fetcher(limits).fetch(FetchRequest(url=url, schemes=BOTH))


@pytest.mark.req("RES-68", "RES-70", "RES-73", "RES-79", "RES-80", "RES-81", "RES-82", "RES-83", "RES-84")
@pytest.mark.parametrize("line", listed(), ids=str)
async def test_each_url_of_the_list_is_fetched_or_refused_before_a_socket_is_opened(
    line: Listed, tmp_path: Path
) -> None:
    async with world(tmp_path) as web:
        web.names = {"example.com": [(PUBLIC,)], "redir-loop.test": [(PUBLIC,)], "a127.test": [("127.0.0.1",)]}
        host = line.url.partition("://")[2].partition("/")[0].removesuffix(".").lower()
        if line.answers:
            web.names[host.replace("b\u00fccher", "xn--bcher-kva")] = list(line.answers)
        web.pages = {(asked, "/"): OK for asked in _hosts_as_sent()}
        web.pages["example.com:8443", "/a?b=1"] = web.pages["example.com", "/x"] = OK
        web.pages["redir.test", "/other"] = OK
        web.pages["redir-loop.test", "/"] = redirect("https://redir-loop.test/")
        if line.location:
            web.pages["redir.test", "/"] = redirect(line.location)
        if line.expected == "deny":
            text = await fails(web, line.url)
            assert all(address not in text for answers in line.answers for address in answers)
        else:
            assert (await web.fetcher().fetch(FetchRequest(url=line.url))).body == b"hello"
    dialled = {address for address, _ in web.dialled}
    if line.expected == "deny":
        assert dialled == ({PUBLIC} if line.group == "redirect" else set())
    elif line.answers:
        assert dialled <= set(line.answers[0])


def _hosts_as_sent() -> list[str]:
    return [
        *("example.com", "1.1.1.1", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", "dual.test", "xn--bcher-kva.example"),
        *("dns64.test", "[::ffff:5db8:d70e]", "[::ffff:93.184.215.14]", "rebind.test", "rebind2.test"),
    ]


@pytest.mark.req("RES-69")
async def test_a_request_carries_nothing_of_the_host_or_of_earlier_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine example.com login me password secret\n")
    monkeypatch.setenv("NETRC", str(netrc))
    async with world(tmp_path) as web:
        web.page("https://example.com/a?q=1", answer("", status=302, location="/b", set_cookie="c=1; Path=/"))
        web.page("https://example.com/b", OK)
        await fetched(web, "https://example.com/a?q=1#part")
    sent = {
        "host": "example.com",
        "user-agent": "hilt",
        "accept": "*/*",
        "accept-encoding": "identity",
        "connection": "close",
    }
    assert web.asked == [
        Asked(tls=True, method="GET", target="/a?q=1", headers=sent),
        Asked(tls=True, method="GET", target="/b", headers=sent),
    ]


@pytest.mark.req("RES-70")
async def test_ten_redirects_are_followed_and_no_more(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        for number in range(12):
            web.page(
                f"https://example.com/{number}", redirect(f"/{number + 1}", status=(301, 303, 307, 308)[number % 4])
            )
        web.page("https://example.com/12", OK)
        assert (await fetched(web, "https://example.com/2")).url == "https://example.com/12"
        assert await fails(web, "https://example.com/1") == "there are more than 10 redirects"
        assert await fails(web, "https://example.com/9", redirects_max=0) == "there are more than 0 redirects"


@pytest.mark.req("RES-70", "RES-79", "RES-80", "RES-84", "BLT-91")
@pytest.mark.parametrize(
    "address",
    [
        *("0.0.0.1", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.0.2.1"),
        *("192.31.196.1", "192.52.193.1", "192.88.99.1", "192.168.0.1", "192.175.48.1", "198.18.0.1", "198.51.100.1"),
        *("203.0.113.1", "224.0.0.1", "240.0.0.1", "168.63.129.16", "::1", "::", "64:ff9b:1::1", "100::1", "5f00::1"),
        *(
            "fc00::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002::1",
            "2620:4f:8000::1",
            "3fff::1",
        ),
        *("::ffff:10.0.0.1", "64:ff9b::a00:1", "2606::5efe:a00:1"),
    ],
)
async def test_a_redirect_to_each_refused_range_opens_nothing_there(address: str, tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        literal = f"[{address}]" if ":" in address else address
        web.page("https://example.com/literal", redirect(f"https://{literal}/"))
        web.page("https://example.com/name", redirect("https://other.example/"))
        web.names["other.example"] = [(PUBLIC, address)]
        for page in ("literal", "name"):
            text = await fails(web, f"https://example.com/{page}")
            assert text == f"a redirect is refused: {AddressRule.ADDRESS}"
    assert {dialled for dialled, _ in web.dialled} == {PUBLIC}


@pytest.mark.req("RES-70", "RES-73")
@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("\\\\10.0.0.1\\x", f"a redirect is refused: {AddressRule.CHARACTER}"),
        ("/a b", f"a redirect is refused: {AddressRule.CHARACTER}"),
        ("https://[::1", "a redirect has an address that cannot be read"),
        ("http://example.com/", f"a redirect is refused: {AddressRule.SCHEME}"),
    ],
)
async def test_a_redirect_is_checked_as_it_stands(location: str, text: str, tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/", redirect(location))
        assert await fails(web, "https://example.com/") == text
    assert len(web.dialled) == 1


@pytest.mark.req("RES-82", "RES-83")
async def test_a_name_is_resolved_once_a_hop_and_only_its_vetted_addresses_are_dialled(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/", OK)
        web.names["example.com"] = [("1.0.0.1", "1.0.0.2", PUBLIC), ("127.0.0.1",)]
        web.dead = {"1.0.0.1", "1.0.0.2"}
        assert (await fetched(web, "https://example.com/")).body == b"hello"
        assert web.dialled == [("1.0.0.1", 443), ("1.0.0.2", 443), (PUBLIC, 443)]
        assert web.looked_up == ["example.com"]
        assert await fails(web, "https://example.com/") == f"the URL is refused: {AddressRule.ADDRESS}"


@pytest.mark.req("RES-82")
async def test_where_no_address_answers_four_are_tried(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.names["example.com"] = [[f"1.0.0.{number}" for number in range(1, 9)]]
        web.dead = set(web.names["example.com"][0])
        assert await fails(web, "https://example.com/") == "the exchange with 'example.com' failed: no connection"
    assert len(web.dialled) == 4


@pytest.mark.req("RES-82")
async def test_the_certificate_must_be_for_the_host_name(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.names["wrong.example"] = [(PUBLIC,)]
        text = await fails(web, "https://wrong.example/")
        assert text.startswith("the TLS connection to 'wrong.example' failed: Hostname mismatch")
        assert PUBLIC not in text
        web.names["example.com"] = [(PUBLIC,)]
        with pytest.raises(FetchFailedError, match="unable to get local issuer certificate"):
            await HttpFetcher(resolve=web.resolve, network=web).fetch(FetchRequest(url="https://example.com/"))
    assert web.asked == []


async def test_a_server_that_speaks_no_tls_or_no_http_is_one_plain_sentence(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/", b"SSH-2.0-x\r\n\r\n")
        assert (
            await fails(web, "https://example.com/") == "the exchange with 'example.com' failed: the answer is no HTTP"
        )
        web.ports[True] = web.ports[False]
        assert (await fails(web, "https://example.com/")).startswith("the TLS connection to 'example.com' failed: ")


async def test_a_connection_that_ends_early_is_told(tmp_path: Path) -> None:
    async def reset(stream: anyio.abc.ByteStream) -> None:
        raw = stream.extra(anyio.abc.SocketAttribute.raw_socket)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async with world(tmp_path) as web:
        web.page("http://example.com/", reset)
        with pytest.raises(FetchFailedError, match="the connection was lost"):
            await fetched(web, "http://example.com/")
        web.page("https://example.com/", answer("hello world")[:-5])
        assert "failed: the answer is no HTTP" in await fails(web, "https://example.com/")


@pytest.mark.req("RES-71")
async def test_a_slow_drip_ends_at_the_deadline(tmp_path: Path) -> None:
    async def drip(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        while True:
            await stream.send(b"x")
            await anyio.sleep(0.01)

    async with world(tmp_path) as web:
        web.page("https://example.com/", drip)
        text = await fails(web, "https://example.com/", limits=FetchLimits(total_s=0.3))
    assert text == "it took longer than 0.3 s"


@pytest.mark.req("RES-71")
async def test_the_deadline_covers_the_resolver_and_redirects_together(tmp_path: Path) -> None:
    async def slow(stream: anyio.abc.ByteStream) -> None:
        await anyio.sleep(0.1)
        await stream.send(redirect("/"))

    async def hang(host: str, port: int) -> list[str]:
        await anyio.sleep_forever()
        return []

    limits = FetchLimits(total_s=0.35)
    async with world(tmp_path) as web:
        web.page("https://example.com/", slow)
        assert await fails(web, "https://example.com/", limits=limits) == "it took longer than 0.35 s"
        assert 2 <= len(web.asked) <= 4
        stuck = HttpFetcher(limits=limits, resolve=hang, network=web, tls=client_context())
        with pytest.raises(FetchFailedError, match="longer"), anyio.fail_after(5):
            await stuck.fetch(FetchRequest(url="https://example.com/"))


@pytest.mark.req("RES-71")
async def test_headers_are_bounded(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        for page, count in (("fits", 60), ("more", 66)):
            lines = "".join(f"x-{number}: {'v' * 1000}\r\n" for number in range(count))
            web.page(
                f"https://example.com/{page}", f"HTTP/1.1 200 OK\r\n{lines}content-length: 5\r\n\r\nhello".encode()
            )
        web.page("https://example.com/flood", b"HTTP/1.1 200 OK\r\nx: " + b"v" * 3_000_000)
        assert (await fetched(web, "https://example.com/fits")).body == b"hello"
        assert await fails(web, "https://example.com/more") == "the headers are over 65536 bytes"
        assert "failed: the answer is no HTTP" in await fails(web, "https://example.com/flood")


@pytest.mark.req("RES-71")
async def test_the_body_is_bounded_at_five_mebibytes(tmp_path: Path) -> None:
    limit = 5 * 1024 * 1024
    async with world(tmp_path) as web:
        web.page("https://example.com/fits", answer(b"x" * limit))
        web.page("https://example.com/more", answer(b"x" * (limit + 1)))
        assert len((await fetched(web, "https://example.com/fits")).body) == limit
        assert await fails(web, "https://example.com/more") == f"the document is over {limit} bytes"


@pytest.mark.req("RES-71")
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compression_bomb_ends_at_the_limit(encoding: str, tmp_path: Path) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    limits = FetchLimits(body_max_bytes=100_000)
    async with world(tmp_path) as web:
        web.page("https://example.com/fits", answer(pack(b"x" * 100_000) + b"more", content_encoding=encoding))
        web.page("https://example.com/bomb", answer(pack(b"x" * 50_000_000), content_encoding=encoding))
        assert (await fetched(web, "https://example.com/fits", limits=limits)).body == b"x" * 100_000
        assert await fails(web, "https://example.com/bomb", limits=limits) == "the document is over 100000 bytes"


@pytest.mark.req("RES-71")
@pytest.mark.parametrize(
    ("encoding", "body", "text"),
    [
        ("br", b"x", "the answer is compressed in a way that was not asked for"),
        ("gzip, gzip", b"x", "the answer is compressed in a way that was not asked for"),
        ("gzip", b"not gzip at all", "the compressed answer is broken"),
        ("gzip", gzip.compress(b"x" * 1000)[:-9], "the compressed answer ends too early"),
    ],
    ids=["unknown", "nested", "broken", "cut"],
)
async def test_a_body_that_cannot_be_unpacked_is_refused(encoding: str, body: bytes, text: str, tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/", answer(body, content_encoding=encoding))
        assert await fails(web, "https://example.com/") == text


async def test_what_comes_behind_the_end_of_a_compressed_body_is_no_part_of_it(tmp_path: Path) -> None:
    async def in_pieces(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in (gzip.compress(b"hello"), b"more", b""):
            await stream.send(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await anyio.sleep(0.01)

    async with world(tmp_path) as web:
        web.page("https://example.com/", in_pieces)
        assert (await fetched(web, "https://example.com/")).body == b"hello"


async def test_an_answer_between_success_and_error_without_an_address_is_an_error(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("https://example.com/304", answer("", status=304))
        web.page("https://example.com/302", answer("", status=302))
        two = b"HTTP/1.1 302 Found\r\nlocation: /a\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n"
        web.page("https://example.com/two", two)
        for page in ("304", "302", "two"):
            assert (await fails(web, f"https://example.com/{page}")).endswith("and no address to go to")


@pytest.mark.req("BLT-90")
async def test_plain_http_is_fetched_where_it_is_admitted(tmp_path: Path) -> None:
    async with world(tmp_path) as web:
        web.page("http://example.com/", redirect("https://example.com:8443/x"))
        web.page("https://example.com:8443/x", answer("hello", "Text/HTML; charset=utf-8", status=404))
        found = await fetched(web, "http://example.com/")
    assert found == Fetched(
        url="https://example.com:8443/x", status=404, content_type="Text/HTML; charset=utf-8", body=b"hello"
    )
    assert web.dialled == [(PUBLIC, 80), (PUBLIC, 8443)]


async def test_a_cancelled_fetch_leaves_no_connection_open(tmp_path: Path) -> None:
    closed = anyio.Event()

    async def wait(stream: anyio.abc.ByteStream) -> None:
        try:
            await stream.receive()
        finally:
            closed.set()

    async with world(tmp_path) as web:
        web.page("https://example.com/", wait)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(web.fetcher().fetch, FetchRequest(url="https://example.com/"))
            with anyio.fail_after(10):
                while not web.asked:
                    await anyio.sleep(0.01)
                tasks.cancel_scope.cancel()
        with anyio.fail_after(10):
            await closed.wait()


@pytest.mark.req("RES-84")
async def test_the_systems_resolver_finds_what_may_not_be_dialled() -> None:
    opened = World()
    guarded = GuardedBackend(resolve=SystemResolver(), network=opened)
    with pytest.raises(UrlRefusedError):
        await guarded.connect_tcp("localhost", 443)
    with pytest.raises(FetchFailedError, match="not known"):
        await guarded.connect_tcp("no-such-name.invalid", 443)
    assert opened.dialled == []


async def test_only_connections_over_tcp_are_guarded_and_so_only_these_exist() -> None:
    with pytest.raises(NotImplementedError):
        await GuardedBackend(resolve=SystemResolver()).connect_unix_socket("/run/x.sock")
    assert issubclass(GuardedBackend, httpcore2.AsyncNetworkBackend)
