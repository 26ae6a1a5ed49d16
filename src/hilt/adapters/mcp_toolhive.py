"""Which MCP servers ToolHive runs on this machine: asks `thv`, else its local API; starts nothing.

An absent ToolHive must cost nothing, so the one request to the API is written by hand: an HTTP library takes
longer to load than ToolHive takes to be found absent.
"""

import json
import logging
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteStream

from hilt.adapters._process import run_process
from hilt.core.errors import ConfigError
from hilt.core.mcp import McpServerSpec, Transport, check_server_name, same_name_key
from hilt.core.mcp_url import check_url, is_loopback

logger = logging.getLogger(__name__)

WITHIN_S: Final = 5.0
PROGRAM_S: Final = 3.0
WORKLOADS_MAX: Final = 128
ANSWER_MAX_BYTES: Final = 4 * 1024 * 1024
DEFAULT_GROUP: Final = "default"
DEFAULT_API: Final = "http://127.0.0.1:8080"
STATE_FILE: Final = "toolhive/server/server.json"
API_PATH: Final = "/api/v1beta/workloads"
SOURCE: Final = "ToolHive"
# What `thv list --format json` of older releases writes where nothing runs.
NOTHING_RUNS: Final = "No MCP servers found"
_CHUNK_BYTES: Final = 64 * 1024


class _UnusableError(Exception):
    """ToolHive's answer cannot be used, or there is none; says why."""


class ToolHive:
    """The running workloads of one group, as they were found last.

    `environment` gives PATH and the state directory; `api` is where the local API listens if ToolHive's own file
    does not say.
    """

    def __init__(
        self, group: str = "", *, environment: Mapping[str, str], home: str = "", api: str = DEFAULT_API
    ) -> None:
        self._group = group or DEFAULT_GROUP
        self._environment = environment
        self._home = home
        self._api = api
        self._found: tuple[McpServerSpec, ...] = ()

    async def servers(self) -> Sequence[McpServerSpec]:
        """Return an entry for each workload that can be used, within 5 s; the last good ones where nothing is heard.

        Raises nothing: what went wrong is one INFO line.
        """
        why = f"no answer within {WITHIN_S:g} s"
        try:
            with anyio.move_on_after(WITHIN_S):
                workloads = _workloads(await self._answer())
                self._found = tuple(entries(workloads, self._group))
                return self._found
        except _UnusableError as exc:
            why = str(exc)
        logger.info("toolhive_not_used why=%s servers=%d", why, len(self._found))
        return self._found

    async def _answer(self) -> str:
        program = shutil.which("thv", path=self._environment.get("PATH", ""))
        if program is None:
            # Whoever listens at the usual port without any other trace of ToolHive is somebody else.
            return await self._from_api(await self._advertised(), "ToolHive is not here")
        try:
            return await self._from_program(program)
        except _UnusableError as exc:
            return await self._from_api(await self._advertised() or self._api, str(exc))

    async def _from_program(self, program: str) -> str:
        argv = [program, "list", "--format", "json"]
        try:
            done = await run_process(
                argv, timeout_s=PROGRAM_S, env=dict(self._environment), keep_bytes=(ANSWER_MAX_BYTES, 1)
            )
        except OSError as exc:
            raise _UnusableError(f"thv cannot be run: {exc.strerror}") from exc
        if done.timed_out:
            raise _UnusableError(f"thv gave no answer within {PROGRAM_S:g} s")
        if done.returncode != 0:
            raise _UnusableError(f"thv list ended with code {done.returncode}")
        if done.stdout.dropped:
            raise _UnusableError(f"thv's answer is longer than {ANSWER_MAX_BYTES} bytes")
        return done.stdout.content.decode("utf-8", "replace")

    async def _from_api(self, address: str, why: str) -> str:
        """Return the API's answer.

        Raises:
            _UnusableError: `why`, where it does not answer.
        """
        url = urlsplit(address)
        try:
            if url.scheme == "unix":
                stream: ByteStream = await anyio.connect_unix(url.path)
            elif is_loopback(url.geturl()) and url.scheme == "http":
                stream = await anyio.connect_tcp(url.hostname or "", url.port or 80)
            else:
                raise _UnusableError(why)
            async with stream:
                await stream.send(_request(url.netloc or "localhost"))
                answer = await _all_of(stream)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise _UnusableError(why) from None
        head, _, body = answer.replace("\r\n", "\n").partition("\n\n")
        if head.partition("\n")[0].split()[1:2] != ["200"]:
            raise _UnusableError(why)
        return body

    async def _advertised(self) -> str:
        """Return the address that a running ToolHive wrote down, "" where there is none."""
        state = self._environment.get("XDG_STATE_HOME") or (f"{self._home}/.local/state" if self._home else "")
        if not state:
            return ""
        path = anyio.Path(state, STATE_FILE)
        try:
            if hasattr(os, "getuid") and (await path.stat()).st_uid != os.getuid():
                return ""
            value: object = json.loads(await path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        url = value.get("url") if isinstance(value, dict) else None
        return url if isinstance(url, str) else ""


def _request(host: str) -> bytes:
    # HTTP/1.0: the answer ends with the connection and is never sent in chunks.
    return f"GET {API_PATH} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n".encode()


async def _all_of(stream: ByteStream) -> str:
    chunks: list[bytes] = []
    size = 0
    while size <= ANSWER_MAX_BYTES:
        try:
            chunk = await stream.receive(_CHUNK_BYTES)
        except anyio.EndOfStream:
            return b"".join(chunks).decode("utf-8", "replace")
        chunks.append(chunk)
        size += len(chunk)
    raise _UnusableError(f"the answer is longer than {ANSWER_MAX_BYTES} bytes")


def _workloads(text: str) -> list[Mapping[str, object]]:
    """Return the workloads of an answer; an empty list is believed.

    Raises:
        _UnusableError: It is no list of workloads, or a very long one.
    """
    if text.strip() == NOTHING_RUNS:
        return []
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _UnusableError("the answer is no JSON") from None
    if isinstance(value, dict):
        value = value.get("workloads")
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise _UnusableError("the answer is no list of workloads")
    if len(value) > WORKLOADS_MAX:
        raise _UnusableError(f"the answer lists {len(value)} workloads; {WORKLOADS_MAX} are the most")
    return value


def entries(workloads: Iterable[Mapping[str, object]], group: str) -> list[McpServerSpec]:
    """Return the entries of the group's running workloads, in their order; the first of a name wins.

    Left out is what has no legal name, no loopback URL, or a proxy that is neither streamable HTTP nor SSE.
    """
    found: dict[str, McpServerSpec] = {}
    for workload in workloads:
        if workload.get("status") != "running" or (workload.get("group") or DEFAULT_GROUP) != group:
            continue
        spec = _entry(workload)
        if spec is not None:
            found.setdefault(same_name_key(spec.name), spec)
    return list(found.values())


def _entry(workload: Mapping[str, object]) -> McpServerSpec | None:
    name, given = workload.get("name"), workload.get("url")
    if not isinstance(name, str) or not isinstance(given, str):
        return None
    # ToolHive puts the workload's name behind the path of an SSE proxy.
    url = given.partition("#")[0]
    transport = _transport(workload, url)
    if transport is None or not is_loopback(url):
        return None
    spec = McpServerSpec(name=name, url=url, transport=transport, origin="toolhive", source=SOURCE)
    try:
        check_server_name(name, source=SOURCE)
        check_url(spec)
    except ConfigError:
        return None
    return spec


def _transport(workload: Mapping[str, object], url: str) -> Transport | None:
    """Return what the workload's proxy speaks; older releases say it in the path alone."""
    mode = workload.get("proxy_mode") or workload.get("transport_type")
    if mode == "stdio":
        mode = "sse" if urlsplit(url).path.endswith("/sse") else "streamable-http"
    match mode:
        case "streamable-http":
            return "http"
        case "sse":
            return "sse"
        case _:
            return None
