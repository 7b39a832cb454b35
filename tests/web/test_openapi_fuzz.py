"""The running server against its own description: whatever is asked, it answers as it says it does.

ODYSSEUS_FUZZ_EXAMPLES asks for more examples of each call, and for runs of calls that use each other's answers.
"""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import GenerationMode
from serving import serving, upstream_config
from upstream import Upstream

from odysseus.web.openapi.document import document

LONG = "ODYSSEUS_FUZZ_EXAMPLES" in os.environ
EXAMPLES = int(os.environ.get("ODYSSEUS_FUZZ_EXAMPLES", "6"))
AGENT = {"endpoint": "up", "model": "fake-model", "max_sessions": 100_000}
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
CHECKS = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "use_after_free",
]
"""Not whether good data is taken and bad data is not: a message may be empty for its meaning, and `1` is a boolean."""


@dataclass(frozen=True)
class Running:
    """A server in a thread, and a session that it has."""

    url: str
    session: str


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    """The real server with a scripted model, in a thread of its own, since the client here does not await."""
    ready, told = threading.Event(), dict[str, Any]()

    async def serve() -> None:
        stop = asyncio.Event()
        async with Upstream() as upstream:
            # No model by this name can be installed, so an install that is asked for is refused.
            config = upstream_config(upstream.base_url, local={"model": "none"}, **{"agents.helper": AGENT})
            async with serving(config, folder) as server:
                told.update(loop=asyncio.get_running_loop(), stop=stop, url=server.url, session=await server.session())
                ready.set()
                await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield Running(told["url"], told["session"])
    finally:
        told["loop"].call_soon_threadsafe(told["stop"].set)
        thread.join(10)


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("fuzz")) as server:
        yield server


@pytest.fixture(scope="module")
def client() -> Iterator[requests.Session]:
    with requests.Session() as session:
        yield session


def described() -> Any:
    """The document as the fuzzer has it: values that fit, and values that do not."""
    schema = schemathesis.openapi.from_dict(document())
    schema.config.generation.update(modes=list(GenerationMode))
    schema.config.checks.update(included_check_names=CHECKS)
    schema.config.phases.coverage.enabled = LONG
    return schema


SCHEMA = described()


def use_what_is_there(case: Any, target: Running) -> None:
    """Most calls are about a session and an agent that exist; the session is not deleted."""
    values = case.path_parameters or {}
    if case.method == "DELETE" or zlib.crc32(repr(values).encode()) % 4 == 0:
        return
    for name, value in {"session": target.session, "agent_name": "helper"}.items():
        if name in values:
            values[name] = value
    if isinstance(case.body, dict) and "session" in case.body:
        case.body["session"] = target.session


@SCHEMA.parametrize()  # type: ignore[untyped-decorator]
@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=SLOW)
def test_a_call_is_answered_as_described(case: Any, target: Running, client: requests.Session) -> None:
    use_what_is_there(case, target)
    case.call_and_validate(target.url, session=client, timeout=20)


@pytest.mark.skipif(not LONG, reason="set ODYSSEUS_FUZZ_EXAMPLES for the long runs")
def test_calls_that_use_each_others_answers_are_answered_as_described(target: Running) -> None:
    schema = described()
    schema.config.update(base_url=target.url)
    steps = settings(max_examples=EXAMPLES, stateful_step_count=20, deadline=None, suppress_health_check=SLOW)
    schema.as_state_machine().run(settings=steps)
