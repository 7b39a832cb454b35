"""A real OpenAI-compatible server as the upstream: the embedded runtime's own, with a real model."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from typing import Any

import pytest
from local_models import GUARD_SECONDS, real_model
from wire_files import Played, collect

from odysseus.config import EndpointConfig
from odysseus.providers.base import ChatMessage, ChatRequest, ToolCall, ToolSpec
from odysseus.providers.openai import OpenAIProvider

pytestmark = pytest.mark.model

KEY = "a-key-of-the-test"
# A process of its own: the runtime holds the interpreter's lock while it loads. It ends with its input.
SERVER = """
import os, sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.model_alias, params.api_keys = sys.argv[1], ["real"], [sys.argv[2]]
params.n_ctx, params.n_parallel, params.hostnames, params.ui = 2048, 1, ["127.0.0.1"], False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.use_jinja, params.verbosity = True, -1
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""
TOOL = ToolSpec("get_time", "Tells the time.", {"type": "object", "properties": {"city": {"type": "string"}}})
QUESTION = ChatMessage("user", "What time is it in Oslo?")


@pytest.fixture
async def base_url() -> AsyncIterator[str]:
    """The address of the server, which lives as long as the test."""
    command = (sys.executable, "-c", SERVER, str(real_model()), KEY)
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
    try:
        async with asyncio.timeout(GUARD_SECONDS):
            assert process.stdout
            yield f"{(await process.stdout.readline()).decode().strip()}/v1"
    finally:
        process.kill()
        await process.communicate()


async def ask(base_url: str, *messages: ChatMessage, **more: Any) -> Played:
    """The answer over a connection of its own: this server closes those that it says it keeps."""
    provider = OpenAIProvider(EndpointConfig(id="real", kind="openai", base_url=base_url, api_key=KEY))
    try:
        assert [model.id for model in await provider.models()] == ["real"]
    finally:
        await provider.close()
    provider = OpenAIProvider(EndpointConfig(id="real", kind="openai", base_url=base_url, api_key=KEY))
    try:
        return await collect(provider, ChatRequest("real", messages, temperature=0, max_tokens=24, **more))
    finally:
        await provider.close()


async def test_a_real_server_takes_tools_schemas_and_replayed_calls(base_url: str) -> None:
    call = ToolCall("call00001", "get_time", '{"city":"Oslo"}')
    result = ChatMessage("tool", "12:30", tool_call_id=call.id)
    schema = {"type": "object", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]}
    offered = await ask(base_url, QUESTION, tools=(TOOL,))
    replayed = await ask(base_url, QUESTION, ChatMessage("assistant", "", tool_calls=(call,)), result, tools=(TOOL,))
    shaped = await ask(base_url, QUESTION, response_schema=schema)
    for played in (offered, replayed, shaped):
        assert played.failure is None
        assert played.text or played.calls
        assert {call.name for call in played.calls} <= {"get_time"}
        assert played.usage[0].input_tokens > 0
        assert played.models == ["real"]
        assert len(played.finished) == 1
    assert shaped.text.lstrip().startswith("{")
