"""Ollama's own chat as a mapping: a request to its JSON, records to chunks, and what a model can do.

Pure: must not know sockets.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from odysseus.errors import ProviderError
from odysseus.events import FinishReason, ReasoningDelta, TextDelta, UsageReport
from odysseus.providers.base import AnsweredBy, ChatMessage, ChatRequest, Chunk, Finished, ModelListing, ToolCall
from odysseus.providers.failures import find_message, reported_error
from odysseus.providers.loose import as_count, as_list, as_mapping, as_object_text, as_text, without_surrogates
from odysseus.providers.tool_calls import ToolCallDelta
from odysseus.text import clean_text

ANSWER_ROOM = 4096  # tokens kept free for an answer whose length is not limited
IMAGE_TOKENS = 1024
_SMALLEST_CONTEXT = 4096
_MESSAGE_TOKENS = 8
_BYTES_PER_TOKEN = 3.2  # less than most text has: for a prompt that does not fit the model is loaded twice
_FINISH_REASONS: Mapping[str, FinishReason] = {"stop": "stop", "length": "length"}
_PROMPT_TOKENS = re.compile(rb"n_prompt_tokens\W{1,8}(\d{1,9})\b|request \((\d{1,9}) tokens\)")
Piece = Chunk | ToolCallDelta


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What the server tells of a model; None where it does not tell."""

    context_length: int | None = None
    chats: bool | None = None
    tools: bool | None = None
    vision: bool | None = None


def to_body(request: ChatRequest, num_ctx: int) -> dict[str, Any]:
    """The JSON of a request. A prompt that is too long is to be refused: cut in silence it would lose its beginning."""
    options: dict[str, Any] = {"num_ctx": num_ctx}
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.max_tokens is not None:
        options["num_predict"] = request.max_tokens
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    body: dict[str, Any] = {
        "model": request.model,
        "messages": [_message(message, names) for message in request.messages],
        "stream": True,
        "truncate": False,
        "shift": False,
        "options": options,
    }
    if request.tools:
        body["tools"] = _tools(request)
    if request.response_schema is not None:
        body["format"] = request.response_schema
    return body


def _message(message: ChatMessage, names: Mapping[str, str]) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.images:
        body["images"] = [base64.b64encode(image.data).decode("ascii") for image in message.images]
    if message.tool_calls:
        body["tool_calls"] = [_call(call) for call in message.tool_calls]
        if message.reasoning:
            body["thinking"] = message.reasoning
    if message.role == "tool":
        body |= {"tool_name": names.get(message.tool_call_id, ""), "tool_call_id": message.tool_call_id}
    return body


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = orjson.Fragment(as_object_text(call.arguments))
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tools(request: ChatRequest) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": {"type": "object", **tool.parameters},
            },
        }
        for tool in request.tools
    ]


def fitting_context(request: ChatRequest, prompt_tokens: int | None = None) -> int:
    """The context size for this prompt and its answer, a power of two so that the model is seldom loaded anew.

    `prompt_tokens` is what the server counted, when it did.
    """
    tokens = prompt_tokens or sum(map(_tokens, request.messages)) + _estimate(orjson.dumps(_tools(request)))
    needed = tokens + (request.max_tokens or ANSWER_ROOM)
    return max(_SMALLEST_CONTEXT, 1 << (needed - 1).bit_length())


def _tokens(message: ChatMessage) -> int:
    texts = (message.content, message.reasoning, *(call.name + call.arguments for call in message.tool_calls))
    written = _estimate("".join(texts).encode("utf-8", "replace"))
    return written + _MESSAGE_TOKENS + IMAGE_TOKENS * len(message.images)


def _estimate(text: bytes) -> int:
    return math.ceil(len(text) / _BYTES_PER_TOKEN)


def refused_prompt(body: bytes) -> int | None:
    """How many tokens the prompt has by an error that refuses it as too long; 0 if that is not told, else None."""
    found = _PROMPT_TOKENS.search(body)
    if found:
        return int(found[1] or found[2])
    return 0 if b"context length" in body or b"context size" in body else None


class OllamaAnswer:
    """The records of one answer. Each may hold a piece of anything, the last one too."""

    def __init__(self) -> None:
        self.done = False
        self._told: set[tuple[str, Any]] = set()

    def read(self, body: Any) -> list[Piece]:
        record = as_mapping(body)
        if record.get("error"):
            raise _error(record)
        message = as_mapping(record.get("message"))
        model = clean_text(as_text(record.get("model")))
        thinking, text = as_text(message.get("thinking")), as_text(message.get("content"))
        pieces: list[Piece] = [AnsweredBy(model)] if model else []
        pieces += [ReasoningDelta(thinking)] if thinking else []
        pieces += [TextDelta(text)] if text else []
        for call in as_list(message.get("tool_calls")):
            pieces += self._call(as_mapping(call))
        return [*pieces, *(self._end(record) if record.get("done") is True else [])]

    def read_whole(self, body: Any) -> list[Piece]:
        """A document is one record that is also the last."""
        return self.read(body)

    def _call(self, call: Mapping[str, Any]) -> list[Piece]:
        """A call comes whole. Only its id, where it has one, and its number tell that it is told again."""
        function = as_mapping(call.get("function"))
        id = as_text(call.get("id"))
        key = (id, as_count(function.get("index")))
        if id and key in self._told:
            return []
        self._told.add(key)
        given = function.get("arguments")
        arguments = given if isinstance(given, str) else orjson.dumps(without_surrogates(given)).decode()
        return [ToolCallDelta(None, id, as_text(function.get("name")), arguments, opens=True)]

    def _end(self, record: Mapping[str, Any]) -> list[Piece]:
        self.done = True
        prompt, answer = as_count(record.get("prompt_eval_count")), as_count(record.get("eval_count"))
        usage = [] if prompt is None and answer is None else [UsageReport(prompt or 0, answer or 0)]
        reason = clean_text(as_text(record.get("done_reason"))) or None
        return [*usage, Finished(_FINISH_REASONS.get(reason or ""), reason)]


def _error(record: Mapping[str, Any]) -> ProviderError:
    return reported_error({**record, "error": None, "message": find_message(record) or ""})


def to_facts(body: Any) -> ModelFacts:
    """What the answer to `show` says of a model."""
    shown = as_mapping(body)
    lengths = [value for name, value in as_mapping(shown.get("model_info")).items() if name.endswith(".context_length")]
    length = next(filter(None, map(as_count, lengths)), None)
    able = shown.get("capabilities")
    if not isinstance(able, list) or not able:
        return ModelFacts(length)
    return ModelFacts(length, "completion" in able, "tools" in able, "vision" in able)


def to_names(body: Any) -> list[str]:
    """The models that `tags` lists, each once. Raises ProviderError for anything else."""
    entries = as_mapping(body).get("models")
    if not isinstance(entries, list):
        raise reported_error(body) if find_message(body) else ProviderError("The endpoint did not list its models.")
    named = [as_text(entry.get("model")) or as_text(entry.get("name")) for entry in map(as_mapping, entries)]
    return list(dict.fromkeys(clean_text(name) for name in named if name))


def to_listings(names: Sequence[str], facts: Sequence[ModelFacts]) -> list[ModelListing]:
    """The models that can chat, as far as is known."""
    return [
        ModelListing(name, known.context_length, tools=known.tools, vision=known.vision)
        for name, known in zip(names, facts, strict=True)
        if known.chats is not False
    ]
