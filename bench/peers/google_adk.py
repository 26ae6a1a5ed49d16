"""google-adk: `InMemoryRunner` over an `LlmAgent`; a plain function runs on the event loop."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from bench.peers import Call, Function, Run


@asynccontextmanager
async def turner(function: Function) -> AsyncIterator[Run]:
    """Yield a run with a session of its own."""
    agents = import_module("google.adk.agents")
    model_class = import_module("google.adk.models.base_llm").BaseLlm
    response = import_module("google.adk.models.llm_response").LlmResponse
    runners = import_module("google.adk.runners")
    tools = import_module("google.adk.tools")
    types = import_module("google.genai.types")
    waiting: list[Call] = []

    class OneTurn(model_class):  # type: ignore[misc, valid-type]  # the peer is not installed where types are checked
        """Makes the given calls, then is done."""

        async def generate_content_async(self, *_: object, **__: object) -> AsyncIterator[object]:
            """Stream one answer in the library's own form."""
            parts = [
                types.Part(function_call=types.FunctionCall(name=call.name, args=call.arguments, id=call.id))
                for call in waiting
            ]
            waiting.clear()
            yield response(content=types.Content(role="model", parts=parts or [types.Part(text="done")]))

    agent = agents.LlmAgent(name="bench", model=OneTurn(model="bench"), tools=[tools.FunctionTool(function)])
    runner = runners.InMemoryRunner(agent=agent, app_name="bench")

    async def run(calls: Sequence[Call]) -> str:
        waiting.extend(calls)
        session = await runner.session_service.create_session(app_name="bench", user_id="u")
        prompt = types.Content(role="user", parts=[types.Part(text="go")])
        last = None
        async for event in runner.run_async(user_id="u", session_id=session.id, new_message=prompt):
            last = event
        return "" if last is None else str(last.content.parts[0].text)

    yield run
