"""A thousand readers in one thread: a bare epoll loop, several times cheaper than an event loop with callbacks.

With fewer reads a second than the server writes, the clients' own queue would be measured.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.client import Pieces, arrivals

READ_BYTES = 65_536


class Crowd:
    """Connections to one port. Everything blocks: use it in a thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._epoll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        self._pieces: list[tuple[float, int, bytes]] = []

    def join(self, requests: Sequence[bytes], marker: bytes) -> bytes:
        """Send each request on a connection of its own, once the one before has read `marker`. Gives the last head."""
        head = b""
        for data in requests:
            sock = socket.create_connection(("127.0.0.1", self._port))
            sock.sendall(data)
            head = b""
            while marker not in head:
                head += sock.recv(READ_BYTES)
            sock.setblocking(False)
            self._sockets[sock.fileno()] = sock
            self._epoll.register(sock, select.EPOLLIN)
        return head

    def read(self, silence: float) -> None:
        """Read all that comes, until nothing has come for so many seconds."""
        receive = {fd: sock.recv for fd, sock in self._sockets.items()}
        keep, now, poll = self._pieces.append, time.monotonic, self._epoll.poll
        while ready := poll(silence, len(receive)):
            for fd, _ in ready:
                data = receive[fd](READ_BYTES)
                keep((now(), fd, data))
                if not data:
                    self._epoll.unregister(fd)

    def arrivals(self, pattern: re.Pattern[bytes]) -> list[tuple[float, bytes]]:
        """When each match was whole at each of them, and its first group."""
        of: defaultdict[int, Pieces] = defaultdict(list)
        for at, fd, data in self._pieces:
            of[fd].append((at, data))
        return [found for pieces in of.values() for found in arrivals(pieces, pattern)]

    def close(self) -> None:
        """Leave."""
        for sock in self._sockets.values():
            sock.close()
        self._epoll.close()
