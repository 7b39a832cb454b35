"""The bytes of `tests/wire/`, and ways to play them to a provider through a real socket.

Every file is one answer of a model server, named after its provider and its quirk. Knows nothing of a vendor's words.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from upstream import GUARD_SECONDS, SSE_HEADERS, Pause, Step, Upstream

from odysseus.errors import ProviderError
from odysseus.events import ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import (
    AnsweredBy,
    ChatMessage,
    ChatRequest,
    Chunk,
    Finished,
    Provider,
    ProviderState,
    ToolCall,
    ToolCallFragment,
)
from odysseus.providers.http import Reading

FOLDER = Path(__file__).parent / "wire"
NDJSON_HEADERS: Mapping[str, str] = {"Content-Type": "application/x-ndjson"}
ASK = ChatRequest("fake-model", (ChatMessage("user", "Hi"),))


@dataclass
class Played:
    """An answer as its reader has it: every chunk, and the failure it ended with."""

    chunks: list[Chunk] = field(default_factory=list)
    failure: str | None = None
    status: int | None = None
    retryable: bool | None = None

    def fail(self, error: ProviderError) -> None:
        """Keep the error that ended it."""
        self.failure, self.status, self.retryable = error.message, error.status, error.retryable

    @property
    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, TextDelta))

    @property
    def reasoning(self) -> str:
        return "".join(chunk.text for chunk in self.chunks if isinstance(chunk, ReasoningDelta))

    @property
    def fragments(self) -> list[ToolCallFragment]:
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolCallFragment)]

    @property
    def calls(self) -> list[ToolCall]:
        return [chunk for chunk in self.chunks if isinstance(chunk, ToolCall)]

    @property
    def states(self) -> list[ProviderState]:
        return [chunk for chunk in self.chunks if isinstance(chunk, ProviderState)]

    @property
    def usage(self) -> list[UsageReport]:
        return [chunk for chunk in self.chunks if isinstance(chunk, UsageReport)]

    @property
    def models(self) -> list[str]:
        return [chunk.model for chunk in self.chunks if isinstance(chunk, AnsweredBy)]

    @property
    def finished(self) -> list[Finished]:
        return [chunk for chunk in self.chunks if isinstance(chunk, Finished)]

    @property
    def message(self) -> ChatMessage:
        """The answer as the next request of the same conversation has it."""
        state = self.states[0].data if self.states else None
        return ChatMessage("assistant", self.text, tool_calls=tuple(self.calls), reasoning=self.reasoning, state=state)


def wire(name: str) -> bytes:
    """The bytes of the file `name`, like `anthropic-text.sse`."""
    return (FOLDER / name).read_bytes()


def wire_names(prefix: str) -> list[str]:
    """The files whose names begin so, in order; for `parametrize`. At least one must be there."""
    names = sorted(path.name for path in FOLDER.iterdir() if path.name.startswith(prefix))
    assert names, f"no wire file begins with {prefix}"
    return names


def headers_of(name: str) -> Mapping[str, str]:
    """The headers that go with a file of this name."""
    return NDJSON_HEADERS if name.endswith(".ndjson") else SSE_HEADERS


def ways(body: bytes, seed: str = "", rounds: int = 1) -> list[list[bytes]]:
    """The body whole, byte by byte, and cut `rounds` times at random places, the same ones for the same seed."""
    chance, size = random.Random(seed), len(body)
    cuts = [sorted({0, size, *chance.choices(range(size), k=2 + 8 * number)}) for number in range(rounds)]
    return [[body], *([body[start:end] for start, end in pairwise(cut)] for cut in (range(size + 1), *cuts))]


class _Turns(asyncio.Event):
    """A pause that lets everybody else have a few turns, so that the reader meets each write alone."""

    async def wait(self) -> Literal[True]:
        for _ in range(2):
            await asyncio.sleep(0)
        return True


def apart(pieces: Iterable[bytes]) -> list[Step]:
    """The steps that send each piece in a write of its own and let it be read before the next."""
    return [step for piece in pieces for step in (piece, Pause(_Turns()))]


async def collect(provider: Provider, request: ChatRequest = ASK) -> Played:
    """The answer to the request, however it ends."""
    played = Played()
    try:
        async with asyncio.timeout(4 * GUARD_SECONDS):
            async for batch in provider.stream(request):
                assert batch, "a batch is never empty"
                played.chunks += batch
    except ProviderError as error:
        played.fail(error)
    return played


def read(reading: Reading, pieces: Iterable[bytes]) -> Played:
    """What a reading makes of a body in these pieces, with no network between."""
    played = Played()
    for data in pieces:
        played.chunks += reading.take(reading.decoder.feed(data))
        if reading.done or reading.failure:
            break
    else:
        played.chunks += reading.take(reading.decoder.end(), last=True)
    played.chunks += reading.end()
    if reading.failure:
        played.fail(reading.failure)
    return played


async def play(
    upstream: Upstream, provider: Provider, pieces: Sequence[bytes], headers: Mapping[str, str] = SSE_HEADERS
) -> Played:
    """What the provider makes of a body that comes in these pieces."""
    upstream.reply(apart(pieces), headers=headers)
    return await collect(provider)


async def play_file(upstream: Upstream, provider: Provider, name: str) -> Played:
    """What the provider makes of the file, which must be the same in all `ways`."""
    return await play_body(upstream, provider, wire(name), headers_of(name), seed=name)


async def play_body(
    upstream: Upstream, provider: Provider, body: bytes, headers: Mapping[str, str] = SSE_HEADERS, seed: str = ""
) -> Played:
    """The same for bytes that are in no file."""
    whole, *others = [await play(upstream, provider, pieces, headers) for pieces in ways(body, seed)]
    for number, other in enumerate(others):
        assert other == whole, f"way {number + 1} of {seed or body!r} differs from the whole"
    return whole
