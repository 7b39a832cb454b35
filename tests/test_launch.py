"""The start and the end of the server: what it announces, what it refuses, what stops it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sqlite3
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from launching import END_SECONDS, READY, SERVER, START_SECONDS, environment, launched
from serving import Stream
from upstream import Hang, Upstream, text_chunk

from odysseus import __version__
from odysseus.launch import INSTANCE, write_private
from server import main

DATABASE = "odysseus.sqlite3"


def upstream_toml(upstream: Upstream, path: Path) -> Path:
    """A settings file whose only endpoint is the scripted upstream."""
    path.write_text(
        '[chat]\nendpoint = "up"\nmodel = "fake-model"\n'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "{upstream.base_url}"\n',
        "utf-8",
    )
    return path


LM_STUDIO = 1234


async def test_the_whole_life_of_a_server(upstream: Upstream, tmp_path: Path) -> None:
    upstream.reply(text_chunk("so far"), Hang())
    config, data, ready = upstream_toml(upstream, tmp_path / "c.toml"), tmp_path / "data", tmp_path / "ready.json"
    async with (
        launched("--config", config, "--data", data, "--port", "0", "--ready-file", ready) as server,
        aiohttp.ClientSession(server.url) as http,
    ):
        assert sorted(server.told) == ["pid", "port", "url", "version"]
        assert server.told["pid"] == server.process.pid
        assert server.told["version"] == __version__
        assert server.told["url"] == f"http://127.0.0.1:{server.told['port']}/"
        assert json.loads(ready.read_text()) == server.told
        for path in (ready, data / INSTANCE, data / DATABASE):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        async with http.post("/api/session", json={}) as response:
            session = (await response.json())["id"]
        async with http.post("/api/chat_stream", json={"session": session, "message": "m"}) as response:
            stream = await Stream(response).until_text("so far")
            server.process.send_signal(signal.SIGTERM)
            begun = time.monotonic()
            await stream.rest()
            ended = await server.ended()
        assert time.monotonic() - begun < 1.5
    assert (ended.code, ended.out) == (0, "")
    assert "Traceback" not in ended.err
    assert not ready.exists()
    assert not (data / INSTANCE).exists()
    assert stream.kinds[-2:] == ["chat_terminal", "error"]
    assert stream.one("error")["status"] == 503
    assert stream.record["stop_reason"] == "server_shutdown"
    assert sorted(os.listdir(tmp_path)) == ["c.toml", "data"]


async def test_a_second_server_on_the_same_data_is_told_who_holds_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with launched("--data", tmp_path, "--port", "0") as first:
        code = await asyncio.to_thread(main, ["--data", str(tmp_path), "--port", "0"])
        told = capfd.readouterr()
        assert code == 2
        assert f"in use by process {first.told['pid']} on port {first.told['port']}." in told.err
        assert told.out == ""
        await first.kill()
    async with launched("--data", tmp_path, "--port", "0") as second:
        second.process.send_signal(signal.SIGINT)
        assert (await second.ended()).code == 0


async def test_it_ends_with_its_killed_parent(tmp_path: Path) -> None:
    words = [sys.executable, str(SERVER), "--data", str(tmp_path), "--port", "0", "--parent-pid"]
    program = f"import os, subprocess; subprocess.run({words!r} + [str(os.getpid())])"
    pipe = asyncio.subprocess.PIPE
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, env=environment()
    )
    assert parent.stdout
    async with asyncio.timeout(START_SECONDS):
        line = (await parent.stdout.readline()).decode()
        parent.kill()
        await parent.wait()
        assert await parent.stdout.read() == b""  # the pipe closes when the server has ended too
    assert line.startswith(READY)
    assert not (tmp_path / INSTANCE).exists()


async def test_the_environment_the_flags_and_the_token_hold(tmp_path: Path) -> None:
    env = environment(ODYSSEUS_SERVER_PORT="1", ODYSSEUS_SERVER_HOST="0.0.0.0", ODYSSEUS_CHAT_MODE="agent", TOKEN="séc")
    args = ("--data", tmp_path, "--port", "0", "--token-env", "TOKEN", "--log-level", "debug")
    async with launched(*args, env=env) as server, aiohttp.ClientSession(server.url) as http:
        assert server.told["url"] == f"http://127.0.0.1:{server.told['port']}/"
        assert server.told["port"] > 1
        async with http.get("/api/health") as response:
            assert response.status == 401
        headers = {"Authorization": "Bearer séc"}
        async with http.post("/api/session", json={}, headers=headers) as response:
            assert (await response.json())["mode"] == "agent"
        server.process.send_signal(signal.SIGTERM)
        ended = await server.ended()
    assert (ended.code, ended.out) == (0, "")
    assert "DEBUG" in ended.err
    assert "séc" not in ended.err


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """A thread that is left behind would keep the process alive for ever."""
    before = set(threading.enumerate())
    yield
    left = {thread for thread in threading.enumerate() if not thread.daemon} - before
    for thread in left:
        thread.join(START_SECONDS)  # one that is ending may take a moment
    assert not [thread for thread in left if thread.is_alive()]


def bad_config(text: str) -> Callable[[Path], list[str]]:
    """Arguments that name a settings file of this text."""

    def write(folder: Path) -> list[str]:
        (folder / "c.toml").write_text(text, "utf-8")
        return ["--config", str(folder / "c.toml"), "--data", str(folder), "--port", "0"]

    return write


def bad_database(*statements: str) -> Callable[[Path], list[str]]:
    """Arguments that name a data folder whose database was made by these statements."""

    def write(folder: Path) -> list[str]:
        connection = sqlite3.connect(folder / DATABASE)
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return ["--data", str(folder), "--port", "0"]

    return write


def made(name: str, content: bytes | None, *args: str) -> Callable[[Path], list[str]]:
    """Arguments, and a file with this content, or a folder, in the data folder."""

    def write(folder: Path) -> list[str]:
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)
        return [arg.format(folder) for arg in args or ("--data", "{}", "--port", "0")]

    return write


ENDPOINT = '[[endpoints]]\nid = "a"\nkind = "openai"\n'
REFUSED: dict[str, tuple[Callable[[Path], list[str]], str]] = {
    "no config": (lambda folder: ["--config", str(folder / "none.toml")], "does not exist"),
    "broken TOML": (bad_config("[server\n"), "not valid TOML"),
    "endless nesting": (bad_config("a = " + "[" * 5000), "nested too deeply"),
    "a folder as config": (lambda folder: ["--config", str(folder)], "cannot be read"),
    "an unknown key": (bad_config("[server]\nprot = 1\n"), "Unknown setting server.prot."),
    "an unknown section": (bad_config("[serv]\n"), "Unknown setting serv."),
    "an unknown key of an endpoint": (bad_config(ENDPOINT + "x = 1\n"), "endpoints[0].x"),
    "a wrong type": (bad_config("[server]\nheartbeat = false\n"), "Setting server.heartbeat: "),
    "an address that is none": (bad_config(ENDPOINT + 'base_url = "http://["\n'), "base_url"),
    "a port beyond all": (lambda _: ["--port", "65536"], "Setting server.port: "),
    "a data folder below a file": (made("f", b"", "--data", "{}/f/data"), "cannot be written: Not a directory"),
    "a data folder that is a file": (made("f", b"", "--data", "{}/f"), "cannot be written"),
    "a lock that is a folder": (made("odysseus.lock", None), "cannot be locked"),
    "a ready file below a file": (
        made("f", b"", "--data", "{}", "--port", "0", "--ready-file", "{}/f/ready"),
        "ready file",
    ),
    "a ready file that is a folder": (
        made("f", None, "--data", "{}", "--port", "0", "--ready-file", "{}/f"),
        "ready file",
    ),
    "a newer database": (bad_database("PRAGMA user_version = 99"), "newer Odysseus"),
    "a database that is none": (made(DATABASE, os.urandom(5000)), "damaged"),
    "a database that is a folder": (made(DATABASE, None), "cannot be written"),
    "a database without its tables": (bad_database("PRAGMA user_version = 1"), "could not be read"),
    "a database of another program": (bad_database("CREATE TABLE runs (a)"), "could not be read"),
    "a token variable that is not set": (lambda _: ["--token-env", "NO_SUCH_TOKEN"], "NO_SUCH_TOKEN"),
    "every address without a token": (lambda _: ["--host", "0.0.0.0"], "a token is required"),
    "every address of IPv6 without a token": (lambda _: ["--host", "::"], "a token is required"),
    "an empty host without a token": (lambda _: ["--host", ""], "a token is required"),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("make", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_wrong_at_the_start_is_one_clear_line(
    make: Callable[[Path], list[str]], words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(make(tmp_path)) == 2
    refusal(capfd, words)
    assert not (tmp_path / INSTANCE).exists()


@pytest.mark.parametrize("host", ["a..b", "x" * 80, "nosuch.invalid", "192.0.2.1"])
def test_a_host_that_cannot_be_bound_is_one_clear_line(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOKEN", "secret")
    assert main(["--host", host, "--port", "0", "--data", str(tmp_path), "--token-env", "TOKEN"]) == 2
    refusal(capfd, "Cannot listen on")


def test_a_port_in_use_is_one_clear_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["--port", str(port), "--data", str(tmp_path)]) == 2
    refusal(capfd, f"Port {port} on 127.0.0.1 is in use.")


@pytest.mark.parametrize("name", ["ODYSSEUS_SERVER_PROT", "ODYSSEUS_CHAT_X"])
def test_an_unknown_setting_in_the_environment_is_named(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "1")
    assert main([]) == 2
    refusal(capfd, name)


@pytest.mark.parametrize("pid", ["0", "-1", "99999999999", "0000000000199999999999", "x"])
def test_a_parent_that_cannot_be_is_refused(pid: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--parent-pid", pid])
    assert ended.value.code == 2
    assert "--parent-pid" in capfd.readouterr().err


def test_a_private_file_is_whole_or_not_there(tmp_path: Path) -> None:
    write_private(tmp_path / "f", "one")
    write_private(tmp_path / "f", "two")
    assert (tmp_path / "f").read_text() == "two"
    (tmp_path / "d").mkdir()
    with pytest.raises(IsADirectoryError):
        write_private(tmp_path / "d", "three")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "f"]


def refusal(capfd: pytest.CaptureFixture[str], words: str) -> None:
    """Nothing on stdout, one line for the user on stderr that holds `words`, no traceback."""
    told = capfd.readouterr()
    assert told.out == ""
    assert "Traceback" not in told.err
    lines = [line for line in told.err.splitlines() if line.startswith("odysseus: ")]
    assert len(lines) == 1, told.err
    assert words in lines[0]
    assert told.err.endswith(lines[0] + "\n")


async def test_a_model_server_of_this_machine_is_found_at_the_start(tmp_path: Path) -> None:
    asked = asyncio.Event()

    async def models(_: web.Request) -> web.Response:
        asked.set()
        return web.json_response({"object": "list", "data": [{"id": "found-model", "object": "model"}]})

    app = web.Application()
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, "127.0.0.1", LM_STUDIO).start()
        except OSError:
            pytest.skip("a program of this machine has the port of LM Studio")
        async with launched("--data", tmp_path, "--port", "0") as server:
            async with asyncio.timeout(END_SECONDS):
                await asked.wait()
            assert server.process.stderr
            told = b""
            async with asyncio.timeout(END_SECONDS):
                while b"LM Studio" not in told:
                    told += await server.process.stderr.readline()
        assert b"127.0.0.1:1234" in told
    finally:
        await runner.cleanup()
