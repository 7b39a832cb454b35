"""What models are fetched from in tests: a file server on a loopback port, and small packages. Knows nothing of the app
but the catalogue's values."""

from __future__ import annotations

import hashlib
import random
import re
import struct
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from odysseus.models.catalogue import KnownModel, Source, Wheel, WheelSource

GUARD_SECONDS = 20.0


def gguf(size: int = 3_000_000, *, window: int = 4096, seed: int = 7) -> bytes:
    """Bytes that begin like a GGUF whose head names its window."""
    key = b"tiny.context_length"
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, window)
    return head + random.Random(seed).randbytes(size - len(head))


def sha256(data: bytes) -> str:
    """The hash as hex."""
    return hashlib.sha256(data).hexdigest()


def known(data: bytes, *sources: Source, name: str = "tiny") -> KnownModel:
    """A catalogue entry for these bytes."""
    return KnownModel(name, "Tiny", "MIT", len(data), sha256(data), 4096, sources)


@dataclass
class FileServer:
    """Serves one file, and can misbehave. `seen` has each request's headers."""

    data: bytes
    url: str = ""
    ranges: bool = True
    status: int = 0
    cut_after: int = 0  # bytes of the next answer before the connection is cut
    hold: threading.Event | None = None  # an answer stops after `cut_after` bytes until this is set
    seen: list[dict[str, str]] = field(default_factory=list)
    reached: threading.Event = field(default_factory=threading.Event)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        self.seen.append({key.lower(): value for key, value in handler.headers.items()})
        found = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "")) if self.ranges else None
        start = int(found[1]) if found else 0
        handler.send_response(self.status or (206 if found else 200))
        handler.send_header("Content-Length", str(len(self.data) - start))
        handler.end_headers()
        body, cut = self.data[start:], self.cut_after
        self.cut_after = 0
        handler.wfile.write(body[: cut or len(body)])
        handler.wfile.flush()
        self.reached.set()
        if self.hold:
            self.hold.wait(GUARD_SECONDS)


@contextmanager
def file_server(data: bytes) -> Iterator[FileServer]:
    """A running FileServer."""
    served = FileServer(data)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that leaves early is part of the tests

    with Quiet(("127.0.0.1", 0), Handler) as server:
        served.url = f"http://127.0.0.1:{server.server_port}/model.gguf"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield served
        finally:
            if served.hold:
                served.hold.set()
            server.shutdown()
            thread.join()


def build_wheel(folder: Path, name: str, member: bytes) -> Wheel:
    """Write a package that holds `member`, and describe it."""
    module = name.replace("-", "_")
    inside, info = f"{module}/data/part.bin", f"{module}-1.0.dist-info"
    path = folder / f"{module}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        wheel.writestr(inside, member)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return Wheel(name, "1.0", sha256(path.read_bytes()), inside, len(member))


def build_wheels(folder: Path, data: bytes, parts: int) -> WheelSource:
    """The data cut into so many packages."""
    step = -(-len(data) // parts)
    cuts = [data[at : at + step] for at in range(0, len(data), step)]
    return WheelSource("the index", tuple(build_wheel(folder, f"tiny-part{i}", cut) for i, cut in enumerate(cuts)))
