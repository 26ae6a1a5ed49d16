"""SkillDraft: keeps a proposed skill for people to review; nothing becomes active by it."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

from hilt.core.args import Args
from hilt.core.errors import HiltError, ToolError
from hilt.core.permission import Subject, Subjects
from hilt.core.skill import DRAFT_BODY_MAX_BYTES, SkillRuleError, description_fault, name_fault
from hilt.core.skill_draft import findings, most_similar
from hilt.core.skill_file import parse_skill, skill_text
from hilt.core.tool import ToolCall, ToolResult, ToolSpec
from hilt.ports.skill import DraftStore, NewDraft, SkillAuthor, Skills
from hilt.ports.tool import Environment

SIMILARITY: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillDraftArgs:
    """Arguments of `SkillDraft`."""

    name: Annotated[str, Field(description="Name of the skill: a-z, 0-9, '-' and '_', at most 64 characters.")]
    description: Annotated[str, Field(description="One line: what the skill does and when to use it.")]
    body: Annotated[
        str,
        Field(
            min_length=1, max_length=DRAFT_BODY_MAX_BYTES, description="The instructions, in Markdown, up to 64 KiB."
        ),
    ]


class SkillDraft:
    """Writes a draft with its stamp to where only people promote from."""

    _args = Args(SkillDraftArgs)
    read_only = False
    spec = ToolSpec(
        name="SkillDraft",
        description=(
            "Propose a new skill: keep a draft of it for a person to review. Use it when a way of working proved itself"
            " and will be needed again. A draft is never active by itself: a person promotes it. It replaces nothing."
        ),
        schema=_args.schema,
    )

    def __init__(self, drafts: DraftStore, skills: Skills, *, similarity: float = SIMILARITY) -> None:
        """Take where drafts go, and the skills that a draft is compared with; `similarity` is from 0 to 1."""
        self._drafts = drafts
        self._skills = skills
        self._similarity = similarity

    def subjects(self, call: ToolCall) -> Subjects:
        """Return the skill's name, which unnamed patterns see too."""
        name = (Subject(text=self._args.decode(call).name),)
        return Subjects(unnamed=name, named={"name": name, "asset": ()})

    async def execute(self, call: ToolCall, env: Environment) -> ToolResult:
        """Check the draft, keep it, and name what a reviewer should look at."""
        args = self._args.decode(call)
        text = _checked(args)
        name, share = most_similar(args.body, await self._bodies())
        kept_as = await self._drafts.add(NewDraft(name=args.name, text=text, session=env.session_id, model=_model(env)))
        lines = [f"Draft kept as {kept_as!r}. It is not active; a person promotes it: hilt skills promote {kept_as}"]
        if name and share >= self._similarity:
            lines.append(f"Note: it is {share:.0%} like the skill {name!r}; consider changing that one instead.")
        found = [str(finding) for finding in findings(text)]
        if found:
            lines.append("A reviewer should look at:")
            lines += [f"- {line}" for line in found]
        return ToolResult.text(call.id, "\n".join(lines))

    async def _bodies(self) -> dict[str, str]:
        """Return the bodies of all skills; one that its source does not give is passed over."""
        bodies: dict[str, str] = {}
        for meta in self._skills.metas:
            try:
                bodies[meta.name] = await self._skills.body(meta.name)
            except HiltError:
                continue
        return bodies


def _model(env: Environment) -> str:
    try:
        return env.service(SkillAuthor).model
    except LookupError:
        return ""


def _checked(args: SkillDraftArgs) -> str:
    """Return the text of the draft's file.

    Raises:
        ToolError: It breaks a rule, which is named.
    """
    fault = name_fault(args.name) or description_fault(args.description.strip())
    if fault:
        raise ToolError.invalid_arguments(fault)
    text = skill_text(args.name, args.description.strip(), args.body)
    try:
        parsed = parse_skill(text.encode("utf-8"), folder=args.name)
    except SkillRuleError as exc:
        raise ToolError.invalid_arguments(exc.rule) from None
    size = len(args.body.encode("utf-8"))
    if size > DRAFT_BODY_MAX_BYTES or not parsed.body.strip():
        raise ToolError.invalid_arguments(f"body: it has 1 to {DRAFT_BODY_MAX_BYTES} bytes, this one {size}")
    return text
