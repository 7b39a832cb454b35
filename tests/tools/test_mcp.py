"""MCP servers as tools: what they offer, their calls, their death and their end. The servers are real children."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import psutil  # type: ignore[import-untyped]
import pytest
import pytest_asyncio
from contexts import context
from serving import HandClock

from odysseus.clock import SystemClock
from odysseus.config import McpConfig
from odysseus.tools.base import Tool, ToolContext, ToolError, ToolResult
from odysseus.tools.mcp import McpServers, check_arguments, tool_name, usable_schema
from odysseus.tools.mcp_server import McpTimes

GUARD = 40.0
EXAMPLE = str(Path(__file__).parent / "mcp_server_example.py")

# A server of the old protocol, in few lines.
SMALL = r"""
import json, os, sys
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def tool(name): return {"name": name, "inputSchema": {"type": "object"}}
tools = [tool("read"), tool("environment")]
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        info = {"name": "small", "version": "1"}
        say(id=asked["id"], result={"protocolVersion": "2025-03-26", "capabilities": {"tools": {}}, "serverInfo": info})
    elif asked["method"] == "tools/list":
        say(id=asked["id"], result={"tools": tools})
    elif asked["method"] == "tools/call" and asked["params"]["name"] == "environment":
        say(id=asked["id"], result={"content": [{"type": "text", "text": " ".join(os.environ)}]})
    elif asked["method"] == "tools/call":
        tools += [tool("more"), tool("read")]
        say(method="notifications/tools/list_changed")
        say(id=asked["id"], error={"code": -32603, "message": "no such file"})
    elif "id" in asked:
        UNKNOWN
"""
TWIN = SMALL.replace("UNKNOWN", 'say(id=asked["id"], error={"code": -32601, "message": "what?"})')
ENDS_AT_THE_UNKNOWN = SMALL.replace("UNKNOWN", "sys.exit(3)")


def script(source: str, name: str = "small", **over: Any) -> McpConfig:
    """A server that is a few lines of Python."""
    return McpConfig(name=name, command=(sys.executable, "-I", "-S", "-c", source), **over)


@asynccontextmanager
async def running(
    *configs: McpConfig, clock: HandClock | None = None, times: McpTimes | None = None
) -> AsyncIterator[McpServers]:
    servers = McpServers(configs, clock or SystemClock(), times)
    servers.start()
    try:
        yield servers
    finally:
        await servers.close()


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so that has no event of its own."""
    async with asyncio.timeout(GUARD):
        while not condition():
            await asyncio.sleep(0.01)


async def until_state(servers: McpServers, *states: str) -> None:
    await until(lambda: [server.state for server in servers.states()] == list(states))


async def use(servers: McpServers, name: str, given: Mapping[str, Any], folder: Path, **over: Any) -> ToolResult:
    """Call a tool as the loop does."""
    return await run(named(servers.tools(), name), given, context(folder, **over))


async def run(tool: Tool, given: Mapping[str, Any], where: ToolContext) -> ToolResult:
    return await tool.run(tool.parse(given), where)


def named(tools: Sequence[Tool], name: str) -> Tool:
    return next(tool for tool in tools if tool.name == name)


def is_gone(number: int) -> bool:
    """Whether a process has ended; one that nobody has fetched counts."""
    try:
        return bool(psutil.Process(number).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def open_files(number: int) -> set[str]:
    """What a process has open, pipes by their numbers."""
    return {os.readlink(link) for link in Path(f"/proc/{number}/fd").iterdir() if link.is_symlink()}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared() -> AsyncIterator[McpServers]:
    """The example over its pipes, for all tests that leave it as it is; `twin` has a tool of the same name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-secret")
        patch.setenv("KEPT", "yes")
        command, keep = (sys.executable, EXAMPLE), ("KEPT", "NOT_THERE")
        example = McpConfig(name="example", command=command, env={"GIVEN": "v4lue"}, keep_env=keep)
        async with running(example, script(TWIN, "twin", policy="allow", seconds=7)) as servers:
            await until_state(servers, "ready", "ready")
            yield servers


with_shared = pytest.mark.asyncio(loop_scope="module")


@with_shared
async def test_a_tool_is_offered_with_its_schema_effects_and_policy(shared: McpServers) -> None:
    echo = named(shared.tools(), "example__echo")
    assert echo.parameters["properties"]["text"]["type"] == "string"
    assert echo.parameters["required"] == ["text"]
    assert echo.effects == {"read", "network"}
    assert (echo.policy, echo.seconds, echo.outside) == ("ask", 60, True)
    assert named(shared.tools(), "example__fail").effects == {"write", "network", "execute"}
    assert "destructive" in named(shared.tools(), "example__wipe").effects


@with_shared
async def test_two_servers_may_have_a_tool_of_the_same_name(shared: McpServers, tmp_path: Path) -> None:
    names = [tool.name for tool in shared.tools()]
    assert len(set(names)) == len(names)
    twin = named(shared.tools(), "twin__environment")
    assert (twin.policy, twin.seconds) == ("allow", 7)
    mine = await use(shared, "example__environment", {}, tmp_path)
    theirs = await use(shared, "twin__environment", {}, tmp_path)
    assert "GIVEN" in mine.output
    assert "GIVEN" not in theirs.output


@with_shared
async def test_a_description_stays_one_short_line(shared: McpServers) -> None:
    text = named(shared.tools(), "example__wipe").description
    assert text.startswith("[MCP server example] Tidy up ")
    assert text.endswith("…")
    assert len(text) < 640
    assert not {"\n", "\x1b"} & set(text)
    assert "<|" not in text


@with_shared
async def test_a_call_gives_the_text(shared: McpServers, tmp_path: Path) -> None:
    result = await use(shared, "example__echo", {"text": "hey", "times": "2"}, tmp_path)
    assert (result.output, result.exit_code) == ("heyhey", 0)


@with_shared
async def test_a_name_that_models_do_not_take_is_changed_and_still_called(shared: McpServers, tmp_path: Path) -> None:
    name = tool_name("example", "get.weather")
    result = await use(shared, name, {"city": "Bergen"}, tmp_path)
    assert '"degrees": 7' in result.output


@with_shared
async def test_a_result_without_text_is_shown_as_json(shared: McpServers, tmp_path: Path) -> None:
    assert (await use(shared, "example__structured", {}, tmp_path)).output == '{"answer":[1,2]}'


@with_shared
async def test_an_error_of_a_tool_is_a_failed_result(shared: McpServers, tmp_path: Path) -> None:
    result = await use(shared, "example__fail", {}, tmp_path)
    assert result.exit_code == 1
    assert "the disk is full" in result.output


@with_shared
async def test_other_content_is_described_with_its_type_and_size(shared: McpServers, tmp_path: Path) -> None:
    result = await use(shared, "example__picture", {}, tmp_path)
    assert result.output.splitlines() == [
        "look",
        "[image: image/png, 100 bytes, not shown]",
        "[link: page, https://example.org/]",
        "[note://1]",
        "remember",
    ]


@with_shared
async def test_a_server_gets_no_variable_that_was_not_meant_for_it(shared: McpServers, tmp_path: Path) -> None:
    names = (await use(shared, "example__environment", {}, tmp_path)).output.split()
    assert {"GIVEN", "KEPT", "PATH"} <= set(names)
    assert "OPENAI_API_KEY" not in names
    assert "KEPT" not in (await use(shared, "twin__environment", {}, tmp_path)).output.split()


@with_shared
async def test_the_user_is_shown_the_whole_call(shared: McpServers, tmp_path: Path) -> None:
    echo = named(shared.tools(), "example__echo")
    given = echo.parse({"text": "x" * 500})
    preview = await echo.preview(given, context(tmp_path))
    assert preview.content.startswith("echo on the MCP server example\n")
    assert "x" * 500 in preview.content
    assert preview.fingerprint
    assert len(echo.command(given)) == 240


async def cancel_a_slow_call(servers: McpServers, name: str, folder: Path) -> None:
    """Call `slow`, cancel it when it is heard of, and wait until the server has heard of that."""
    heard: asyncio.Queue[str] = asyncio.Queue()
    calling = asyncio.create_task(
        use(servers, name, {"folder": str(folder)}, folder, progress=lambda message, _tail: heard.put_nowait(message))
    )
    async with asyncio.timeout(GUARD):
        assert await heard.get() == "1 of 4 reading the first"
        began = time.monotonic()
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        assert time.monotonic() - began < 0.5
    await until((folder / "cancelled").exists)


@with_shared
async def test_a_cancelled_call_returns_at_once_and_ends_on_the_server(shared: McpServers, tmp_path: Path) -> None:
    await cancel_a_slow_call(shared, "example__slow", tmp_path)
    assert (await use(shared, "example__echo", {"text": "on"}, tmp_path)).output == "on"


async def test_a_killed_server_is_started_again_and_nothing_is_left_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    async with running(McpConfig(name="example", command=(sys.executable, EXAMPLE)), clock=clock) as servers:
        await until_state(servers, "ready")
        slow, process = (named(servers.tools(), f"example__{name}") for name in ("slow", "process"))
        started = asyncio.Event()
        here = context(tmp_path, progress=lambda _message, _tail: started.set())
        calling = asyncio.create_task(run(slow, {"folder": str(tmp_path)}, here))
        await asyncio.wait_for(started.wait(), GUARD)
        number = int((await run(process, {}, here)).output)

        os.kill(number, signal.SIGKILL)
        with pytest.raises(ToolError, match="example went away during the call"):
            await calling
        await until(lambda: servers.states()[0].note == "It was killed by signal 9.")
        assert servers.states()[0].state == "failed"
        assert servers.tools() == []

        waiting = asyncio.create_task(run(slow, {"folder": str(tmp_path)}, here))
        await asyncio.sleep(0)
        clock.advance(5)
        with pytest.raises(ToolError, match=r"example is not running\. It was killed by signal 9\."):
            await waiting
        again = int((await run(process, {}, here)).output)
        assert again != number
        assert servers.states()[0].state == "ready"

        await use(servers, "example__grow", {}, tmp_path)
        await until(lambda: any(tool.name == "example__newcomer" for tool in servers.tools()))
        child = int((await use(servers, "example__stubborn", {}, tmp_path)).output)
        began = time.monotonic()
        await servers.close()
        assert time.monotonic() - began < 1.5
        await until(lambda: is_gone(again) and is_gone(child))
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "The MCP server example failed. It was killed by signal 9."
    ]


async def test_a_server_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        f"open({str(tmp_path / 'number')!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    )
    async with running(script(deaf)) as servers:
        await until(lambda: (tmp_path / "number").exists() and (tmp_path / "number").read_text() != "")
        began = time.monotonic()
        await servers.close()
        assert time.monotonic() - began < 1.5
    await until(lambda: is_gone(int((tmp_path / "number").read_text())))


async def test_a_child_that_left_the_group_does_not_keep_the_pipes_open(tmp_path: Path) -> None:
    leaver = (
        "import subprocess, sys; "
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True); "
        f"open({str(tmp_path / 'number')!r}, 'w').write(str(child.pid)); sys.stdin.read()"
    )
    async with running(script(leaver)) as servers:
        await until(lambda: (tmp_path / "number").exists() and (tmp_path / "number").read_text() != "")
        child = psutil.Process(int((tmp_path / "number").read_text()))
        try:
            began = time.monotonic()
            await servers.close()
            assert time.monotonic() - began < 1.5
            assert not open_files(os.getpid()) & open_files(child.pid) - {"/dev/null"}
        finally:
            child.kill()


async def test_a_server_that_never_answers_fails_in_words(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "odysseus.tools")
    clock = HandClock()
    mute = script("import sys; sys.stdin.read()", "mute")
    loud = script("import sys\nwhile sys.stdin.readline(): print('Good morning', flush=True)", "loud")
    async with running(mute, loud, clock=clock) as servers:
        await until(lambda: "loud printed a line that is no message: b'Good morning" in caplog.text)
        clock.advance(60)
        await until_state(servers, "failed", "failed")
        quiet, garbled = servers.states()
        assert quiet.note == "It did not answer within 60 seconds."
        assert "It prints text on its standard output" in garbled.note
        assert servers.tools() == []


async def test_a_program_that_is_not_there_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = HandClock()
    config = McpConfig(name="gone", command=("no-such-program-here", "--key=k3y"), env={"TOKEN": "s3cret"})
    async with running(config, clock=clock) as servers:
        for _ in range(3):
            await until_state(servers, "failed")
            clock.advance(60)
        await until_state(servers, "failed")
        assert servers.states()[0].note == "Its program was not found. Check the command."
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert warnings == ["The MCP server gone failed. Its program was not found. Check the command."]


async def test_the_pauses_between_starts_grow_to_a_minute() -> None:
    asked: list[float] = []

    class Noting(HandClock):
        def call_later(self, seconds: float, callback: Callable[[], None]) -> Any:
            if seconds != 999:
                asked.append(seconds)
                asyncio.get_running_loop().call_soon(callback)
            return super().call_later(seconds, callback)

    async with running(McpConfig(name="gone", command=("no-such-program",)), clock=Noting(), times=McpTimes(start=999)):
        await until(lambda: len(asked) >= 8)
    assert asked[:8] == [1, 2, 4, 8, 16, 32, 60, 60]


async def test_an_old_server_gets_the_old_handshake(tmp_path: Path) -> None:
    clock = HandClock()
    async with running(script(ENDS_AT_THE_UNKNOWN, "old"), clock=clock) as servers:
        await until(lambda: servers.states()[0].note == "It ended with exit code 3.")
        clock.advance(1)
        await until_state(servers, "ready")
        assert [tool.name for tool in servers.tools()] == ["old__read", "old__environment"]
        result = await use(servers, "old__read", {}, tmp_path)
        assert (result.output, result.exit_code) == ("no such file", 1)
        # A second `read` would be one name too many.
        await until(lambda: [tool.name for tool in servers.tools()][-1:] == ["old__more"])


async def test_a_server_that_speaks_something_else_fails_in_words() -> None:
    other = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": json.loads(line).get("id"), "result": {"hello": 1}}), flush=True)
"""
    async with running(script(other), clock=HandClock()) as servers:
        await until_state(servers, "failed")
        assert servers.states()[0].note == "Its answer does not fit the protocol."


async def test_a_message_without_an_end_ends_the_server(tmp_path: Path) -> None:
    endless = "import sys\nwhile True: sys.stdout.write('x' * 65536)"
    async with running(script(endless), clock=HandClock()) as servers:
        await until_state(servers, "failed")
        assert servers.states()[0].note == "It closed its output, or sent a message that is too long."


@asynccontextmanager
async def http_example() -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    process = await asyncio.create_subprocess_exec(sys.executable, EXAMPLE, "http", stdout=subprocess.PIPE)
    try:
        assert process.stdout
        port = int(await asyncio.wait_for(process.stdout.readline(), GUARD))
        yield f"http://127.0.0.1:{port}/mcp", process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_server_over_http_is_used_and_its_death_is_noticed_by_a_call(tmp_path: Path) -> None:
    clock = HandClock()
    async with http_example() as (url, process), running(McpConfig(name="far", url=url), clock=clock) as servers:
        await until_state(servers, "ready")
        echo = named(servers.tools(), "far__echo")
        assert (await use(servers, "far__echo", {"text": "hey"}, tmp_path)).output == "hey"
        await cancel_a_slow_call(servers, "far__slow", tmp_path)
        process.kill()
        await process.wait()
        with pytest.raises(ToolError, match="far went away during the call"):
            await echo.run({"text": "hey"}, context(tmp_path))
        await until(lambda: servers.states()[0].note == "It cannot be reached. Check that it runs, and the url.")


async def test_a_refusal_over_http_is_told_by_its_status_without_the_headers(
    aiohttp_server: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from aiohttp import web

    server = await aiohttp_server(web.Application())
    config = McpConfig(name="far", url=str(server.make_url("/mcp?key=k3y")), headers={"Authorization": "Bearer s3cret"})
    caplog.set_level(logging.INFO)
    async with running(config, clock=HandClock()) as servers:
        await until_state(servers, "failed")
        assert servers.states()[0].note == "It answered with HTTP status 404. Check the url and the headers."
    # The test's own server writes down whom it answered.
    ours = [record.getMessage() for record in caplog.records if record.name != "aiohttp.access"]
    assert len(ours) == 1
    assert not {"s3cret", "k3y"} & set(re.split(r"\W+", ours[0]))


async def test_without_the_extra_every_server_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("odysseus.tools.mcp_connection")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "mcp", None)
    async with running(script("", "one"), script("", "two")) as servers:
        await until_state(servers, "missing", "missing")
        assert "pip install 'odysseus[mcp]'" in servers.states()[0].note
        assert servers.tools() == []


def test_the_library_is_not_loaded_before_a_server_is_started() -> None:
    source = "import sys, odysseus.tools.mcp; sys.exit('mcp' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", source], check=False).returncode == 0


async def test_without_servers_there_is_nothing_to_start() -> None:
    async with running() as servers:
        assert (servers.tools(), servers.states()) == ([], [])


def test_names_are_fit_for_models_and_never_the_same() -> None:
    pairs = [
        ("files", "read"),
        ("files", "re.ad"),
        ("files", "re/ad"),
        ("files", "re_ad"),
        ("files", "x" * 100),
        ("files", "x" * 101),
        ("files", "läs"),
        ("files", ""),
        ("a", "b__c"),
        ("a__b", "c"),
        ("a", "_b"),
        ("a_", "b"),
        ("s" * 32, "y" * 64),
    ]
    names = [tool_name(server, tool) for server, tool in pairs]
    assert len(set(names)) == len(pairs)
    assert names[0] == "files__read"
    for name in names:
        assert 0 < len(name) <= 64
        assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"type": ["object", "null"]}, {"properties": []}, {"x": "y" * 40_000}]
)
def test_a_schema_that_is_no_object_or_too_long_is_not_usable(schema: Mapping[str, Any]) -> None:
    assert usable_schema(schema) is None


def test_a_schema_that_is_usable_can_be_sent() -> None:
    schema: Mapping[str, Any] = {}
    while usable := usable_schema({"properties": {"a": schema}}):
        orjson.dumps({"tools": [{"function": {"parameters": usable}}]})
        schema = {"items": schema}


def test_arguments_are_checked_and_a_number_in_a_string_counts() -> None:
    schema = usable_schema(
        {"properties": {"n": {"type": "integer"}, "m": {"type": ["null", "string"]}, "any": {}}, "required": ["n"]}
    )
    assert schema
    assert check_arguments("t", schema, {"n": "3", "m": None, "any": [1], "more": 1}) == {
        "n": 3,
        "m": None,
        "any": [1],
        "more": 1,
    }
    with pytest.raises(ToolError, match=r"`n` is missing\. Its arguments are: n, m, any"):
        check_arguments("t", schema, {})
    with pytest.raises(ToolError, match="`m` must be of the type null or string"):
        check_arguments("t", schema, {"n": 1, "m": 5})
