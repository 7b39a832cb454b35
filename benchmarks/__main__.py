"""`python -m benchmarks [name ...]`: measure, and print one table a benchmark. It is never a test: it exits 0."""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import os
import sys
import time

from benchmarks.processes import LOAD_CORE, pin
from benchmarks.report import table

NAMES = {
    "throughput": "1. One unthrottled stream",
    "delay": "2. Added delay",
    "fanout": "3. One run to 1,000 subscribers",
    "replay": "4. Replay of 100,000 frames",
    "stalled": "5. Stalled readers and stops",
    "memory": "6. Start and memory",
    "peers": "7. Beside AgentOS",
    "normalise": "8. Reading a stream beside the official client",
    "round": "9. A round of an agent",
    "agents": "10. Named agents",
    "retrieval": "11. The library",
    "context": "12. A prompt of many turns",
    "page": "13. The page in Chromium",
    "reading": "13. Streams beside files that are read",
}


def main() -> int:
    """Run the named benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which to run: {', '.join(NAMES)} (default: all)")
    names = parser.parse_args().names or list(NAMES)
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}")
    if not hasattr(os, "sched_setaffinity"):
        print("The benchmarks need Linux.", file=sys.stderr)
        return 0
    pin(LOAD_CORE)
    gc.disable()  # a pause of the clients would count as a delay of the servers
    begun = time.monotonic()
    for name in names:
        figures = asyncio.run(importlib.import_module(f"benchmarks.{name}").measure())
        print(table(NAMES[name], figures), flush=True)
        print()
    print(f"{time.monotonic() - begun:.0f} seconds; load average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
