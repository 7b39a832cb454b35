"""What it costs to build a prompt: a chat of 20 turns that nearly fills the window, and one of 2,000 with summaries.

In this process, with a real database and without a server: from the session's id to the messages of the request. The
summaries are written by a function that copies a few words, since only what the server does is measured.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Figure, middle
from odysseus.clock import SystemClock
from odysseus.context.budget import room_of
from odysseus.context.compaction import Writer
from odysseus.context.counting import Counter, TokenCache
from odysseus.context.keeper import Keeper, Opened
from odysseus.context.turns import Prompt, Turn
from odysseus.context.window import Window
from odysseus.providers.base import ChatMessage, ChatRequest, ToolCall
from odysseus.runs.turns import turns_of
from odysseus.store.db import Connection, Database
from odysseus.store.messages import Message, MessageStore, append_message, new_message_id
from odysseus.store.sessions import SessionStore
from odysseus.store.summaries import SummaryStore

WINDOW = 8192
LARGE = 131_072
SHORT, LONG = 20, 2000
TURNS = 200
WORDS = "a plain sentence of some words that says next to nothing and is there to be counted "


class Bench:
    """Sessions in a new database, opened as a run opens them."""

    def __init__(self, db: Database) -> None:
        clock = SystemClock()
        self._db = db
        self._sessions = SessionStore(db, clock)
        messages = MessageStore(db, clock)
        self.keeper = Keeper(messages, SummaryStore(db, clock), turns_of)
        self.counter = Counter(TokenCache())

    async def session(self) -> str:
        """A new session."""
        return (await self._sessions.create(name="", endpoint_id="", model="m", mode="chat")).id

    async def say(self, session: str, first: int, turns: int, length: int) -> None:
        """Store turns of so many characters a message."""

        def work(db: Connection) -> None:
            for number in range(first, first + turns):
                text = (f"{number} " + WORDS * (length // len(WORDS) + 1))[:length]
                for role in ("user", "assistant"):
                    made = Message(new_message_id(), session, 0, "user" if role == "user" else "assistant", text, {}, 0)
                    append_message(db, made)

        await self._db.write(work)

    async def open(self, session: str, window: int = WINDOW, *, compact: bool = True) -> Opened:
        """The prompt for one more question."""
        writer = Writer("m", room_of(window), self.counter, _summary)
        new = [Turn(ChatMessage("user", "And what comes next?"))]
        return await self.keeper.open(
            await self.keeper.past(session), new, "You are a helpful assistant.", (), writer, compact=compact
        )

    async def costs(self, session: str, window: int = WINDOW, *, compact: bool = True) -> Sequence[float]:
        """Seconds of CPU for each of many times."""
        took = []
        for _ in range(TURNS):
            began = time.process_time()
            await self.open(session, window, compact=compact)
            took.append(time.process_time() - began)
        return took


async def measure() -> list[Figure]:
    """The table's lines."""
    with tempfile.TemporaryDirectory() as folder:
        db = await Database.open(Path(folder) / "db.sqlite3")
        try:
            return await _measure(Bench(db))
        finally:
            await db.close()


async def _measure(bench: Bench) -> list[Figure]:
    length = int(room_of(WINDOW).prompt * 0.74 / SHORT / 2 * 3)
    short, long, plain, large = [await bench.session() for _ in range(4)]
    await bench.say(short, 0, SHORT, length)
    await bench.say(plain, 0, LONG, length)
    await bench.say(large, 0, 400, 400)
    tokens = []
    for number in range(LONG):
        await bench.say(long, number, 1, length)
        tokens.append((await bench.open(long)).fit.tokens)
    of_short = (await bench.open(short)).fit.tokens
    rounds = [middle([middle(await bench.costs(which)) for _ in range(3)]) * 1e3 for which in (short, long)]
    trimmed = middle(await bench.costs(plain, compact=False)) * 1e3
    many = middle(await bench.costs(large, LARGE)) * 1e3
    last = tokens[-TURNS:]
    return [
        Figure(f"a prompt of {SHORT} turns, CPU", rounds[0], "ms"),
        Figure(f"a prompt of {LONG:,} turns, CPU", rounds[1], "ms"),
        Figure(f"  times that of {SHORT}", rounds[1] / rounds[0], "x", most=1.1),
        Figure(
            f"  its tokens, middle of the last {TURNS}, times those of {SHORT}", middle(last) / of_short, "x", most=1.1
        ),
        Figure("  most tokens of any, of the room for a prompt", max(tokens) / room_of(WINDOW).prompt, "x", most=1.0),
        Figure(f"{LONG:,} turns that nobody has summarised, trimmed, CPU", trimmed, "ms"),
        Figure("400 turns in a large window, CPU", many, "ms"),
        Figure("a round of an agent after 500 that fit, CPU", await _round(bench) * 1e3, "ms"),
    ]


async def _round(bench: Bench) -> float:
    """Seconds of CPU to fit one more round into a window where there is room."""
    window = Window(Prompt("s", (Turn(ChatMessage("user", "go")),)), room_of(LARGE), bench.counter)
    held = list((await window.fit()).messages)
    took = []
    for number in range(500):
        call = ToolCall(f"c{number}", "read_file", '{"path": "a"}')
        held.append(ChatMessage("assistant", "", tool_calls=(call,)))
        held.append(ChatMessage("tool", f"{number} {WORDS}", tool_call_id=call.id))
        began = time.process_time()
        await window.fit(held)
        took.append(time.process_time() - began)
    return middle(took[-100:])


async def _summary(_: ChatRequest) -> str:
    return "Notes: they spoke of many things, and a few of them matter. " * 20
