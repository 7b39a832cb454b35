"""Runs one program and ends whatever it leaves behind. The whole of a process of its own, which process.py starts.

Arguments: seconds of processor, bytes of memory, bytes of a file, then the program with its arguments. Standard input
is the leash: once it is readable or closed, everything is ended, so the death of the server ends it too. The exit code
is the program's, 128+n for signal n. Its start is part of every call, so it does without `signal`, which is slow to
import: the numbers of these signals are the same wherever it runs.
"""

from __future__ import annotations

import os
import resource
import select
import sys
import time
from collections.abc import Sequence

LINGER_SECONDS = 0.2
GRACE_SECONDS = 0.3
KILL_SECONDS = 2.0
CPU_GRACE = 2
CANNOT_RUN = 126
NOT_FOUND = 127
LEFT = b"\n[What it left running was ended with it.]\n"

_LEASH = 0
_SIGKILL, _SIGPIPE, _SIGTERM, _SIGXFSZ = 9, 13, 15, 25
_POLL_SECONDS = 0.005
_PR_SET_CHILD_SUBREAPER = 36


class Keeper:
    """The program's process group, and every orphan of it where the system hands orphans over (Linux)."""

    def __init__(self, program: Sequence[str]) -> None:
        """Start the program. Raises OSError."""
        self.code: int | None = None
        self._group = os.posix_spawnp(
            program[0],
            list(program),
            os.environ,
            file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)],
            setpgroup=0,
            setsigdef=[_SIGPIPE, _SIGXFSZ],  # which Python ignores
        )

    def wait(self) -> bool:
        """Wait for the program's end; False when the leash was pulled first."""
        watched, seconds = [_LEASH], None
        try:
            watched.append(os.pidfd_open(self._group))
        except (AttributeError, OSError):  # not Linux, or an old one
            seconds = 2 * _POLL_SECONDS
        while self._reap() and self.code is None:
            ready, _, _ = select.select(watched, [], [], seconds)
            if _LEASH in ready:
                return False
        return True

    def end(self, linger: float) -> bool:
        """End what is left, by force if need be; False when all had ended within `linger` seconds."""
        if self._gone_within(linger):
            return False
        self._signal(_SIGTERM)
        if not self._gone_within(GRACE_SECONDS):
            self._kill()
        return True

    def _kill(self) -> None:
        """Killing the direct children is enough: theirs become ours, and have their turn in the next round."""
        deadline = time.monotonic() + KILL_SECONDS
        while self._reap() and time.monotonic() < deadline:
            self._signal(_SIGKILL)
            time.sleep(_POLL_SECONDS / 10)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._reap():
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _reap(self) -> bool:
        """Collect the dead; whether anything is still there."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._group:
                    code = os.waitstatus_to_exitcode(status)
                    self.code = code if code >= 0 else 128 - code
        except ChildProcessError:
            return _send_group(self._group, 0)

    def _signal(self, number: int) -> None:
        _send_group(self._group, number)
        for pid in _children():
            try:
                os.kill(pid, number)
            except OSError:  # gone meanwhile
                continue


def _send_group(group: int, number: int) -> bool:
    """Send a signal to a group; whether there is one."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


def _children() -> list[int]:
    """The direct children, adopted ones too; none where there is no /proc."""
    me = os.getpid()
    try:
        with open(f"/proc/self/task/{me}/children", "rb") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return [pid for pid in _processes() if _parent(pid) == me]


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _limit(limits: Sequence[int]) -> None:
    """Limit this process, and so the program. Memory is what can be written to: Java and others reserve more by GB."""
    cpu, memory, file_size = limits
    wanted = {
        resource.RLIMIT_CPU: (cpu, cpu + CPU_GRACE),
        resource.RLIMIT_DATA: (memory, memory),
        resource.RLIMIT_FSIZE: (file_size, file_size),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, (soft, hard) in wanted.items():
        most = resource.getrlimit(kind)[1]
        within = (soft, hard) if most == resource.RLIM_INFINITY else (min(soft, most), min(hard, most))
        resource.setrlimit(kind, within)


def _adopt_orphans() -> None:
    """Become the parent of what the program detaches from itself. Without it only the group can be ended."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def main(arguments: Sequence[str]) -> int:
    """Run the program to its end, or to the end of the leash; its exit code."""
    _adopt_orphans()
    try:
        _limit([int(limit) for limit in arguments[:3]])
        keeper = Keeper(arguments[3:])
    except (OSError, ValueError) as error:
        os.write(2, f"The program could not be started: {error}.\n".encode())
        return NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT_RUN
    ended = keeper.wait()
    if keeper.end(LINGER_SECONDS if ended else 0) and ended:
        try:
            os.write(1, LEFT)
        except OSError:  # nobody reads any more
            return keeper.code or 0
    return 128 + _SIGKILL if keeper.code is None else keeper.code
