"""The process that asks DuckDuckGo through the library `ddgs`, so that a search can be ended with it.

Stdin: a line of JSON with `query`, `timelimit`, `max_results`, `seconds`. Stdout: one JSON object with `rows`, or with
`failed`: missing, refused, timeout, network. Runs as a script and knows nothing of the rest of the program.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def main() -> None:
    """Read, ask, answer."""
    sys.stdout.write(json.dumps(ask(json.loads(sys.stdin.buffer.readline()))))


def ask(request: dict[str, Any]) -> dict[str, Any]:
    """What the library found, or the kind of its failure."""
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    except ImportError:
        return {"failed": "missing"}
    try:
        rows = DDGS(timeout=request["seconds"]).text(
            request["query"],
            region="wt-wt",
            timelimit=request["timelimit"],
            max_results=request["max_results"],
            backend="duckduckgo",
        )
    except RatelimitException:
        return {"failed": "refused"}
    except TimeoutException:
        return {"failed": "timeout"}
    except DDGSException as error:
        return {"rows": []} if "No results" in str(error) else {"failed": "network"}
    return {"rows": rows}


if __name__ == "__main__":
    main()
