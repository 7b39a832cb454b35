"""The tool for what is remembered of the user beyond a chat: remember, list, forget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from odysseus.errors import NotFound
from odysseus.store.memories import MemoryStore, State, tidy
from odysseus.text import clean_text
from odysseus.tools.base import Arguments, Tool, ToolContext, ToolError, ToolResult, make_tool, one_line

TEXT_LIMIT = 1000
CATEGORY_LIMIT = 40
LISTED = 50
FACT = "fact"


class ManageMemory(Arguments, frozen=True):
    """Arguments of manage_memory."""

    action: Annotated[Literal["remember", "list", "forget"], Meta(description="What to do.")]
    text: Annotated[
        str,
        Meta(
            max_length=TEXT_LIMIT,
            description="remember: one lasting fact, one sentence. list: words to look for. forget: the exact text.",
        ),
    ] = ""
    category: Annotated[
        str, Meta(max_length=CATEGORY_LIMIT, description="remember: like fact, preference, person or project.")
    ] = FACT
    id: Annotated[str, Meta(max_length=64, description="forget: the memory's id from the list.")] = ""


def memory_tools(store: MemoryStore, *, ask: bool = False) -> Sequence[Tool]:
    """The memory tool over this store. `ask`: what it remembers is only proposed, and the user decides."""

    async def run(given: ManageMemory, context: ToolContext) -> ToolResult:
        match given.action:
            case "remember":
                return await _remember(store, given, context, ask=ask)
            case "list":
                return await _list(store, given)
            case "forget":
                return await _forget(store, given)

    return (
        make_tool(
            "manage_memory",
            "Remember lasting facts about the user beyond this chat, list them, or forget them.",
            ManageMemory,
            run,
            ["private"],
            command=lambda given: one_line(f"{given.action}: {given.id or given.text}".removesuffix(": ")),
        ),
    )


async def _remember(store: MemoryStore, given: ManageMemory, context: ToolContext, *, ask: bool) -> ToolResult:
    """Keep the fact, or propose it: when the user wants to be asked, and when it may be what others wrote.

    A call that the user has approved on its card was read there, so it is kept.
    """
    text = tidy(clean_text(given.text))
    if not text:
        raise ToolError("There is nothing to remember: give the fact as text.")
    category = tidy(clean_text(given.category)).casefold() or FACT
    state: State = "proposed" if (ask or context.outside) and not context.approved else "kept"
    memory, new = await store.remember(text, category, context.session_id, outside=context.outside, state=state)
    shown = f"{memory.id}  [{memory.category}] {memory.text}"
    if memory.state == "proposed":
        return ToolResult(f"Proposed: {shown}\nIt is used once the user keeps it.")
    return ToolResult(f"{'Remembered' if new else 'Known already'}: {shown}")


async def _list(store: MemoryStore, given: ManageMemory) -> ToolResult:
    found = await store.list(clean_text(given.text), state="kept")
    if not found:
        return ToolResult("No memory holds all these words." if given.text.strip() else "Nothing is remembered yet.")
    lines = [f"{memory.id}  [{memory.category}] {memory.text}" for memory in found[:LISTED]]
    if len(found) > LISTED:
        lines.append(f"[{len(found) - LISTED} more. Give words in text to find them.]")
    return ToolResult("\n".join(lines), outside=any(memory.outside for memory in found[:LISTED]))


async def _forget(store: MemoryStore, given: ManageMemory) -> ToolResult:
    memory_id, text = given.id.strip(), clean_text(given.text)
    if not memory_id and not text.strip():
        raise ToolError("Give the id of what to forget, or its exact text.")
    try:
        memory = await store.forget(memory_id=memory_id, text=text)
    except NotFound as error:
        raise ToolError(f"{error.message} The action list shows what there is.") from error
    return ToolResult(f"Forgotten: {memory.text}")
