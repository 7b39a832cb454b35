"""What the page is sent of an agent run: rows between blocks, the same live, resumed at any place, and from history."""

from __future__ import annotations

from typing import Any

from playing import agent
from serving import Server, Stream
from upstream import Upstream, answer, calls

LS = ("ls", {"path": "."})


def drawn(stream: Stream, seen: list[Any] | None = None) -> list[str]:
    """The page's content after these frames: blocks and the rows that stand between them."""
    blocks: dict[int, str] = {}
    rows: list[tuple[int, str]] = list(seen or [])
    for frame in stream.frames:
        if frame.kind == "block":
            blocks[frame.data["index"]] = frame.data["html"]
        elif frame.kind == "tool_start":
            rows.append((len(blocks), frame.data["call_id"]))
    return laid_out([blocks[index] for index in sorted(blocks)], rows)


def laid_out(blocks: list[str], rows: list[tuple[int, str]]) -> list[str]:
    shown: list[str] = []
    for index in range(len(blocks) + 1):
        shown += [call for place, call in rows if place == index]
        shown += blocks[index : index + 1]
    return shown


def from_history(message: dict[str, Any]) -> list[str]:
    blocks = [part.removesuffix("</div>") for part in message["html"].split('<div class="block">')[1:]]
    return laid_out(blocks, [(row["block"], row["call_id"]) for row in message["metadata"]["tool_events"]])


def scripted(upstream: Upstream) -> None:
    upstream.reply(calls(LS, LS, text="One *a\n\nTwo", prefix="r1"))
    upstream.reply(calls(("calculate", {"expression": "1"}), prefix="r2"))
    upstream.reply(calls(("calculate", {"expression": "2"}), text="- item\n- more", prefix="r3"))
    upstream.reply(answer("- not the same list\n\n```\ncode"))


async def test_rows_stand_between_the_blocks_as_the_history_has_them(server: Server, upstream: Upstream) -> None:
    scripted(upstream)
    session = await server.session()
    live = await (await server.send(session, "x", mode="agent", query="?dialect=page")).rest()
    shown = drawn(live)
    assert [part for part in shown if part.startswith("r")] == ["r1_0", "r1_1", "r2_0", "r3_0"]
    assert shown == from_history((await server.history(session))[1])


async def test_a_resume_at_any_place_draws_the_same(server: Server, upstream: Upstream) -> None:
    scripted(upstream)
    session = await server.session()
    whole = await agent(server, session)
    shown = from_history((await server.history(session))[1])
    for after in range(len(whole.frames)):
        page = await (await server.resume(session, f"?dialect=page&after={after}")).rest()
        seen: list[tuple[int, str]] = []
        for frame in whole.frames[:after]:
            if frame.kind == "tool_start":
                call = frame.data["call_id"]
                seen.append((shown.index(call) - len(seen), call))
        assert drawn(page, seen) == shown, f"after {after}"
