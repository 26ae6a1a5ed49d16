"""Skills from a directory and from a source of the host's own: listed to the model, activated, called as `/name`."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import hilt


class HouseStyle:
    """A source of one skill, held in memory; a database or a service would do the same four things."""

    label = "the house style"

    def __init__(self) -> None:
        self.body = "Write in short sentences. Use British spelling."
        self.assets = {"words.md": "colour, not color"}

    async def list_skills(self) -> Sequence[hilt.SkillMeta]:
        """Return the one skill."""
        return [hilt.SkillMeta(name="house-style", description="How we write. Use it before writing any text.")]

    async def skill_body(self, name: str) -> str:
        """Return its instructions."""
        return self.body

    async def list_skill_assets(self, name: str) -> Sequence[hilt.SkillAsset]:
        """Return the files that belong to it."""
        return [hilt.SkillAsset(name=asset, size_bytes=len(text)) for asset, text in self.assets.items()]

    async def read_skill_asset(self, skill: str, asset: str) -> bytes:
        """Return one file."""
        if asset not in self.assets:
            raise hilt.AssetNotFound(skill, asset)
        return self.assets[asset].encode()


async def main() -> None:
    sources: list[hilt.SkillSource] = [hilt.SkillDirectory(Path(__file__).parent / "skills"), HouseStyle()]
    async with hilt.build(skill_sources=sources, enable={"skills"}, model=hilt.ScriptedModel()) as app:
        print("skills:", ", ".join(meta.name for meta in app.skills.metas))
        session = await app.sessions.create()
        for arguments in ({"name": "house-style"}, {"name": "house-style", "asset": "words.md"}):
            result = await session.call_tool("Skill", json.dumps(arguments))
            print("asset:" if "asset" in arguments else ">", result.content.splitlines()[0])
        print("/house-style:", await app.slash.expand("/house-style"))


if __name__ == "__main__":
    asyncio.run(main())
