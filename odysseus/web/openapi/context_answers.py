"""The answer that tells what a model sees of a chat, as types."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Tokens = Annotated[int, Meta(description="Tokens", ge=0)]
Shown = Annotated[str, Meta(description="Its beginning")]
Chars = Annotated[int, Meta(description="How many characters it has in all")]


class ContextSources(Struct):
    """Where the tokens of a prompt come from."""

    system: Annotated[int, Meta(description="The system text")]
    tools: Annotated[int, Meta(description="The tools that are offered")]
    summary: Annotated[int, Meta(description="What stands for older turns")]
    history: Annotated[int, Meta(description="Questions and answers")]
    given: Annotated[int, Meta(description="Files, passages, memories and web pages that came with questions")]
    tool_results: Annotated[int, Meta(description="What tools gave back")]


class ContextSummary(Struct):
    """What stands for the turns before those that are kept."""

    text: Annotated[str, Meta(description="The summary")]
    messages: Annotated[int, Meta(description="How many messages it stands for")]
    tokens: Tokens


class ContextGiven(Struct):
    """A text that came with a question."""

    title: Annotated[str, Meta(description="What it is; may be empty")]
    text: Shown
    chars: Chars


class ContextMessage(Struct):
    """A message as the model sees it."""

    role: Annotated[Literal["system", "user", "assistant", "tool"], Meta(description="Whose it is")]
    text: Shown
    chars: Chars
    images: Annotated[int, Meta(description="How many pictures it has")]
    calls: Annotated[list[str], Meta(description="The tools that it calls")]
    given: Annotated[list[ContextGiven], Meta(description="What stands before its words")]


class Context(Struct):
    """What the next request would hold."""

    model: Annotated[str, Meta(description="The model that would be asked")]
    endpoint_id: Annotated[str, Meta(description="Where")]
    context_length: Annotated[int, Meta(description="The model's window in tokens; a careful guess where nobody tells")]
    answer_room: Annotated[int, Meta(description="What is kept of it for the answer")]
    used: Annotated[int, Meta(description="Tokens of the prompt")]
    free: Annotated[int, Meta(description="Tokens that are left for a message")]
    summarised_from: Annotated[
        int | None,
        Meta(description="Tokens above which older turns are summarised; null when they are left out before that"),
    ]
    estimated: Annotated[
        bool, Meta(description="Whether the tokens are estimated, not counted by the model's tokenizer")
    ]
    sources: ContextSources
    left_out: Annotated[int, Meta(description="Messages that have left, since the window is full")]
    summary: Annotated[ContextSummary | None, Meta(description="What stands for older turns, if there are any")]
    messages: Annotated[list[ContextMessage], Meta(description="The messages, oldest first; none of them when brief")]
