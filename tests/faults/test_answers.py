"""Entries of section 3: answers that are large, odd or false."""

import gzip
import json
import zlib
from pathlib import Path

import pytest

from hilt.faults.entries_size import bomb
from tests.faults.raw import RawHttp, RawStdio, SilenceError, at, opened, text_of
from tests.faults.test_honest import WAYS
from tests.faults.test_start import EVERY_WAY

SIZES = {"huge-text": 20_000_000, "huge-json": 20_000_000, "huge-base64": 32 << 20, "over-limit": 65 << 20}


@EVERY_WAY
@pytest.mark.parametrize("entry", SIZES)
def test_huge_answers_are_whole(entry: str, transport: str, era: str, tmp_path: Path) -> None:
    if entry != "huge-json" and transport == "sse":
        return
    with opened(entry, tmp_path, transport=transport, era=era, mib=0.5) as session:
        answer = session.call()
        assert len(json.dumps(answer)) > 500_000
        block = at(answer, "result", "content", 0)
        assert at(block, "type") == ("image" if entry == "huge-base64" else "text")


@pytest.mark.parametrize("entry", SIZES)
def test_huge_answers_are_as_large_as_promised(entry: str, tmp_path: Path) -> None:
    with opened(entry, tmp_path) as session:
        assert isinstance(session.client, RawHttp)
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "echo"}}
        response = session.client.send(message)
        length = int(response.headers["Content-Length"])
        response.close()
        assert SIZES[entry] <= length + 50_000 <= SIZES[entry] + 1_000_000


def test_a_bomb_is_one_gzip_member(tmp_path: Path) -> None:
    assert gzip.decompress(bomb(b"head", b"tail", 1000)) == b"head" + b"A" * 1000 + b"tail"
    with opened("gzip-bomb", tmp_path, era="stateless") as session:
        assert isinstance(session.client, RawHttp)
        params = session.stamped({"name": "echo"})
        response = session.client.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params})
        packed = response.read()
        assert response.headers["Content-Encoding"] == "gzip"
    assert len(packed) < 1_200_000
    assert int.from_bytes(packed[-4:], "little") > 1 << 30
    assert zlib.decompressobj(31).decompress(packed, 40).startswith(b'{"jsonrpc":"2.0","id":9,"result"')


@EVERY_WAY
@pytest.mark.parametrize("kind", ["nan", "surrogates", "twice"])
def test_odd_json_is_read_by_a_lenient_parser(kind: str, transport: str, era: str, tmp_path: Path) -> None:
    with opened("odd-json", tmp_path, transport=transport, era=era, kind=kind) as session:
        words = {"nan": "numbers", "surrogates": "lone \ud800 and \udfff", "twice": "second"}
        assert text_of(session.call()) == words[kind]


@pytest.mark.parametrize(("kind", "error"), [("deep", RecursionError), ("utf8", UnicodeDecodeError)])
def test_odd_json_is_too_deep_or_no_text(kind: str, error: type[Exception], tmp_path: Path) -> None:
    with opened("odd-json", tmp_path, kind=kind) as session, pytest.raises(error):
        session.call()


def test_odd_json_is_one_line_over_stdio(tmp_path: Path) -> None:
    with opened("odd-json", tmp_path, transport="stdio", kind="deep") as session:
        with pytest.raises(SilenceError):
            session.call(wait_s=0.5)
        assert isinstance(session.client, RawStdio)
        assert [len(line) > 200_000 for line in session.client.noise] == [True]


BLOCKS = {"unknown": 2, "base64": 2, "missing": 8, "image": 1, "nothing": 0, "all": 6}


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_odd_blocks_are_as_many_as_told(kind: str, era: str, tmp_path: Path) -> None:
    with opened("odd-blocks", tmp_path, era=era, kind=kind) as session:
        content = at(session.call(), "result", "content")
        assert isinstance(content, list)
        assert len(content) == BLOCKS[kind]


@EVERY_WAY
def test_schema_lie_breaks_its_own_schema(transport: str, era: str, tmp_path: Path) -> None:
    with opened("schema-lie", tmp_path, transport=transport, era=era, times=1) as session:
        listed = session.request("tools/list")
        assert at(listed, "result", "tools", 0, "outputSchema", "required") == ["n"]
        assert at(session.call(), "result", "structuredContent", "n") == "seven"
        assert at(session.call(), "result", "structuredContent", "n") == 1


def test_schema_lie_has_an_error_with_structure(tmp_path: Path) -> None:
    with opened("schema-lie", tmp_path, kind="error") as session:
        found = session.call()
        assert at(found, "result", "isError") is True
        assert at(found, "result", "structuredContent") == {"free": 0}


@EVERY_WAY
def test_links_everywhere_lead_to_an_address_that_logs(transport: str, era: str, tmp_path: Path) -> None:
    with opened("links-everywhere", tmp_path, transport=transport, era=era) as session:
        origin = str(session.log("canary")[0]["address"])
        for answer, least in [
            (session.request("tools/list"), 25),
            (session.request("resources/list"), 3),
            (session.request("prompts/list"), 2),
            (session.request("prompts/get", {"name": "greet"}), 1),
            (session.call(), 7),
        ]:
            assert json.dumps(answer).count(origin) >= least
        document = session.request("resources/read", {"uri": "kit://notes"})
        assert at(document, "result", "contents", 0, "text") == "No notes."
        assert session.log("disturbed") == []


@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_input_forever_asks_on_every_round(transport: str, tmp_path: Path) -> None:
    with opened("input-forever", tmp_path, transport=transport, era="stateless") as session:
        rounds = [session.call() for _ in range(3)]
        assert [at(answer, "result", "requestState") for answer in rounds] == ["round-1", "round-2", "round-3"]
        assert {at(answer, "result", "resultType") for answer in rounds} == {"input_required"}


@pytest.mark.parametrize(("transport", "era"), WAYS[:2])
def test_bad_pattern_stands_in_both_schemas(transport: str, era: str, tmp_path: Path) -> None:
    with opened("bad-pattern", tmp_path, transport=transport, era=era) as session:
        tool = at(session.request("tools/list"), "result", "tools", 5)
        for schema in ("inputSchema", "outputSchema"):
            assert at(tool, schema, "properties", "text", "pattern") == "^(a+)+$"
        found = session.call("match", text="aa")
        assert at(found, "result", "structuredContent", "text") == "a" * 40 + "!"
        assert text_of(session.call()) == "hello"
