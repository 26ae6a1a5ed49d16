"""Skills from a service: what it may answer, and what is made of an answer that it may not give."""

import json
from collections.abc import Iterator

import pytest

from hilt.adapters.skill_http import HttpSkills
from hilt.core.errors import ConfigError
from hilt.core.skill import ASSET_MAX_BYTES, SkillAsset, SkillMeta, SkillUnavailableError
from tests.contracts.skill_service import Service, skill_service


@pytest.fixture
def service() -> Iterator[Service]:
    with skill_service() as served:
        yield served


async def test_an_entry_may_have_the_further_keys_of_a_skill_file(service: Service) -> None:
    entry = {
        "name": "a",
        "description": "x",
        "license": "MIT",
        "compatibility": "any",
        "metadata": {"k": 1},
        "allowed-tools": ["Read"],
    }
    service.fixed["/skills"] = (200, json.dumps({"skills": [entry, "odd", {"name": 3}]}).encode())
    listed = await HttpSkills(service.url).list_skills()
    assert listed == [
        SkillMeta(
            name="a", description="x", license="MIT", compatibility="any", metadata={"k": "1"}, allowed_tools=("Read",)
        ),
        SkillMeta(name="", description=""),
    ]


async def test_headers_are_sent_and_names_are_quoted(service: Service) -> None:
    service.skills = {"a": ("x", "body", {"b c/ü?.md": b"1"})}
    source = HttpSkills(f"{service.url}/", headers={"authorization": "Bearer t"})
    assert await source.read_skill_asset("a", "b c/ü?.md") == b"1"
    assert service.asked == ["/skills/a/assets/b%20c/%C3%BC%3F.md"]
    assert service.got_headers[0]["authorization"] == "Bearer t"
    assert source.label == "skills of 127.0.0.1"


async def test_assets_without_a_good_name_are_left_out(service: Service) -> None:
    assets = [{"name": "../a"}, {"name": "b"}, {"name": "c", "size_bytes": -1}, "d", {}]
    service.fixed["/skills/a"] = (200, json.dumps({"body": "", "assets": assets}).encode())
    listed = await HttpSkills(service.url).list_skill_assets("a")
    assert listed == [SkillAsset(name="None"), SkillAsset(name="b"), SkillAsset(name="c")]
    service.fixed["/skills/a"] = (200, b'{"assets": 3}')
    assert await HttpSkills(service.url).list_skill_assets("a") == []


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (500, b"", "status 500"),
        (302, b"", "status 302"),
        (200, b"{", "not valid JSON"),
        (200, b"[]", "no JSON object"),
        (200, b'{"skills": 3, "body": 3}', "has no"),
        (200, b" " * (ASSET_MAX_BYTES + 1), f"over {ASSET_MAX_BYTES} bytes"),
    ],
)
async def test_an_answer_that_is_not_of_the_protocol_is_an_error_that_says_so(
    service: Service, status: int, body: bytes, why: str
) -> None:
    service.fixed = {"/skills": (status, body), "/skills/a": (status, body)}
    source = HttpSkills(service.url, label="ours")
    with pytest.raises(SkillUnavailableError, match=f"ours: .*{why}"):
        await source.list_skills()
    with pytest.raises(SkillUnavailableError, match=why):
        await source.skill_body("a")


async def test_a_list_that_is_not_there_is_an_error(service: Service) -> None:
    service.fixed["/skills"] = (404, b"")
    with pytest.raises(SkillUnavailableError, match="no list 'skills'"):
        await HttpSkills(service.url).list_skills()


async def test_an_answer_that_is_compressed_is_refused(service: Service) -> None:
    service.headers = {"content-encoding": "gzip"}
    with pytest.raises(SkillUnavailableError, match="compressed"):
        await HttpSkills(service.url).list_skills()


async def test_a_service_that_does_not_answer_is_an_error(service: Service) -> None:
    service.hold.clear()
    with pytest.raises(SkillUnavailableError, match=r"no answer in 0\.2 s"):
        await HttpSkills(service.url, timeout_s=0.2).list_skills()
    service.hold.set()


async def test_a_service_that_is_away_is_an_error() -> None:
    with skill_service() as gone:
        url = gone.url
    with pytest.raises(SkillUnavailableError, match="the request failed: ConnectError"):
        await HttpSkills(url).skill_body("a")


@pytest.mark.parametrize("url", ["ftp://a.example", "a.example", "http://", "https://a.example?x=1"])
def test_another_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="http or https"):
        HttpSkills(url)
