"""Read and ListDir."""

import base64
import os
import socket
from contextlib import chdir, closing
from pathlib import Path

import pytest

from hilt.adapters.inmemory.workspace import InMemoryWorkspace
from hilt.core.content import ImagePart
from hilt.core.errors import ErrorCode
from hilt.ports.tool import Environment
from tests.builtins.files_runs import Files

IMAGES = {
    "image/png": b"\x89PNG\r\n\x1a\n\0rest",
    "image/jpeg": b"\xff\xd8\xff\xe0rest",
    "image/gif": b"GIF89a\0rest",
    "image/webp": b"RIFF\0\0\0\0WEBPrest",
}


def memory(**files: bytes | str) -> Files:
    return Files(InMemoryWorkspace({name.replace("__", "/"): content for name, content in files.items()}))


@pytest.mark.req("BLT-11")
async def test_lines_have_their_number_right_aligned_and_a_tab() -> None:
    files = memory(a="first\n\tsecond\r\nlast")

    assert await files.text("Read", path="a") == "     1\tfirst\n     2\t\tsecond\n     3\tlast"
    assert await files.text("Read", path="a", offset=3) == "     3\tlast"
    assert await files.text("Read", path="a", limit=1) == ("     1\tfirst\n(the file has 3 lines; go on with offset=2)")


@pytest.mark.req("BLT-11")
async def test_a_long_file_is_shown_in_pieces_of_2000_lines() -> None:
    files = memory(a="".join(f"line {n}\n" for n in range(1, 4002)))

    shown = (await files.text("Read", path="a")).split("\n")
    assert len(shown) == 2001
    assert shown[1999:] == ["  2000\tline 2000", "(the file has 4001 lines; go on with offset=2001)"]
    assert (await files.text("Read", path="a", offset=4001)) == "  4001\tline 4001"


@pytest.mark.req("BLT-12")
async def test_a_long_line_is_cut_with_a_mark() -> None:
    files = memory(a="é" * 2000 + "\n" + "é" * 2001 + "\n", b="x" * 100_000)

    whole, cut = (await files.text("Read", path="a")).split("\n")
    assert whole == "     1\t" + "é" * 2000
    assert cut == "     2\t" + "é" * 2000 + " [line cut]"
    assert await files.text("Read", path="b") == "     1\t" + "x" * 2000 + " [line cut]"


@pytest.mark.req("BLT-12")
async def test_an_empty_file_and_an_offset_past_the_end_are_told() -> None:
    files = memory(empty="", a="1\n2\n")

    assert await files.text("Read", path="empty") == "(the file is empty)"
    assert await files.text("Read", path="a", offset=3) == "(line 3 is past the end; the file has 2 lines)"


@pytest.mark.req("BLT-13")
@pytest.mark.parametrize("mime_type", IMAGES)
async def test_an_image_comes_back_as_a_part_whatever_its_name(mime_type: str) -> None:
    content = IMAGES[mime_type]
    result = await memory(picture=content).call("Read", path="picture")

    assert result.parts == (ImagePart(data=base64.b64encode(content).decode(), mime_type=mime_type),)
    assert result.content == f"picture: {mime_type} image, {len(content)} bytes"


@pytest.mark.req("BLT-13")
async def test_other_binary_files_and_large_images_are_errors_with_type_and_size() -> None:
    files = memory(
        pdf=b"%PDF-1.7 text",
        zip=b"PK\x03\x04\0",
        wide="\ufeffab".encode("utf-16-le"),
        other=b"abc\0",
        image=IMAGES["image/png"] + b"x" * (10 << 20),
    )

    for path, kind in (
        ("pdf", "PDF document, 13 bytes"),
        ("zip", "ZIP archive, 5 bytes"),
        ("wide", "UTF-16 text, 6 bytes"),
        ("other", "binary data, 4 bytes"),
        ("image", f"image of {(10 << 20) + 13} bytes"),
    ):
        assert kind in await files.fails("Read", path=path)


async def test_bytes_that_are_not_utf_8_are_shown_as_marks() -> None:
    assert await memory(a=b"caf\xe9\n").text("Read", path="a") == "     1\tcaf�"


@pytest.mark.req("BLT-14")
async def test_a_missing_path_is_an_error_with_near_names() -> None:
    files = memory(docs__README="", docs__readme_old="", docs__readme_new="", docs__reading="", docs__zebra="", top="")

    assert await files.fails("Read", path="docs/readme") == (
        "'docs/readme' does not exist; did you mean 'docs/README', 'docs/readme_new', 'docs/readme_old'?"
    )
    assert await files.fails("Read", path="tpo.txt") == "'tpo.txt' does not exist"
    assert await files.fails("Read", path="nowhere/x") == "'nowhere/x' does not exist"
    assert await files.fails("ListDir", path="doc") == "'doc' does not exist; did you mean 'docs'?"
    assert "did you mean 'top'" in await files.fails("Grep", pattern="x", path="tops")


@pytest.mark.req("BLT-14")
async def test_a_directory_points_to_list_dir() -> None:
    assert "ListDir" in await memory(d__x="").fails("Read", path="d")


@pytest.mark.req("BLT-14")
@pytest.mark.timeout(20)
async def test_a_pipe_a_socket_and_a_device_are_refused_unopened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    os.mknod(tmp_path / "whole", 0o600)
    files = Files.at(tmp_path)
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        with chdir(tmp_path):
            listener.bind("sock")
        for path, kind in (("pipe", "pipe"), ("sock", "socket")):
            for name, args in (
                ("Read", {}),
                ("Grep", {"pattern": "x"}),
                ("Write", {"content": ""}),
                ("Edit", {"old_string": "a", "new_string": "b"}),
            ):
                reason = await files.fails(name, path=path, **args)
                assert f"{path!r} is a {kind}" in reason
            assert f"is a {kind}" in await files.fails("Copy", source=path, destination="x")
    assert (await files.error("Read", path="/dev/zero")).code is ErrorCode.ACCESS_DENIED


@pytest.mark.req("BLT-10")
async def test_paths_are_relative_or_absolute_inside_and_denied_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "out.txt").write_text("secret")
    (root / "a").write_text("1")
    (root / "link").symlink_to("../out.txt")
    files = Files.at(root)

    for path in ("a", "./a", "x/../a", str(root / "a")):
        assert await files.text("Read", path=path) == "     1\t1"
    for path in ("../out.txt", str(tmp_path / "out.txt"), "link", "/proc/self/status", "/sys", "/dev/null"):
        error = await files.error("Read", path=path)
        assert error.code is ErrorCode.ACCESS_DENIED
        assert str(tmp_path) not in error.reason


@pytest.mark.req("BLT-15")
async def test_a_directory_is_listed_with_marks(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "C").write_text("")
    (tmp_path / "a\nb").write_text("")
    (tmp_path / "d").symlink_to("b")
    files = Files.at(tmp_path)

    assert await files.text("ListDir") == "C\na�b\nb/\nd@"
    assert await files.text("ListDir", path="b") == "(the directory is empty)"
    assert "Read" in await files.fails("ListDir", path="C")


@pytest.mark.req("BLT-15")
async def test_a_directory_of_many_names_is_cut_and_the_rest_counted() -> None:
    files = Files(InMemoryWorkspace({f"{n:05}": "" for n in range(1003)}))

    shown = (await files.text("ListDir")).split("\n")
    assert len(shown) == 1001
    assert shown[-2:] == ["00999", "(3 more left out)"]


async def test_reading_works_without_a_ledger_of_the_host() -> None:
    files = memory(a="1")
    files.env = Environment(workspace=files.env.workspace)

    assert await files.text("Read", path="a") == "     1\t1"
    assert "read it first" in await files.fails("Write", path="a", content="2")
