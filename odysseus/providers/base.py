"""What every provider takes and gives. Adapters map a vendor's wire to these values and know nothing beyond them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model."""

    model: str
    messages: tuple[ChatMessage, ...]
    temperature: float | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The model name the provider says it answered with."""

    model: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's own end of the answer. `reason` is normalised, None when it gave none; `raw` is its word."""

    reason: FinishReason | None
    raw: str | None = None


Chunk = TextDelta | ReasoningDelta | UsageReport | AnsweredBy | Finished


@dataclass(frozen=True, slots=True)
class ModelListing:
    """A model that an endpoint offers. None means not known. `price` is dollars per million tokens, in and out."""

    id: str
    context_length: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    price: tuple[float, float] | None = None


class Provider(Protocol):
    """One endpoint. Closing the iterator of `stream` (or cancelling its task) ends the generation at once."""

    def stream(self, request: ChatRequest) -> AsyncIterator[Sequence[Chunk]]:
        """Chunks as they come, all that one read of the socket brought in one batch.

        Raises ProviderError; text already given stands.
        """
        ...

    async def models(self) -> Sequence[ModelListing]:
        """What can be chosen here. Raises ProviderError when the endpoint does not answer."""
        ...

    def state(self) -> str:
        """`ready`, or why not yet: `missing`, `loading`, `failed`. Never waits."""
        ...

    async def preload(self) -> None:
        """Get ready, if there is anything to load. A failure shows in `state`, not here."""
        ...

    async def close(self) -> None:
        """Let go of sockets, threads and memory."""
        ...
