"""Calls of Parallel and Team, what their children answer, and how a test reads what came back."""

import json
from collections.abc import Mapping, Sequence

from hilt.app.config import Config
from hilt.app.settings import AgentSettings
from hilt.core.session import UserMessage
from hilt.core.tool import ToolResult
from hilt.ports.model import ModelRequest
from tests.flows.children_kit import Answer, Cast, Part, Stage
from tests.flows.kit import allow, call

LEAD = "You are ann"
ENDED = "The others have ended"
BOB = "You are bob"
CY = "You are cy"
USED = {"usage": {"input": 6_000, "output": 4_000}}
REPORT: Answer = {"text": "All is well."}
RULES = allow("Team", "Look", "Change")
JUDGE = "2 agents worked"
RATER = "An agent worked"


def gives_up(why: str = "no such thing") -> Answer:
    """Return the answer of a provider that fails for good."""
    return {"error": {"status": 400, "message": why}}


def parallel(*tasks: str, **args: object) -> dict[str, object]:
    """Return a call of Parallel."""
    return {"name": "Parallel", "args": {"tasks": list(tasks), **args}}


def body_of(result: ToolResult) -> dict[str, object]:
    """Return the JSON of a result that is no error."""
    assert not result.is_error, result.content
    body: dict[str, object] = json.loads(result.content)
    return body


def entries(body: Mapping[str, object], key: str = "results") -> list[Mapping[str, object]]:
    """Return the entries of branches."""
    found = body[key]
    assert isinstance(found, list)
    return found


async def ran(on: Stage, *tasks: str, **args: object) -> ToolResult:
    """Make one call and return its result."""
    (result,) = await on.play({"calls": [parallel(*tasks, **args)]})
    return result


def judged(best: int, reason: str = "the clearest") -> Answer:
    """Return a judge's answer."""
    return {"text": json.dumps({"best": best, "reason": reason})}


def rated(scores: Mapping[str, object]) -> Part:
    """Return a part that rates a result by a word in it; a word that is missing fails the request."""

    def rate(request: ModelRequest) -> Answer:
        text = prompt_of(request)
        word, score = next((word, score) for word, score in scores.items() if word in text)
        return gives_up() if score is None else {"text": json.dumps({"score": score, "reason": f"so {word}"})}

    return rate


def prompt_of(request: ModelRequest) -> str:
    """Return the last prompt of a request."""
    return [one.text for one in request.messages if isinstance(one, UserMessage) and not one.notice][-1]


async def states(on: Stage) -> list[str]:
    """Return the states of all children of the session."""
    (result,) = await on.play({"calls": [call("SubagentStatus")]})
    return [child["state"] for child in json.loads(result.content)]


def cast_of(parts: Mapping[str, Sequence[Answer | Part]]) -> Cast:
    """Return a cast whose parts begin in any words."""
    return Cast(**parts)


def places(count: int) -> Config:
    """Return settings with room for so many children at once."""
    return Config(agents=AgentSettings(max_concurrent=count))


def plan(**assignments: str) -> Answer:
    """Return the lead's plan."""
    return {"text": json.dumps({"assignments": assignments})}


PLAN = plan(bob="read the tests", cy="read the docs")


def team_cast(parts: Mapping[str, Sequence[Answer | Part]]) -> Cast:
    """Return a cast whose parts begin in any words; those of a team that does well are there."""
    good: dict[str, Sequence[Answer | Part]] = {
        LEAD: [PLAN],
        BOB: [{"text": "bob is done"}],
        CY: [{"text": "cy is done"}],
        ENDED: [REPORT],
    }
    return Cast(**{**good, **parts})


def team(*names: str, goal: str = "Review the code.", **args: object) -> dict[str, object]:
    """Return a call of Team; a name that ends with `!` may change things."""
    members = [
        {"name": name.rstrip("!"), "role": f"role of {name.rstrip('!')}", **({"mutating": True} if "!" in name else {})}
        for name in names or ("ann", "bob", "cy")
    ]
    return {"name": "Team", "args": {"goal": goal, "members": members, **args}}


async def teamed(on: Stage, *names: str, **args: object) -> ToolResult:
    """Make one call and return its result."""
    (result,) = await on.play({"calls": [team(*names, **args)]})  # type: ignore[arg-type]  # a goal among the arguments
    return result


async def inspected(on: Stage, result: ToolResult, member: str, **args: object) -> ToolResult:
    """Return a page of a member's transcript."""
    given = {"team_id": id_of(result), "member": member, **args}
    (shown,) = await on.play({"calls": [call("InspectMember", given)]})
    return shown


def id_of(result: ToolResult) -> str:
    """Return the id of the team that a result names."""
    return result.content.rpartition("team_id: ")[2]


def report_of(result: ToolResult) -> str:
    """Return a result without its last line."""
    return result.content.rpartition("\n\nteam_id: ")[0]


def named(request: ModelRequest) -> set[str]:
    """Return the names of the tools of a request."""
    return {spec.name for spec in request.tools}
