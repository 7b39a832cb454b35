"""The tree of a session: whatever is sent, asked again, edited, switched, cut and crashed, a whole path is shown."""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.errors import BadRequest, NotFound
from odysseus.runs.recovery import recover
from odysseus.store.db import migrations
from odysseus.store.messages import Message, new_message_id
from odysseus.store.placing import Place
from odysseus.store.runs import Begun, Piece, RunStart
from odysseus.store.summaries import Summary, SummaryStore
from store.databases import Stores, opened


class Talk:
    """One session and what is to be in it, by id."""

    def __init__(self, stores: Stores, session_id: str) -> None:
        self.stores = stores
        self.session = session_id
        self.runs = 0
        self.kept: set[str] = set()

    async def rows(self) -> Sequence[Any]:
        return await self.stores.db.read("SELECT * FROM messages ORDER BY number")

    async def shown(self) -> Sequence[Message]:
        return await self.stores.messages.all(self.session)

    async def said(self) -> str:
        return " ".join(message.content for message in await self.shown())

    async def begin(self, text: str, place: Place | None = None) -> Begun:
        place = place or Place()
        if place.again:
            question = await self.stores.runs.question(self.session, place.again)
            place = Place(question.behind, question.id)
        self.runs += 1
        start = RunStart(f"r{self.runs}", self.session, "chat", text, "up", "m", place=place)
        begun = await self.stores.runs.begin(start)
        self.kept.add(begun.user_message_id)
        return begun

    async def finish(self, begun: Begun, text: str | None, **given: Any) -> str:
        """End the last run with this answer, or failed without one."""
        answer = Message(new_message_id(), self.session, 0, "assistant", text or "", {}, 0.0) if text else None
        record = {
            "record_id": begun.record_id,
            "run_id": f"r{self.runs}",
            "session_id": self.session,
            "message_id": answer.id if answer else None,
            "user_message_id": begun.user_message_id,
            "status": "completed" if text else "failed",
            "stop_reason": None if text else "error",
            "failure": None if text else {"status": 500, "message": "no"},
            "usage": {"total_tokens": 1},
        }
        await self.stores.runs.finish(record, answer, given)
        if answer:
            self.kept.add(answer.id)
        return answer.id if answer else ""

    async def turn(self, question: str, answer: str | None, place: Place | None = None) -> tuple[str, str]:
        begun = await self.begin(question, place)
        return begun.user_message_id, await self.finish(begun, answer)

    async def again(self, message_id: str, answer: str | None) -> str:
        return (await self.turn("", answer, Place(again=message_id)))[1]

    async def check(self) -> None:
        """The shown is a path from a first message to a last one; nothing is there or gone that should not be."""
        rows = {row["id"]: row for row in await self.rows()}
        assert set(rows) == self.kept
        for row in rows.values():
            if row["parent_id"] is not None:
                assert rows[row["parent_id"]]["position"] < row["position"]
        shown = await self.shown()
        assert [message.parent_id for message in shown] == [None, *(message.id for message in shown)][: len(shown)]
        assert sum(row["active"] for row in rows.values()) == len(shown)
        assert bool(shown) == bool(rows)
        if shown:
            assert shown[-1].id not in {row["parent_id"] for row in rows.values()}
        page = await self.stores.messages.page(self.session, 200, None)
        assert page.total == (await self.stores.sessions.get(self.session)).message_count == len(shown)
        for message in shown:
            beside = [each for each, row in rows.items() if row["parent_id"] == message.parent_id]
            assert page.siblings[message.id] == beside  # both in the order they were made


@pytest.fixture
async def talk(stores: Stores) -> Talk:
    return Talk(stores, (await stores.session()).id)


async def test_a_question_answered_again_keeps_both_answers_and_shows_the_new_one(talk: Talk) -> None:
    question, first = await talk.turn("q", "a1")
    await talk.turn("more", "b1")
    second = await talk.again(first, "a2")
    assert await talk.said() == "q a2"
    assert (await talk.stores.messages.page(talk.session, 9, None)).siblings[second] == [first, second]
    await talk.stores.messages.switch(talk.session, first)
    assert await talk.said() == "q a1 more b1"
    assert await talk.again(question, "a3") != second
    assert await talk.said() == "q a3"
    await talk.check()


async def test_an_edited_first_question_begins_a_branch_of_its_own(talk: Talk) -> None:
    question, _ = await talk.turn("q", "a")
    edited, _ = await talk.turn("Q", "A", Place(""))
    assert await talk.said() == "Q A"
    assert (await talk.stores.messages.page(talk.session, 9, None)).siblings[edited] == [question, edited]
    await talk.stores.messages.switch(talk.session, question)
    assert await talk.said() == "q a"
    await talk.check()


async def test_a_question_asked_again_in_vain_shows_what_was_shown_before(talk: Talk) -> None:
    question, first = await talk.turn("q", "a1")
    await talk.again(question, "a2")
    await talk.stores.messages.switch(talk.session, first)
    await talk.turn("more", "b1")
    assert await talk.again(question, None) == ""
    assert await talk.said() == "q a1 more b1"
    assert "failure" not in (await talk.shown())[0].metadata
    await talk.check()


async def test_a_failed_question_that_is_answered_at_last_is_not_failed(talk: Talk) -> None:
    question, _ = await talk.turn("q", None)
    assert (await talk.shown())[0].metadata["status"] == "failed"
    await talk.again(question, None)
    assert (await talk.shown())[0].metadata["failure"] == {"status": 500, "message": "no"}
    await talk.again(question, "a")
    assert await talk.said() == "q a"
    assert set((await talk.shown())[0].metadata) == {"run_id"}


async def test_each_answer_keeps_what_its_question_was_given_for_it(talk: Talk) -> None:
    begun = await talk.begin("q")
    await talk.finish(begun, "a1", given="one")
    begun = await talk.begin("", Place(again=begun.user_message_id))
    await talk.finish(begun, "a2", given="two")
    question, answer = await talk.shown()
    assert (question.metadata["given"], answer.metadata["given"]) == ("one", "two")
    await talk.again(question.id, "a3")
    question, answer = await talk.shown()
    assert (question.metadata["given"], answer.metadata["given"], answer.metadata["given_outside"]) == (
        "one",
        "",
        False,
    )


async def test_a_run_that_died_while_it_answered_again_stands_beside_the_first_answer(talk: Talk) -> None:
    question, first = await talk.turn("q", "a1")
    await talk.begin("", Place(again=question))
    await talk.stores.runs.checkpoint([Piece("r2", "half", "")])
    await recover(talk.stores.runs, talk.stores.clock)
    assert await talk.said() == "q half"
    assert len((await talk.stores.messages.page(talk.session, 9, None)).siblings[(await talk.shown())[1].id]) == 2
    await talk.begin("", Place(again=first))
    await recover(talk.stores.runs, talk.stores.clock)  # it had said nothing
    assert await talk.said() == "q half"


async def test_a_deleted_answer_gives_way_to_the_one_beside_it(talk: Talk) -> None:
    question, first = await talk.turn("q", "a1")
    second = await talk.again(question, "a2")
    await talk.stores.messages.delete(talk.session, [second])
    assert await talk.said() == "q a1"
    await talk.stores.messages.delete(talk.session, [question])
    assert await talk.said() == "a1"
    with pytest.raises(BadRequest):
        await talk.again(first, "a3")
    with pytest.raises(NotFound):
        await talk.again(second, "a3")


async def test_what_stands_behind_a_deleted_message_stays(talk: Talk) -> None:
    _, first = await talk.turn("q", "a1")
    await talk.turn("more", "b1")
    await talk.again(first, "a2")
    await talk.stores.messages.delete(talk.session, [first])
    assert await talk.said() == "q a2"
    hidden = next(row["id"] for row in await talk.rows() if row["content"] == "b1")
    await talk.stores.messages.switch(talk.session, hidden)
    assert await talk.said() == "q more b1"


async def test_a_cut_takes_all_branches_beneath_and_none_beside(talk: Talk) -> None:
    question, first = await talk.turn("q", "a1")
    other, _ = await talk.turn("more", "b1")
    await talk.again(other, "b2")
    second = await talk.again(question, "a2")
    await talk.stores.messages.truncate(talk.session, first)
    assert await talk.said() == "q a2"
    assert {row["content"] for row in await talk.rows()} == {"q", "a1", "a2"}
    talk.kept = {question, first, second}
    await talk.check()


async def test_a_copy_of_a_hidden_branch_holds_the_path_down_to_its_message(talk: Talk) -> None:
    _, first = await talk.turn("q", "a1")
    await talk.turn("more", "b1")
    await talk.again(first, "a2")
    session = await talk.stores.sessions.get(talk.session)
    fork = await talk.stores.messages.fork(session, first)
    assert await talk.stores.said(fork.id) == ["q", "a1"]
    copies = await talk.stores.messages.all(fork.id)
    assert [message.parent_id for message in copies] == [None, copies[0].id]


async def test_a_summary_holds_on_its_own_branch_and_again_after_the_way_back(talk: Talk) -> None:
    summaries = SummaryStore(talk.stores.db, talk.stores.clock)
    question, first = await talk.turn("q", "a1")
    _, last = await talk.turn("more", "b1")
    shown = await talk.shown()
    early = Summary(talk.session, shown[0].position, 1, "of the question", outside=False)
    late = Summary(talk.session, shown[3].position, 4, "of all", outside=False)
    assert await summaries.save(early, None, shown[:1])
    assert await summaries.save(late, early, shown[1:])
    second = await talk.again(question, "a2")
    assert await summaries.last(talk.session) == early
    assert await summaries.last(talk.session, last) == late
    assert not await summaries.save(late, early, shown[1:])
    assert await summaries.last(talk.session, second) == early
    await talk.stores.messages.switch(talk.session, first)
    assert await summaries.last(talk.session) == late


DEEDS = st.tuples(
    st.sampled_from(["send", "fail", "edit", "again", "again in vain", "switch", "delete", "truncate", "crash"]),
    st.integers(0, 10_000),
)


async def act(talk: Talk, deed: str, rows: Sequence[Any], any_: Any) -> None:
    """One deed on a message chosen from all branches."""
    name = f"{deed} {talk.runs}"
    questions = [row for row in rows if row["role"] == "user"]
    if deed in {"send", "fail"} or not any_:
        await talk.turn(name, None if deed == "fail" else name)
    elif deed == "edit":
        await talk.turn(name, name, Place(any_["parent_id"] or ""))
    elif deed in {"again", "again in vain"} and questions:
        await talk.again(questions[any_["number"] % len(questions)]["id"], name if deed == "again" else None)
    elif deed == "switch":
        await talk.stores.messages.switch(talk.session, any_["id"])
        assert any_["id"] in [message.id for message in await talk.shown()]
    elif deed == "delete":
        await talk.stores.messages.delete(talk.session, [any_["id"]])
        talk.kept.discard(any_["id"])
    elif deed == "truncate":
        await talk.stores.messages.truncate(talk.session, any_["id"])
        gone, found = {any_["id"]}, 0
        while len(gone) != found:
            found = len(gone)
            gone |= {row["id"] for row in rows if row["parent_id"] in gone}
        talk.kept -= gone - {any_["id"]}
    elif deed == "crash":
        place = Place(again=questions[0]["id"]) if questions and any_["number"] % 2 else None
        await talk.begin(name, place)
        await talk.stores.runs.checkpoint([Piece(f"r{talk.runs}", name * (any_["position"] % 3), "")])
        await recover(talk.stores.runs, talk.stores.clock)
        talk.kept |= {row["id"] for row in await talk.rows() if row["content"] == name * (any_["position"] % 3)}


@given(st.lists(DEEDS, max_size=14))
def test_whatever_is_done_a_whole_path_is_shown_and_nothing_is_lost(deeds: Sequence[tuple[str, int]]) -> None:
    async def live(path: Path) -> None:
        async with opened(path) as stores:
            talk = Talk(stores, (await stores.session()).id)
            for deed, choice in deeds:
                rows = await talk.rows()
                await act(talk, deed, rows, rows[choice % len(rows)] if rows else None)
                await talk.check()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(live(Path(folder) / "o.db"))


async def test_messages_of_before_become_one_path(tmp_path: Path) -> None:
    path = tmp_path / "o.db"
    with sqlite3.connect(path) as db:
        for number, sql in migrations():
            if number < 10:
                db.executescript(f"BEGIN;{sql}\nPRAGMA user_version = {number};COMMIT;")
        db.execute("INSERT INTO sessions (id, mode, created_at, updated_at) VALUES ('s', 'chat', 0, 0)")
        said = [("q0", 65536, "user"), ("b1", 131074, "assistant"), ("q1", 131072, "user"), ("a1", 131073, "assistant")]
        db.executemany(
            """INSERT INTO messages (id, session_id, position, role, content, created_at)
               VALUES (?1, 's', ?2, ?3, ?1, 0)""",
            said,
        )
        db.execute(
            """INSERT INTO runs (run_id, session_id, user_message_id, mode, status, started_at)
               VALUES ('r', 's', 'q1', 'agent', 'running', 0)"""
        )
    db.close()
    async with opened(path) as stores:
        await stores.runs.checkpoint([Piece("r", "c1", "")])
        await recover(stores.runs, stores.clock)
        shown = await stores.messages.all("s")
        assert [message.content for message in shown] == ["q0", "q1", "a1", "b1", "c1"]
        assert [message.parent_id for message in shown] == [None, *(message.id for message in shown[:-1])]
