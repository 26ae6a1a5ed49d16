"""Public reports on results: embedded resources, errors with data, structured content, odd blocks."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hilt.core.content import ImagePart
from hilt.mcp.manager import McpManager
from tests.mcp_servers.kit import call, mounted, replay_stdio


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[McpManager]:
    async with mounted(replay_stdio("e_results", tmp_path)) as mounted_:
        yield mounted_


@pytest.mark.req("RES-13", "RES-14", "RES-19")
async def test_e1_an_embedded_resource_reaches_the_model_and_bytes_are_told(
    manager: McpManager, tmp_path: Path
) -> None:
    text = (await call(manager, "embedded")).content
    assert text.index("head") < text.index("note://7") < text.index("# Body of seven")
    pdf = (await call(manager, "blob_pdf")).content
    assert "application/pdf" in pdf
    assert "9 bytes" in pdf
    assert [path.name for path in tmp_path.iterdir()] == ["near.log"]


@pytest.mark.req("RES-20", "RES-21")
async def test_e2_an_error_keeps_its_own_data_and_is_checked_against_no_schema(manager: McpManager) -> None:
    result = await call(manager, "err_struct")
    assert result.is_error
    assert "no rows" in result.content
    assert "NO_ROWS" in result.content


@pytest.mark.req("RES-15", "RES-18")
async def test_e3_structured_content_alone_is_the_text_and_nothing_at_all_says_so(manager: McpManager) -> None:
    assert json.loads((await call(manager, "only_struct")).content)["count"] == 2
    empty = await call(manager, "empty")
    assert empty.content
    assert not empty.is_error


@pytest.mark.req("RES-17")
async def test_e4_the_same_data_is_shown_once_and_kept_in_both_forms(manager: McpManager) -> None:
    result = await call(manager, "both")
    assert result.content.count("41") == 1
    assert [part.kind for part in result.parts] == ["text", "structured"]


@pytest.mark.req("RES-09")
async def test_e5_an_image_alone_is_a_part(manager: McpManager) -> None:
    assert [type(part) for part in (await call(manager, "image_only")).parts] == [ImagePart]


@pytest.mark.req("RES-16")
async def test_e6_a_block_of_an_unknown_type_costs_itself_alone(manager: McpManager) -> None:
    text = (await call(manager, "unknown_type")).content
    assert text.startswith("kept\n")
    assert "hologram" in text
