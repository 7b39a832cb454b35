"""The peer: one agent on AgentOS, its model the benchmark's model server. Run with the peer's own Python."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from agno.agent import Agent  # type: ignore[import-not-found]
from agno.db.in_memory import InMemoryDb  # type: ignore[import-not-found]
from agno.models.openai.like import OpenAILike  # type: ignore[import-not-found]
from agno.os import AgentOS  # type: ignore[import-not-found]


def make_app(model_port: int) -> Any:
    """The application. Its database is in memory: the fastest that it has."""
    model = OpenAILike(id="fake-model", base_url=f"http://127.0.0.1:{model_port}/v1", api_key="none")
    agent = Agent(id="bench", model=model, db=InMemoryDb(), telemetry=False)
    return AgentOS(agents=[agent], telemetry=False).get_app()


async def main() -> None:
    """Serve until killed; the first line says the port."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    app = make_app(int(sys.argv[1]))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    print(f"READY {sock.getsockname()[1]}", flush=True)
    await server.serve(sockets=[sock])


if __name__ == "__main__":
    asyncio.run(main())
