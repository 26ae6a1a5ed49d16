"""`hilt skills`: which skills and commands there are, what one says, and which draft becomes one."""

from collections.abc import Sequence

import anyio
import click

from hilt.app.application import App
from hilt.app.config import Config
from hilt.app.skill_drafts import TIERS, Draft, Drafts
from hilt.app.skills import LoadedSkills, load_skills
from hilt.cli.command import HiltGroup, nearest
from hilt.cli.flags import FULL, Invocation, takes
from hilt.cli.output import one_line, print_json, print_table
from hilt.cli.running import Signals, with_app
from hilt.core.errors import RequestError
from hilt.core.skill import SkillAsset
from hilt.core.skill_draft import findings
from hilt.engine.skills import Found, SkillBook
from hilt.engine.slash import ListedCommand

ABOUT_MAX = 80


@click.group(
    cls=HiltGroup,
    help="Skills, drafts of skills, and slash commands.",
    examples=("hilt skills list", "hilt skills list --commands", "hilt skills show review-sql"),
)
def command() -> None:
    """Group the commands."""


def _loaded(config: Config) -> LoadedSkills:
    return anyio.run(load_skills, config)


@command.command(
    "list",
    help="List the skills with tier and place, and the drafts; with --commands every slash command instead.",
    examples=("hilt skills list", "hilt skills list --commands --trust-project", "hilt skills list --json"),
)
@click.option("--commands", is_flag=True, help="Every slash command with kind, description and what it shadows.")
@takes(*FULL)
def list_(invocation: Invocation, commands: bool) -> None:
    """Print them."""
    config = invocation.config()
    if commands:
        _tell_commands(invocation, with_app(config, _listing))
    else:
        _tell_skills(invocation, config, _loaded(config).book.all)


def _tell_skills(invocation: Invocation, config: Config, skills: Sequence[Found]) -> None:
    drafts = Drafts(config).names() if config.skills.draft_dir is not None else []
    if invocation.json:
        print_json({"skills": [_skill_json(found) for found in skills], "drafts": drafts})
        return
    rows = [(f.meta.name, f.origin.tier, f.origin.place, one_line(f.meta.description, ABOUT_MAX)) for f in skills]
    rows += [(name, "draft", "", "not active; see: hilt skills show " + name) for name in drafts]
    print_table(rows, ("NAME", "TIER", "PLACE", "DESCRIPTION") if rows else ())
    if not rows:
        click.echo("No skills.")


async def _listing(app: App, _: Signals) -> list[ListedCommand]:
    await anyio.lowlevel.checkpoint()
    return app.slash.listing()


def _tell_commands(invocation: Invocation, commands: Sequence[ListedCommand]) -> None:
    if invocation.json:
        print_json({"commands": [_command_json(listed) for listed in commands]})
        return
    rows = [
        (
            f"/{listed.entry.name}",
            listed.entry.kind,
            listed.entry.place,
            ", ".join(f"{hidden.kind} of {hidden.place}" for hidden in listed.shadows) or "-",
            one_line(f"{listed.entry.argument_hint}  {listed.entry.description}", ABOUT_MAX),
        )
        for listed in commands
    ]
    print_table(rows, ("COMMAND", "KIND", "PLACE", "SHADOWS", "DESCRIPTION") if rows else ())
    if not rows:
        click.echo("No commands.")


def _command_json(listed: ListedCommand) -> dict[str, object]:
    entry = listed.entry
    return {
        "name": entry.name,
        "kind": entry.kind,
        "description": entry.description,
        "argument_hint": entry.argument_hint,
        "place": entry.place,
        "shadows": [{"kind": hidden.kind, "place": hidden.place} for hidden in listed.shadows],
    }


def _skill_json(found: Found) -> dict[str, object]:
    meta = found.meta
    return {
        "name": meta.name,
        "description": meta.description,
        "tier": found.origin.tier,
        "place": found.origin.place,
        "license": meta.license,
        "compatibility": meta.compatibility,
        "metadata": dict(meta.metadata),
        "allowed_tools": list(meta.allowed_tools),
        "other": dict(meta.other),
        "notes": list(meta.notes),
    }


@command.command(
    "show",
    help="Show a skill with its assets, or a draft with what a reviewer should look at.",
    examples=("hilt skills show review-sql", "hilt skills show review-sql --json"),
)
@click.argument("name")
@takes(*FULL)
def show(invocation: Invocation, name: str) -> None:
    """Print one."""
    config = invocation.config()
    _tell_named(invocation, config, name, _loaded(config).book)


def _tell_named(invocation: Invocation, config: Config, name: str, book: SkillBook) -> None:
    found = book.get(name)
    if found is not None:
        _tell_skill(invocation, found, *anyio.run(_content, book, name))
        return
    drafts = Drafts(config) if config.skills.draft_dir is not None else None
    if drafts is None or name not in drafts.names():
        known = [meta.name for meta in book.metas]
        raise RequestError(f"no skill {name!r}{nearest(name, known)}; `hilt skills list` shows them", code="not_found")
    draft = drafts.read(name)
    if invocation.json:
        print_json(_draft_json(draft))
    else:
        _tell_draft(draft)


async def _content(book: SkillBook, name: str) -> tuple[str, Sequence[SkillAsset]]:
    return await book.body(name), await book.assets(name)


def _tell_skill(invocation: Invocation, found: Found, body: str, assets: Sequence[SkillAsset]) -> None:
    if invocation.json:
        listed = [{"name": asset.name, "size_bytes": asset.size_bytes} for asset in assets]
        print_json({**_skill_json(found), "body": body, "assets": listed})
        return
    for key, value in _skill_json(found).items():
        if value:
            click.echo(f"{key}: {_in_line(value)}")
    click.echo(f"\n{_safe(body)}")
    for asset in assets:
        click.echo(f"asset {asset.name}" + ("" if asset.size_bytes is None else f" ({asset.size_bytes} bytes)"))


def _in_line(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _safe(text: str) -> str:
    """Return a text as it may be written to a terminal: what cannot be seen is shown by its number."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"<U+{ord(char):04X}>" for char in text)


def _draft_json(draft: Draft) -> dict[str, object]:
    text, stamp = draft.content.decode("utf-8", "replace"), draft.stamp
    return {
        "draft": draft.kept_as,
        "text": text,
        "fault": draft.fault,
        "findings": [{"what": f.what, "line": f.line, "shown": f.shown} for f in findings(text)],
        "session": "" if stamp is None else stamp.session,
        "model": "" if stamp is None else stamp.model,
        "time": "" if stamp is None else stamp.time,
    }


def _tell_draft(draft: Draft) -> None:
    text = draft.content.decode("utf-8", "replace")
    found = findings(text)
    if draft.stamp is not None:
        stamp = draft.stamp
        click.echo(f"draft {draft.kept_as} of {stamp.model or 'a model'} in session {stamp.session}, {stamp.time}\n")
    click.echo(_safe(text))
    click.echo("Look at:" if found else "Nothing stands out.")
    for finding in found:
        click.echo(f"- {finding}")


@command.command(
    "promote",
    help="Make a draft a skill: show its text and what stands out, ask, and copy it into a tier.",
    examples=("hilt skills promote review-sql --to user", "hilt skills promote review-sql --to project --yes"),
)
@click.argument("name")
@click.option("--to", "tier", type=click.Choice(TIERS), required=True, help="Whose skills it joins.")
@click.option("--yes", is_flag=True, help="Confirm beforehand.")
@takes(*FULL)
def promote(invocation: Invocation, name: str, tier: str, yes: bool) -> None:
    """Promote it, after a yes."""
    if invocation.json and not yes:
        raise click.UsageError("--json asks nobody, so it needs --yes")
    drafts = Drafts(invocation.config())
    draft = drafts.read(name)
    drafts.check(draft, tier)
    if not invocation.json:
        _tell_draft(draft)
    if not yes and not click.confirm(f"Copy it into {drafts.target(tier).shown}?"):
        click.echo("Nothing was changed.")
        return
    promoted = drafts.promote(draft, tier)
    if invocation.json:
        print_json({"name": promoted, "tier": tier, **_draft_json(draft)})
        return
    click.echo(f"{promoted} is a skill of the {tier} from the next start on.")
