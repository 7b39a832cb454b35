"""Reading a model's stream: our whole client path beside the official client, over the same bytes from a socket."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing

import openai

from benchmarks.plan import Plan
from benchmarks.processes import model
from benchmarks.report import Figure, middle, table
from odysseus.config import EndpointConfig
from odysseus.events import TextDelta
from odysseus.providers.base import ChatMessage, ChatRequest
from odysseus.providers.openai import OpenAIProvider

FRAMES = 5_000
ROUNDS = 5


async def measure() -> list[Figure]:
    """The table's lines."""
    async with model() as upstream:
        base_url = f"http://127.0.0.1:{upstream.port}/v1"
        return [*await _compare(base_url, 50), *await _compare(base_url, 1)]


async def _compare(base_url: str, per_write: int) -> list[Figure]:
    plan = Plan(frames=FRAMES, per_write=per_write)
    await ours(base_url, plan), await theirs(base_url, plan)
    rounds = [(await _cpu(ours, base_url, plan), await _cpu(theirs, base_url, plan)) for _ in range(ROUNDS)]
    own, other = (middle(column) for column in zip(*rounds, strict=True))
    ratio, what = middle([b / a for a, b in rounds]), f"{per_write} in a write"
    return [
        Figure(f"CPU a chunk, Odysseus, {what}", own, "us"),
        Figure(f"CPU a chunk, the openai client, {what}", other, "us"),
        Figure("  times less", ratio, "x", least=3.0),
    ]


async def _cpu(read: Callable[[str, Plan], Awaitable[int]], base_url: str, plan: Plan) -> float:
    """Microseconds of this process's CPU a chunk."""
    before = time.process_time()
    characters = await read(base_url, plan)
    spent = time.process_time() - before
    assert characters == plan.frames * plan.size
    return spent / plan.frames * 1e6


async def ours(base_url: str, plan: Plan) -> int:
    """The characters of the answer, read by the provider."""
    provider = OpenAIProvider(EndpointConfig(id="bench", kind="openai", base_url=base_url))
    request = ChatRequest("fake-model", (ChatMessage("user", plan.message),))
    characters = 0
    async with aclosing(provider.stream(request)) as batches:
        async for batch in batches:
            characters += sum(len(chunk.text) for chunk in batch if isinstance(chunk, TextDelta))
    await provider.close()
    return characters


async def theirs(base_url: str, plan: Plan) -> int:
    """The same, read by the official client."""
    characters = 0
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none") as client:
        stream = await client.chat.completions.create(
            model="fake-model", messages=[{"role": "user", "content": plan.message}], stream=True
        )
        async for chunk in stream:
            characters += sum(len(choice.delta.content or "") for choice in chunk.choices)
    return characters


if __name__ == "__main__":
    print(table("Reading a model's stream", asyncio.run(measure())))
