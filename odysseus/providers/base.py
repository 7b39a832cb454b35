"""What every provider takes and gives. Adapters map a vendor's wire to these values and know nothing beyond them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Image:
    """A picture in a message: its bytes, and its type like `image/png`."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call. `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A finished call, final only at the end of the stream. `arguments` is the model's JSON to the letter.

    `problem` says why the arguments cannot be used (no JSON, no object); then they must not be executed. `state` is
    what the vendor wants back with the call. `written` says that it was read from the answer's text.
    """

    id: str
    name: str
    arguments: str
    problem: str | None = None
    state: Mapping[str, Any] | None = None
    written: bool = False


@dataclass(frozen=True, slots=True)
class ToolCallFragment:
    """A piece of a call's arguments as it comes; `index` tells the calls of one answer apart."""

    index: int
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What the vendor wants back with this answer in the next request, like signatures. Opaque to others."""

    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of the prompt. An assistant's may hold calls, a tool's answers the call `tool_call_id`."""

    role: Role
    content: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    reasoning: str = ""
    state: Mapping[str, Any] | None = None


class Mapped:
    """What an adapter made of the messages of a run's last request; the next one begins with the same messages."""

    def __init__(self) -> None:
        self._source = ""
        self._made: Mapping[int, tuple[ChatMessage, Any]] = {}

    def each(self, source: str, messages: Sequence[ChatMessage], make: Callable[[ChatMessage], Any]) -> list[Any]:
        """`make` of each message, done only for those that are new or were made for another `source`.

        The values are shared between requests, so nobody may change them.
        """
        known = self._made if source == self._source else {}
        # An id is a message's own only while the message is kept beside it.
        made = {id(message): known.get(id(message)) or (message, make(message)) for message in messages}
        self._source, self._made = source, made
        return [made[id(message)][1] for message in messages]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a model. `response_schema` asks for JSON of that shape where the server can.

    `mapped` goes from one request of a run to the next.
    """

    model: str
    messages: tuple[ChatMessage, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    tools: tuple[ToolSpec, ...] = ()
    response_schema: Mapping[str, Any] | None = None
    mapped: Mapped = field(default_factory=Mapped, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnsweredBy:
    """The model name the provider says it answered with."""

    model: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider's own end of the answer. `reason` is normalised, None when it gave none; `raw` is its word."""

    reason: FinishReason | None
    raw: str | None = None


Chunk = TextDelta | ReasoningDelta | ToolCallFragment | ToolCall | ProviderState | UsageReport | AnsweredBy | Finished


@dataclass(frozen=True, slots=True)
class ModelListing:
    """A model that an endpoint offers. None means not known. `price` is dollars per million tokens, in and out.

    `images` says that it makes pictures, and no words.
    """

    id: str
    context_length: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    price: tuple[float, float] | None = None
    images: bool = False


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

    async def count(self, model: str, texts: Sequence[str]) -> Sequence[int] | None:
        """The tokens of each text by the model's own tokenizer. None where none is offered, or not just now."""
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
