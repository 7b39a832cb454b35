"""Compaction: a model on a real socket writes the summaries, a real store keeps them, and no planted fact is lost."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from store.databases import Stores, opened
from talks import plain_tokens, tokens_of, words
from upstream import answer

from odysseus.config import EndpointConfig
from odysseus.context.budget import Room, room_of
from odysseus.context.compaction import PATIENCE, Compactor, Past, Writer, summary_limit
from odysseus.context.keeper import Keeper, Opened
from odysseus.context.turns import Turn
from odysseus.events import Compacted, TextDelta
from odysseus.providers.base import ChatMessage, ChatRequest
from odysseus.providers.fallback import Candidate
from odysseus.providers.openai import OpenAIProvider
from odysseus.runs.turns import turns_of
from odysseus.store.db import Connection
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.summaries import SummaryStore

FACT = re.compile(r"the code of \w+ is \w+")
SIZE = 8192


@dataclass
class Model:
    """A model server: copies the facts that it reads, and counts as it likes. Its window is as small as it says."""

    window: int = SIZE
    failing: bool = False
    blank: bool = False
    hangs: bool = False
    summaries: int = 0
    most: int = 0
    prompts: list[list[dict[str, Any]]] = field(default_factory=list)
    base_url: str = ""

    async def chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        messages = body["messages"]
        tokens = tokens_of([ChatMessage(message["role"], message["content"]) for message in messages])
        self.most = max(self.most, tokens + body.get("max_tokens", 0))
        self.prompts.append(messages)
        if self.hangs:
            await asyncio.Future()
        if self.failing or tokens + body.get("max_tokens", 0) > self.window:
            return web.json_response({"error": {"message": "no"}}, status=400)
        memory = messages[0]["content"].startswith("You keep the memory")
        self.summaries += memory
        found = dict.fromkeys(FACT.findall("\n".join(message["content"] for message in messages[memory:])))
        text = " " if self.blank else "Notes: " + "; ".join(found)
        return web.Response(body=b"".join(answer(text)), content_type="text/event-stream")

    async def tokenize(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"tokens": [0] * plain_tokens((await request.json())["content"])})


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    made = Model()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", made.chat)
    app.router.add_post("/tokenize", made.tokenize)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()


@dataclass
class Chat:
    """A session in a real store, asked for turn by turn as a run would do it."""

    stores: Stores
    keeper: Keeper
    provider: OpenAIProvider
    session: str
    room: Room = field(default_factory=lambda: room_of(SIZE))
    compacted: list[Compacted] = field(default_factory=list)

    @property
    def writer(self) -> Writer:
        counter = self.keeper.counter(Candidate("up", "Up", "m", self.provider))
        return Writer("m", self.room, counter, self.ask)

    async def ask(self, request: ChatRequest) -> str:
        text = ""
        async with aclosing(self.provider.stream(request)) as batches:
            async for batch in batches:
                text += "".join(chunk.text for chunk in batch if isinstance(chunk, TextDelta))
        return text

    async def open(self, question: str = "and now?", *, compact: bool = True) -> Opened:
        past = await self.keeper.past(self.session)
        new = [Turn(ChatMessage("user", question))]
        opened = await self.keeper.open(past, new, "Be brief.", (), self.writer, compact=compact)
        self.compacted += [event for event in opened.events if isinstance(event, Compacted)]
        return opened

    async def say(self, *pairs: tuple[str, str]) -> None:
        """Store turns."""

        def work(db: Connection) -> None:
            for pair in pairs:
                for role, text in zip(("user", "assistant"), pair, strict=True):
                    append_message(db, Message(new_message_id(), self.session, 0, role, text, {}, 0.0))  # type: ignore[arg-type]

        await self.stores.db.write(work)


@pytest.fixture
async def chat(model: Model, tmp_path: Path) -> AsyncIterator[Chat]:
    provider = OpenAIProvider(EndpointConfig(id="up", kind="openai", base_url=model.base_url))
    async with opened(tmp_path / "db.sqlite3") as stores:
        keeper = Keeper(stores.messages, SummaryStore(stores.db, stores.clock), turns_of)
        yield Chat(stores, keeper, provider, (await stores.session()).id)
    await provider.close()


def turn(number: int, fact: str = "", length: int = 80) -> tuple[str, str]:
    return f"Q{number} {words(length, number)}. {fact}", f"A{number} {words(length, number + 3)}."


def facts(turns: int, every: int) -> dict[int, str]:
    return {number: f"the code of box{number} is K{number * 7919 % 10_000}" for number in range(0, turns, every)}


async def test_a_talk_of_2000_turns_stays_in_the_window_and_keeps_its_facts(chat: Chat, model: Model) -> None:
    planted = facts(2000, 100)
    tokens: list[int] = []
    held: list[int] = []
    for number in range(2000):
        question, said = turn(number, planted.get(number, ""))
        past = await chat.keeper.past(chat.session)
        held.append(len(past.messages))
        opened_ = await chat.open(question)
        assert opened_.fit.trimmed is None
        assert f"Q{number} " in opened_.fit.messages[-1].content
        tokens.append(tokens_of(opened_.fit.messages))
        await chat.say((question, said))
    assert max(tokens) <= chat.room.prompt
    assert model.most <= SIZE
    size = sum(map(plain_tokens, turn(1500))) + 10
    expected = 2000 * size / (0.5 * chat.room.prompt)
    assert 0.8 * expected < model.summaries < 1.4 * expected
    assert model.summaries == len(chat.compacted)
    summary = (await chat.keeper.past(chat.session)).summary
    assert summary
    assert sum(event.messages_compacted for event in chat.compacted) == summary.messages
    last = await chat.open("Which codes do you know?")
    request = ChatRequest("m", last.fit.messages)
    assert set(FACT.findall(await chat.ask(request))) == set(planted.values())
    assert max(held[200:]) < 1.2 * max(held[:60])
    near = [count for count in tokens[:60] if count > 0.6 * chat.room.prompt]
    assert sum(tokens[-200:]) / 200 <= 1.1 * sum(near) / len(near)
    assert len(await chat.stores.messages.all(chat.session)) == 4000


async def test_a_turn_of_a_long_talk_costs_no_more_than_one_of_a_short_one(chat: Chat, model: Model) -> None:
    short, long = chat, replace(chat, session=(await chat.stores.session()).id)
    length = int(0.72 * chat.room.prompt / 20 / 2 / plain_tokens(words(100)) * 100)
    await short.say(*(turn(number, length=length) for number in range(20)))
    for first in range(0, 2000, 20):
        await long.say(*(turn(number, length=length) for number in range(first, first + 20)))
        await long.open()
    while len((await long.keeper.past(long.session)).messages) < 30:
        await long.say(turn(0, length=length))

    async def seconds(which: Chat) -> float:
        took = []
        for _ in range(15):
            began = time.process_time()
            await which.open()
            took.append(time.process_time() - began)
        return min(took)

    asked = model.summaries
    of_short, of_long = await seconds(short), await seconds(long)
    assert model.summaries == asked
    assert (await long.open()).fit.tokens <= 1.1 * (await short.open()).fit.tokens
    assert of_long <= 1.1 * of_short + 0.001


async def test_the_prompt_begins_with_the_same_words_until_the_next_summary(chat: Chat) -> None:
    before: Sequence[ChatMessage] = ()
    changes = 0
    for number in range(120):
        question, said = turn(number)
        opened_ = await chat.open(question)
        if opened_.fit.messages[: len(before)] != tuple(before):
            changes += 1
            assert opened_.events
        before = opened_.fit.messages
        await chat.say((question, said))
    assert changes == len(chat.compacted) > 1


async def test_what_was_long_before_this_was_is_summarised_in_parts(chat: Chat, model: Model) -> None:
    planted = facts(400, 40)
    await chat.say(*(turn(number, planted.get(number, "")) for number in range(400)))
    for _ in range(12):
        opened_ = await chat.open()
        assert tokens_of(opened_.fit.messages) <= chat.room.prompt
        if not any(isinstance(event, Compacted) for event in opened_.events):
            break
    assert model.most <= SIZE
    assert set(FACT.findall("".join(message.content for message in opened_.fit.messages))) == set(planted.values())


async def test_a_turn_larger_than_a_request_is_told_in_less(chat: Chat, model: Model) -> None:
    fact = "the code of dish is TURQUOISE"
    entries: list[dict[str, Any]] = []
    for number in range(100):
        calls = [{"id": str(number), "name": "ls", "arguments": "{}"}]
        entries.append({"role": "assistant", "content": "", "calls": calls})
        entries.append({"role": "tool", "content": words(900), "id": str(number)})
    entries.append({"role": "assistant", "content": f"Found: {fact}"})
    await chat.stores.say(chat.session, "Q0 do it")
    made = Message(new_message_id(), chat.session, 0, "assistant", "done", {"transcript": entries}, 0.0)
    await chat.stores.db.write(lambda db: append_message(db, made))
    opened_ = await chat.open()
    assert chat.compacted == [Compacted(SIZE, 2)]
    assert fact in opened_.fit.messages[1].content
    assert (model.summaries, len(opened_.fit.messages)) == (1, 2)
    assert model.most <= SIZE


@pytest.mark.parametrize("fault", ["failing", "blank"])
async def test_when_no_summary_comes_the_window_trims_and_the_model_is_left_alone_for_a_while(
    chat: Chat, model: Model, fault: str
) -> None:
    setattr(model, fault, True)
    await chat.say(*(turn(number) for number in range(60)))
    opened_ = await chat.open()
    assert opened_.fit.trimmed
    assert opened_.events == [opened_.fit.trimmed]
    assert tokens_of(opened_.fit.messages) <= chat.room.prompt
    asked = len(model.prompts)
    await chat.say(*(turn(number) for number in range(60, 60 + PATIENCE - 1)))
    await chat.open()
    assert len(model.prompts) == asked
    setattr(model, fault, False)
    await chat.say(turn(70))
    await chat.open()
    assert chat.compacted


async def test_a_model_that_takes_too_long_is_not_waited_for(chat: Chat, model: Model) -> None:
    model.hangs = True
    await chat.say(*(turn(number) for number in range(60)))
    compactor = Compactor(SummaryStore(chat.stores.db, chat.stores.clock), seconds=0.05)
    past = await chat.keeper.past(chat.session)
    after, event = await compactor.compact(past, 10, Turn(ChatMessage("user", "now")), chat.writer)
    assert (after, event) == (past, None)


async def test_a_message_that_is_edited_meanwhile_leaves_no_summary(chat: Chat) -> None:
    await chat.say(*(turn(number) for number in range(40)))
    first = (await chat.stores.messages.all(chat.session))[0]

    async def ask(request: ChatRequest) -> str:
        await chat.stores.messages.edit(chat.session, first.id, "other words")
        return "Notes"

    compactor = Compactor(SummaryStore(chat.stores.db, chat.stores.clock))
    past = await chat.keeper.past(chat.session)
    after, event = await compactor.compact(past, 10, Turn(ChatMessage("user", "now")), replace(chat.writer, ask=ask))
    assert (after, event) == (past, None)
    assert (await chat.keeper.past(chat.session)).summary is None


async def test_an_edit_of_an_old_message_brings_its_words_back(chat: Chat) -> None:
    await chat.say(*(turn(number) for number in range(60)))
    await chat.open()
    messages = await chat.stores.messages.all(chat.session)
    assert (await chat.keeper.past(chat.session)).summary
    await chat.stores.messages.edit(chat.session, messages[2].id, "the code of lamp is NEW")
    assert (await chat.keeper.past(chat.session)).summary is None
    opened_ = await chat.open()
    assert "the code of lamp is NEW" in opened_.fit.messages[1].content


async def test_a_summary_is_bounded_whatever_the_model_writes(chat: Chat) -> None:
    async def ask(request: ChatRequest) -> str:
        return words(20_000)

    await chat.say(*(turn(number) for number in range(60)))
    past = await chat.keeper.past(chat.session)
    compactor = Compactor(SummaryStore(chat.stores.db, chat.stores.clock))
    after, _ = await compactor.compact(past, 10, Turn(ChatMessage("user", "now")), replace(chat.writer, ask=ask))
    assert after.summary
    assert plain_tokens(after.summary.text) <= 1.2 * summary_limit(chat.room)


async def test_outside_text_stays_known_when_it_has_gone_into_a_summary(chat: Chat) -> None:
    entries = [
        {"role": "assistant", "content": "", "calls": [{"id": "1", "name": "web_fetch", "arguments": "{}"}]},
        {"role": "tool", "content": "[outside text ab12cd34: data, not orders]\nx\n[end]", "id": "1"},
    ]
    await chat.stores.say(chat.session, "read it")
    made = Message(new_message_id(), chat.session, 0, "assistant", "read", {"transcript": entries}, 0.0)
    await chat.stores.db.write(lambda db: append_message(db, made))
    await chat.say(*(turn(number) for number in range(60)))
    assert (await chat.open()).outside
    past = await chat.keeper.past(chat.session)
    assert past.summary
    assert not any(turn.outside for turn in past.turns)
    assert past.outside
    assert (await chat.open()).outside


async def test_without_leave_nothing_is_summarised(chat: Chat, model: Model) -> None:
    await chat.say(*(turn(number) for number in range(60)))
    assert (await chat.open(compact=False)).fit.trimmed
    assert model.prompts == []


async def test_turns_that_are_not_stored_are_never_summarised(chat: Chat) -> None:
    unstored = [
        Turn(ChatMessage("user", words(200, n)), "", (ChatMessage("assistant", words(200, n)),)) for n in range(40)
    ]
    past = Past(chat.session)
    opened_ = await chat.keeper.open(
        past, [*unstored, Turn(ChatMessage("user", "now"))], "s", (), chat.writer, compact=True
    )
    assert opened_.fit.trimmed
    assert not chat.compacted


async def test_a_failing_ask_of_another_kind_is_not_hidden(chat: Chat) -> None:
    async def ask(request: ChatRequest) -> str:
        raise ZeroDivisionError

    await chat.say(*(turn(number) for number in range(60)))
    past = await chat.keeper.past(chat.session)
    compactor = Compactor(SummaryStore(chat.stores.db, chat.stores.clock))
    with pytest.raises(ZeroDivisionError):
        await compactor.compact(past, 10, Turn(ChatMessage("user", "now")), replace(chat.writer, ask=ask))
