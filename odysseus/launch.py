"""From settings to a listening server and back: the lock, the socket, the ready line, the signals.

Everything that can be wrong here ends the start with one ConfigError; nothing is announced before it works.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from filelock import FileLock, Timeout

from odysseus import __version__
from odysseus.app import Place, make_app
from odysseus.archive.restore import finish_restore
from odysseus.config import Config
from odysseus.errors import ConfigError
from odysseus.web.endpoints import new_local
from odysseus.web.guard import is_loopback
from odysseus.web.services import SERVICES, Services

log = logging.getLogger(__name__)

BACKLOG = 1024
LOCK = "odysseus.lock"
INSTANCE = "odysseus.json"
PARENT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Launch:
    """What the command line says besides the settings."""

    data: Path
    ready_file: Path | None = None
    token_env: str | None = None
    parent_pid: int | None = None
    open_browser: bool = False


def data_folder(path: Path) -> Path:
    """The data folder, made if need be, for this user only. Raises ConfigError when it cannot be written."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        probe = path / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ConfigError(
            f"The data folder {path} cannot be written: {error.strerror}. Choose another with --data."
        ) from error
    return path.resolve()


def token_of(name: str | None, host: str, environ: Mapping[str, str]) -> str:
    """The access token. Raises ConfigError where one is needed or named but not there."""
    token = environ.get(name, "") if name else ""
    if name and not token:
        raise ConfigError(f"The environment variable {name} (--token-env) is empty. Put the access token in it.")
    if not token and not is_loopback(host):
        raise ConfigError(
            f"Listening on {host or 'every address'} lets other machines in, so a token is required: "
            "put one in an environment variable and name it with --token-env."
        )
    return token


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ConfigError when the address cannot be had."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not a host name"
        raise ConfigError(f"Cannot listen on {host!r}: {reason}.") from error
    try:
        if os.name == "posix":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"Port {port} on {host} is in use. Choose another with --port; 0 picks a free one."
            ) from error
        raise ConfigError(f"Cannot listen on port {port} of {host}: {error.strerror}.") from error
    sock.setblocking(False)
    return sock


@contextmanager
def only_instance(data: Path) -> Iterator[Path]:
    """Hold the data folder; gives the file that tells who does. Raises ConfigError that names the holder."""
    lock = FileLock(data / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise ConfigError(
            f"The data folder {data} is in use{_holder(data)}. Stop it, or choose another with --data."
        ) from error
    except OSError as error:
        raise ConfigError(
            f"The data folder {data} cannot be locked: {error.strerror}. Choose another with --data."
        ) from error
    try:
        finish_restore(data)
        yield data / INSTANCE
    finally:
        (data / INSTANCE).unlink(missing_ok=True)
        lock.release()


def _holder(data: Path) -> str:
    try:
        told = json.loads((data / INSTANCE).read_text("utf-8"))
        return f" by process {told['pid']} on port {told['port']}"
    except (OSError, ValueError, KeyError, TypeError):
        return " by another process"


def write_private(path: Path, text: str) -> None:
    """Put a file in place whole, readable by this user only. Raises OSError and leaves nothing."""
    descriptor, draft = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        os.unlink(draft)
        raise


async def serve(config: Config, launch: Launch) -> int:
    """Serve until a signal, or until the parent has ended. Gives the exit code."""
    host = config.server.host
    token = token_of(launch.token_env, host, os.environ)
    with only_instance(launch.data) as instance, bind(host, config.server.port) as sock:
        app = make_app(config, Place(launch.data, host, token))
        # A client that does not read is waited for twice: once for its handler to end, once after it was cancelled.
        patience = config.server.shutdown_seconds / 2
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=patience)
        # Before anything is announced: who reads the ready line may stop the server at once.
        stopped = _catch_signals()
        await runner.setup()
        try:
            await web.SockSite(runner, sock, backlog=BACKLOG).start()
            told = ready(host, sock)
            gc.freeze()  # all that is there by now stays: each full pass over it would hold the loop for 20 ms
            with _announced(told, instance, launch.ready_file):
                _open_browser(launch, told, token)
                app[SERVICES].router.preload()
                beside = [
                    asyncio.create_task(app[SERVICES].shelf.preload(), name="make tools"),
                    asyncio.create_task(_tell_local_servers(app[SERVICES], int(told["port"])), name="look around"),
                ]
                try:
                    await _until_stopped(stopped, launch.parent_pid)
                finally:
                    for task in beside:
                        task.cancel()
                    await asyncio.wait(beside)
        finally:
            await runner.cleanup()
    return 0


async def _tell_local_servers(services: Services, port: int) -> None:
    """Say which model servers run on this machine; the page's list of endpoints offers them."""
    for one in await new_local(services, port):
        log.info("%s answers at %s. Add it on the page, under Endpoints.", one.endpoint.label, one.endpoint.base_url)


def ready(host: str, sock: socket.socket) -> dict[str, str | int]:
    """What the ready line and the ready file say."""
    port = int(sock.getsockname()[1])
    shown = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return {"url": f"http://{shown}:{port}/", "port": port, "pid": os.getpid(), "version": __version__}


@contextmanager
def _announced(told: Mapping[str, str | int], instance: Path, ready_file: Path | None) -> Iterator[None]:
    """Say that the server listens; the ready file is there as long as that is true. Raises ConfigError."""
    text = json.dumps(told)
    for path in (instance, ready_file):
        if path is not None:
            try:
                write_private(path, text)
            except OSError as error:
                raise ConfigError(f"The ready file {path} cannot be written: {error.strerror}.") from error
    print(f"ODYSSEUS_READY {text}", flush=True)
    try:
        yield
    finally:
        if ready_file is not None:
            ready_file.unlink(missing_ok=True)


def _open_browser(launch: Launch, told: Mapping[str, str | int], token: str) -> None:
    if launch.open_browser:
        address = f"{told['url']}?token={token}" if token else str(told["url"])
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, address)


def _catch_signals() -> asyncio.Event:
    """An event that SIGINT and SIGTERM set."""
    stopped = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):  # Windows has no signal handlers on the loop; Ctrl-C raises there
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
    return stopped


async def _until_stopped(stopped: asyncio.Event, parent_pid: int | None) -> None:
    """Return on a signal, or when the process `parent_pid` has ended."""
    if parent_pid is None:
        await stopped.wait()
        return
    parent = os.getppid()
    while not stopped.is_set() and _alive(parent_pid, parent):
        with suppress(TimeoutError):
            async with asyncio.timeout(PARENT_SECONDS):
                await stopped.wait()


def _alive(pid: int, parent: int) -> bool:
    """Whether the process still runs; a direct parent that is dead but not yet reaped counts as gone."""
    if pid == parent and os.getppid() != parent:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if sys.platform == "win32":  # os.kill(pid, 0) would end the process there

    def _alive(pid: int, parent: int) -> bool:
        import ctypes

        handle = ctypes.windll.kernel32.OpenProcess(0x00100000, False, pid)
        if not handle:
            return False
        gone = ctypes.windll.kernel32.WaitForSingleObject(handle, 0) == 0
        ctypes.windll.kernel32.CloseHandle(handle)
        return not gone
