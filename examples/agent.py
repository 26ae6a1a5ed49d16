"""The smallest way in: an agent over one catalog, without sessions, settings or files.

Its conversation goes on from prompt to prompt. Who is asked and what is recorded is in `recorder.py`.
"""

import asyncio

import hilt
from hilt.core.event import ToolSettled


@hilt.tool(read_only=True)
def temperature(place: str, env: hilt.Environment) -> str:
    """Tell how warm it is. Use it for questions on the weather. Do not use it for forecasts."""
    return f"{env.service(dict).get(place, 'unknown')} degrees in {place}"


@hilt.tool
def heat(place: str, degrees: int) -> str:
    """Set the heating. Use it when asked to. Do not use it to ask for the temperature."""
    return f"{place} is heated to {degrees}"


@hilt.hook("PostToolUse", match=["heat"])
async def tell(hook_input: hilt.HookInput) -> hilt.HookAnswer:
    """Add a note to each result of `heat`."""
    return hilt.HookAnswer(additional_context="It takes an hour.")


def show(event: hilt.Event) -> None:
    """Print each result."""
    if isinstance(event.body, ToolSettled):
        print(event.body.result.content)


async def main() -> None:
    """Ask twice: for a temperature and a heating, then for too much heat."""
    catalog = hilt.Catalog()
    for tool in (temperature, heat):
        catalog.register(tool)
    answers: list[dict[str, object]] = [
        {"calls": [{"name": "temperature", "args": {"place": "hall"}}]},
        {"calls": [{"name": "heat", "args": {"place": "hall", "degrees": 21}}]},
        {"text": "Done."},
        {"calls": [{"name": "heat", "args": {"place": "hall", "degrees": 40}}]},
        {"text": "I may not."},
    ]
    agent = hilt.Agent(
        catalog=catalog,
        model=hilt.ScriptedModel(answers),
        env=hilt.Environment(services={dict: {"hall": 15}}),
        system="You look after a house.",
        mode=hilt.Mode.DEFAULT,
        hooks=[tell],
        rules=[hilt.deny("heat(degrees=4*)"), hilt.allow("heat")],
        clock=hilt.SystemClock(),
        limits=hilt.Limits(max_turns=10),
        on_event=show,
    )
    for prompt in ("Is the hall warm? If not, heat it.", "Make it hot!"):
        result = await agent.run(prompt)
        print(f"> {result.final_text} ({result.stop_reason}, {result.tool_calls} calls)")


if __name__ == "__main__":
    asyncio.run(main())
