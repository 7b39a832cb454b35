"""The embedded model's own process: llama.cpp with one model in memory, driven over pipes.

Run by its path, never imported by the server. A process of its own, because the runtime holds the interpreter's lock
while it loads, and because this way a damaged model file, a stop or an unload cannot hurt the server.

Lines of JSON in: the settings first, then `{"generate": body}`, `{"stop": true}` or `{"count": texts, "id": number}`.
Lines out: `{"loaded": true}` or `{"failed": "missing" | "runtime" | "model", "detail": text}`; then per generation
`{"chunk": object}` and a last `{"end": true}`; and between them `{"counted": number, "tokens": counts | null}`. The end
of the input ends the process.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import secrets
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any, BinaryIO

COUNT_SECONDS = 10.0
BATCH = 64
"""Tokens of the prompt between two looks at the stop flag."""


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the server decides
    output = _take_stdout()
    settings = json.loads(sys.stdin.buffer.readline())
    try:
        server, key = _load(settings)
    except ModuleNotFoundError as error:
        _fail(output, "missing", error)
    except ImportError as error:
        _fail(output, "runtime", error)
    except (RuntimeError, ValueError, MemoryError) as error:
        _fail(output, "model", error)
    else:
        _put(output, b'{"loaded": true}')
        _serve(server, key, output)
    os._exit(0)


def _take_stdout() -> BinaryIO:
    """Keep the pipe for the protocol; whatever the runtime prints goes to stderr."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return output


def _load(settings: dict[str, Any]) -> tuple[Any, str]:
    """The runtime, and the key of its port."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = [settings["name"]]
    params.n_ctx = settings["n_ctx"]
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.use_jinja = True
    params.cache_ram_mib = settings["cache_mib"]
    params.verbosity = settings["verbosity"]
    key = _close_the_port(params)
    return xllamacpp.Server(params), key


def _close_the_port(params: Any) -> str:
    """The runtime always listens on a free loopback port: a random key shuts it for all but this process."""
    key = secrets.token_hex(32)
    params.api_keys = [key]
    params.cors_origins = "null"
    params.hostnames = ["127.0.0.1"]
    params.n_threads_http = 1
    params.ui = False
    params.endpoint_slots = False
    return key


def _serve(server: Any, key: str, output: BinaryIO) -> None:
    work: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    counts: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    stop = threading.Event()
    threading.Thread(target=_generate_all, args=(server, output, work, stop), daemon=True).start()
    threading.Thread(target=_count_all, args=(server.listening_address, key, output, counts), daemon=True).start()
    for line in sys.stdin.buffer:
        command = json.loads(line)
        if "generate" in command:
            stop.clear()
            work.put(json.dumps(command["generate"]).encode())
        elif "count" in command:
            counts.put(command)
        else:
            stop.set()


def _count_all(address: str, key: str, output: BinaryIO, counts: queue.SimpleQueue[dict[str, Any]]) -> None:
    """The runtime has its tokenizer at its port only; it answers there while it generates."""
    while True:
        command = counts.get()
        tokens = _count(address, key, command["count"])
        _put(output, json.dumps({"counted": command["id"], "tokens": tokens}).encode())


def _count(address: str, key: str, texts: Sequence[str]) -> list[int] | None:
    connection = http.client.HTTPConnection(address.rpartition("/")[2], timeout=COUNT_SECONDS)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    counted = []
    try:
        for text in texts:
            connection.request("POST", "/tokenize", json.dumps({"content": text}), headers)
            counted.append(len(json.loads(connection.getresponse().read())["tokens"]))
    except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
        print(f"the texts cannot be counted: {error}", file=sys.stderr)
        return None
    finally:
        connection.close()
    return counted


def _generate_all(server: Any, output: BinaryIO, work: queue.SimpleQueue[bytes], stop: threading.Event) -> None:
    def take(data: bytes) -> bool:
        if not stop.is_set():
            _put(output, b'{"chunk": %b}' % data)
        return stop.is_set()

    while True:
        body = work.get()
        try:
            server.handle_chat_completions(body, take)
        except (RuntimeError, ValueError, MemoryError) as error:
            failure = {"error": {"code": 500, "message": str(error)}}
            _put(output, b'{"chunk": %b}' % json.dumps(failure).encode())
        _put(output, b'{"end": true}')


def _fail(output: BinaryIO, reason: str, error: BaseException) -> None:
    _put(output, json.dumps({"failed": reason, "detail": str(error)}).encode())


def _put(output: BinaryIO, line: bytes) -> None:
    try:
        output.write(line + b"\n")
        output.flush()
    except OSError:
        os._exit(0)  # the server is gone


if __name__ == "__main__":
    main()
