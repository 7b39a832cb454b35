"""Runs one program and ends whatever it leaves behind. A program of its own: process.py starts it, nothing imports it.

Arguments: seconds of processor, bytes of memory, bytes of a file, then the program with its arguments. Standard input
is the leash: once it is readable or closed, everything is ended, so the death of the server ends it too. The exit code
is the program's, 128+n for signal n. It uses few modules, since its start is part of every call.
"""

from __future__ import annotations

import os
import resource
import select
import signal
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

_PR_SET_CHILD_SUBREAPER = 36
_LEASH = 0
_DEAF_TO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_OWN = (*_DEAF_TO, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)


class Keeper:
    """The program's process group, and every orphan of it where the system hands orphans over (Linux)."""

    def __init__(self) -> None:
        self.code: int | None = None
        self._group = 0
        self._wake, wake = os.pipe()
        for end in (self._wake, wake):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        for number in _DEAF_TO:  # else a `kill $PPID` of the program would set it free
            signal.signal(number, signal.SIG_IGN)

    def start(self, program: Sequence[str], limits: Sequence[int]) -> None:
        """Start the program as the leader of its own group. Raises OSError when there can be no more processes."""
        self._group = os.fork()
        if self._group == 0:
            _become(program, limits)
        try:
            os.setpgid(self._group, self._group)
        except OSError:  # it has done so itself, and runs already
            return

    def wait(self) -> bool:
        """Wait for the program's end; False when the leash was pulled first."""
        while self._reap() and self.code is None:
            if _LEASH in self._pause(None, _LEASH):
                return False
        return True

    def end(self, linger: float) -> bool:
        """End what is left, by force if need be; False when all had ended within `linger` seconds."""
        if self._gone_within(linger):
            return False
        self._signal(signal.SIGTERM)
        if not self._gone_within(GRACE_SECONDS):
            self._kill()
        return True

    def _kill(self) -> None:
        """Killing the direct children is enough: theirs become ours, and have their turn in the next round."""
        deadline = time.monotonic() + KILL_SECONDS
        while self._reap() and time.monotonic() < deadline:
            self._signal(signal.SIGKILL)
            self._pause(0.005)

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self._reap():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._pause(left)
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

    def _pause(self, seconds: float | None, *others: int) -> list[int]:
        """Wait until a child ends or one of `others` is readable; what is readable."""
        ready, _, _ = select.select([self._wake, *others], [], [], seconds)
        if self._wake in ready:
            os.read(self._wake, 4096)
        return ready


def _become(program: Sequence[str], limits: Sequence[int]) -> None:
    """In the child: be the program. Never returns."""
    code = CANNOT_RUN
    try:
        os.setpgid(0, 0)
        for number in _OWN:
            signal.signal(number, signal.SIG_DFL)
        _limit(limits)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.execvp(program[0], list(program))
    except FileNotFoundError:
        code = NOT_FOUND
        os.write(2, b"The program was not found.\n")
    except (OSError, ValueError) as error:
        os.write(2, f"The program could not be started: {error}.\n".encode())
    finally:
        os._exit(code)


def _limit(limits: Sequence[int]) -> None:
    """Memory is what a process can write to: address space costs nothing, and Java and others reserve it by GB."""
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
    keeper = Keeper()
    try:
        keeper.start(arguments[3:], [int(limit) for limit in arguments[:3]])
    except OSError as error:
        os.write(2, f"The program could not be started: {error}.\n".encode())
        return CANNOT_RUN
    ended = keeper.wait()
    if keeper.end(LINGER_SECONDS if ended else 0) and ended:
        try:
            os.write(1, LEFT)
        except OSError:  # nobody reads any more
            return keeper.code or 0
    return 128 + signal.SIGKILL if keeper.code is None else keeper.code


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))
