"""The embedded model with tools, the real one: that it makes the right calls, and answers from what they gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from local_models import ManualClock, answer, real_model, text

from odysseus.config import LocalConfig
from odysseus.events import TextDelta, UsageReport
from odysseus.providers.base import ChatMessage, ChatRequest, Chunk, Finished, ToolCall, ToolCallFragment, ToolSpec
from odysseus.providers.local import LocalProvider
from odysseus.providers.local_tools import LEAST_BYTES

pytestmark = [pytest.mark.model, pytest.mark.timeout(900)]

GUARD_SECONDS = 850.0
MOST_ROUNDS = 6


def tool(name: str, description: str, *needed: str, **optional: Any) -> ToolSpec:
    properties = {**{each: {"type": "string"} for each in needed}, **optional}
    return ToolSpec(name, description, {"type": "object", "properties": properties, "required": list(needed)})


TOOLS = (
    tool("calculate", "Work out an arithmetic expression exactly.", "expression"),
    tool("current_time", "Tell the current date and time.", time_zone={"type": ["string", "null"]}),
    tool("read_file", "Read a text file of the workspace.", "path", lines={"type": "integer"}),
    tool("write_file", "Write a text file, whole.", "path", "content"),
    tool("web_fetch", "Fetch a page of the web and give its text.", "url"),
    tool("web_search", "Search the web and list results.", "query"),
    tool("bash", "Run a shell command in the workspace and give its output.", "command"),
    tool("remember", "Keep a fact about the user for later chats.", "text"),
)
Wanted = tuple[str, Mapping[str, str]] | None
REQUESTS: list[tuple[str, Wanted]] = [
    ("What is 23 * 19?", ("calculate", {"expression": "23*19"})),
    ("What time is it?", ("current_time", {})),
    ("Read the file README.md", ("read_file", {"path": "README.md"})),
    ("Fetch https://example.com/", ("web_fetch", {"url": "https://example.com/"})),
    ("Run ls -la", ("bash", {"command": "ls-la"})),
    ("Write 'hello' to the file a.txt", ("write_file", {"path": "a.txt", "content": "hello"})),
    ("Search the web for the best pizza in Rome", ("web_search", {"query": "bestpizzainRome"})),
    ("Hi there!", None),
    ("What is the capital of Norway?", None),
]
RIGHT_AT_LEAST = 8


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[LocalProvider]:
    (tmp_path / "able.gguf").symlink_to(real_model(LEAST_BYTES))
    made = LocalProvider(LocalConfig(model="able"), tmp_path, ManualClock())
    async with asyncio.timeout(GUARD_SECONDS):
        yield made
        await made.close()


def asking(*messages: ChatMessage) -> ChatRequest:
    return ChatRequest("", messages, temperature=0, max_tokens=100, tools=TOOLS)


async def first_call(provider: LocalProvider, words: str) -> Wanted:
    """The call that the model makes for these words, its arguments without blanks. An answer is not waited for."""
    async with aclosing(provider.stream(asking(ChatMessage("user", words)))) as stream:
        async for batch in stream:
            for call in batch:
                if isinstance(call, TextDelta):
                    return None
                if isinstance(call, ToolCall):
                    given = json.loads(call.arguments)
                    return call.name, {name: "".join(str(value).split()) for name, value in given.items()}
    return None


async def test_it_makes_the_right_call_with_the_right_arguments(provider: LocalProvider) -> None:
    wrong = [f"{words} -> {got}" for words, wanted in REQUESTS if (got := await first_call(provider, words)) != wanted]
    right = len(REQUESTS) - len(wrong)
    assert right >= RIGHT_AT_LEAST, f"{right} of {len(REQUESTS)} right; wrong: {wrong}"


FILES = {"a.txt": "The code word is heron.", "b.txt": "The number is 42.", "notes.txt": "Anna comes on Tuesday."}
WORK: Mapping[str, Callable[[Mapping[str, str]], str]] = {
    "calculate": lambda given: {"23*19": "437"}.get(given["expression"].replace(" ", ""), "Error"),
    "current_time": lambda given: "Saturday, 28 November 2026, 14:05",
    "read_file": lambda given: FILES.get(given["path"], "Error: there is no such file."),
    "bash": lambda given: "On branch harbour, nothing to commit",
}


async def work(provider: LocalProvider, words: str) -> tuple[list[str], str]:
    """The calls until the answer, and the answer."""
    messages = [ChatMessage("user", words)]
    made: list[str] = []
    for _ in range(MOST_ROUNDS):
        chunks = await answer(provider, asking(*messages))
        calls = [chunk for chunk in chunks if isinstance(chunk, ToolCall)]
        check_shape(chunks, calling=bool(calls))
        if not calls:
            return made, text(chunks)
        messages.append(ChatMessage("assistant", "", tool_calls=tuple(calls)))
        for call in calls:
            arguments = json.loads(call.arguments)
            made.append(f"{call.name} {json.dumps(arguments)}")
            given = WORK[call.name](arguments) if call.name in WORK else "Done."
            messages.append(ChatMessage("tool", given, tool_call_id=call.id))
    return made, ""


def check_shape(chunks: list[Chunk], *, calling: bool) -> None:
    """A call and a text are never in one answer; the numbers are those of all that was asked for it."""
    (usage,) = [chunk for chunk in chunks if isinstance(chunk, UsageReport)]
    assert chunks[-1] == Finished("tool_calls" if calling else "stop", "stop")
    assert bool(text(chunks)) is not calling
    assert any(isinstance(chunk, ToolCallFragment) for chunk in chunks) is calling
    assert usage.input_tokens > 400
    assert usage.output_tokens > 0


TASKS = [
    ("What is 23 * 19?", "437"),
    ("Read a.txt. What is the code word?", "heron"),
    ("When does Anna come? It is in notes.txt.", "Tuesday"),
]
DONE_AT_LEAST = 2


async def test_it_answers_from_the_results_and_never_makes_the_same_call_twice(provider: LocalProvider) -> None:
    failed = []
    for words, wanted in TASKS:
        made, said = await work(provider, words)
        assert len(made) == len(set(made)) < MOST_ROUNDS
        failed += [] if wanted in said and made else [f"{words} -> {made}, {said!r}"]
    done = len(TASKS) - len(failed)
    assert done >= DONE_AT_LEAST, f"{done} of {len(TASKS)} done; not: {failed}"


async def test_every_sound_schema_is_taken(provider: LocalProvider) -> None:
    step = {"type": "object", "properties": {"text": {"type": "string", "pattern": "(?=x)"}, "state": {"enum": ["a"]}}}
    odd = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}}, "any": True, "more": {}},
        "$defs": {"Step": step},
        "required": ["steps"],
    }
    tools = (ToolSpec("plan", "Make a plan.", odd), ToolSpec("stop-now.2", "Stop.", {}), *TOOLS)
    request = ChatRequest("", (ChatMessage("user", "Hi!"),), temperature=0, max_tokens=8, tools=tools)
    assert isinstance((await answer(provider, request))[-1], Finished)


async def test_a_closed_stream_stops_the_decision(provider: LocalProvider) -> None:
    await provider.preload()
    task = asyncio.create_task(answer(provider, asking(ChatMessage("user", "word " * 3000))))
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    while provider.state() != "ready":
        await asyncio.sleep(0.01)
    started = loop.time()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert loop.time() - started < 3
    assert provider.state() in ("ready", "idle")
