"""Skills from a service over HTTP, by a small JSON protocol (docs/skills.md).

```text
GET {base}/skills                       {"skills": [{"name": …, "description": …, further keys of a SKILL.md}]}
GET {base}/skills/{name}                {"body": …, "assets": [{"name": …, "size_bytes": …}]}
GET {base}/skills/{name}/assets/{asset}   the asset's bytes
```
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn
from urllib.parse import quote, urlsplit

import anyio
import httpx2

from hilt.adapters._http import client
from hilt.core.errors import ConfigError
from hilt.core.skill import (
    ASSET_MAX_BYTES,
    AssetNotFound,
    SkillAsset,
    SkillMeta,
    SkillNotFound,
    SkillUnavailableError,
    valid_asset_name,
)

TIMEOUT_S: Final = 10.0

_NOT_FOUND: Final = 404
_MARGIN_S: Final = 1.0


class HttpSkills:
    """The skills of a service; see `SkillSource`. `headers` are sent with every request, a token for one.

    What the service lists is read once, by `list_skills`; bodies and assets are asked for when they are used.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, label: str = "", timeout_s: float = TIMEOUT_S
    ) -> None:
        """Take the address that the protocol's paths are added to; nothing is asked yet.

        Raises:
            ConfigError: It is no http or https address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
            raise ConfigError("the address of a service of skills is http or https, without a query")
        self._base = url.rstrip("/")
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s
        self.label = label or f"skills of {parts.hostname}"

    async def list_skills(self) -> Sequence[SkillMeta]:
        """See `SkillSource.list_skills`."""
        body = await self._json("/skills")
        skills = body.get("skills") if body is not None else None
        if not isinstance(skills, list):
            self._failed("its answer has no list 'skills'")
        return [_meta(item) for item in skills if isinstance(item, Mapping)]

    async def skill_body(self, name: str) -> str:
        """See `SkillSource.skill_body`."""
        body = (await self._skill(name)).get("body")
        if not isinstance(body, str):
            self._failed("its answer has no text 'body'")
        return body

    async def list_skill_assets(self, name: str) -> Sequence[SkillAsset]:
        """See `SkillSource.list_skill_assets`; what has no good name is left out."""
        listed = (await self._skill(name)).get("assets", [])
        entries = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
        named = {str(item.get("name")): item.get("size_bytes") for item in entries}
        return [
            SkillAsset(name=asset, size_bytes=size if isinstance(size, int) and size >= 0 else None)
            for asset, size in sorted(named.items())
            if valid_asset_name(asset)
        ]

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        """See `SkillSource.read_skill_asset`."""
        parts = "/".join(quote(part, safe="") for part in asset.split("/"))
        found = await self._get(f"/skills/{quote(skill, safe='')}/assets/{parts}")
        if found is not None:
            return found
        await self._skill(skill)  # tells which of the two is missing
        raise AssetNotFound(skill, asset)

    async def _skill(self, name: str) -> Mapping[str, object]:
        found = await self._json(f"/skills/{quote(name, safe='')}")
        if found is None:
            raise SkillNotFound(name)
        return found

    async def _json(self, path: str) -> Mapping[str, object] | None:
        content = await self._get(path)
        if content is None:
            return None
        try:
            body: object = json.loads(content)
        except (ValueError, RecursionError):
            self._failed("its answer is not valid JSON")
        if not isinstance(body, Mapping):
            self._failed("its answer is no JSON object")
        return body

    async def _get(self, path: str) -> bytes | None:
        """Return the body of a 2xx answer, None for a 404."""
        try:
            with anyio.fail_after(self._timeout_s):
                return await self._fetched(self._base + path)
        except TimeoutError:
            self._failed(f"no answer in {self._timeout_s:g} s")
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as exc:
            self._failed(f"the request failed: {type(exc).__name__}")

    async def _fetched(self, url: str) -> bytes | None:
        # An answer that is not compressed cannot unfold beyond the limit.
        headers = {"accept-encoding": "identity", **self._headers}
        async with (
            client(timeout_s=self._timeout_s + _MARGIN_S, headers=headers) as http,
            http.stream("GET", url) as response,
        ):
            if response.status_code == _NOT_FOUND:
                return None
            if not response.is_success:
                self._failed(f"it answered with status {response.status_code}")
            if response.headers.get("content-encoding", "identity") != "identity":
                self._failed("its answer is compressed though that was not accepted")
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > ASSET_MAX_BYTES:
                    self._failed(f"its answer is over {ASSET_MAX_BYTES} bytes")
            return bytes(content)

    def _failed(self, why: str) -> NoReturn:
        raise SkillUnavailableError(f"{self.label}: {why}")


def _meta(item: Mapping[str, object]) -> SkillMeta:
    """Return what a listed entry says; values that are of another kind are passed over."""
    metadata, tools = item.get("metadata"), item.get("allowed-tools")
    return SkillMeta(
        name=_text(item, "name"),
        description=_text(item, "description"),
        license=_text(item, "license"),
        compatibility=_text(item, "compatibility"),
        metadata={str(key): str(value) for key, value in metadata.items()} if isinstance(metadata, Mapping) else {},
        allowed_tools=tuple(str(tool) for tool in tools) if isinstance(tools, list) else (),
    )


def _text(item: Mapping[str, object], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
