"""The rows of a run: its beginning, its checkpoints, its one end, and what a dead process left."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from odysseus.runs.recovery import recover
from odysseus.store.messages import Message, new_message_id
from odysseus.store.runs import Begun, Piece, RunStart
from store.databases import Stores


def record(session_id: str, run_id: str, begun: Begun, **more: Any) -> dict[str, Any]:
    """A terminal record as far as the store reads it."""
    return {
        "record_id": begun.record_id,
        "run_id": run_id,
        "session_id": session_id,
        "message_id": None,
        "user_message_id": begun.user_message_id,
        "status": "completed",
        "stop_reason": None,
        "failure": None,
        "usage": {"total_tokens": 5},
        **more,
    }


async def begin(stores: Stores, session_id: str, run_id: str, message: str = "q") -> Begun:
    return await stores.runs.begin(RunStart(run_id, session_id, "chat", message, "up", "m"))


async def finish(stores: Stores, session_id: str, run_id: str, begun: Begun, text: str) -> None:
    answer = Message(new_message_id(), session_id, 0, "assistant", text, {}, stores.clock.now)
    await stores.runs.finish(record(session_id, run_id, begun, message_id=answer.id), answer)


async def test_a_finished_run_leaves_its_record_and_no_checkpoint(stores: Stores) -> None:
    session = await stores.session()
    begun = await begin(stores, session.id, "r")
    await stores.runs.checkpoint([Piece("r", "half ", "")])
    await finish(stores, session.id, "r", begun, "half whole")
    assert await stores.said(session.id) == ["q", "half whole"]
    assert await stores.db.read("SELECT * FROM run_pieces") == []
    row = await stores.db.read_one("SELECT status, message_id, record, finished_at FROM runs")
    assert row
    assert (row[0], row[3]) == ("completed", stores.clock.now)
    assert orjson.loads(row[2])["message_id"] == row[1] == (await stores.messages.all(session.id))[1].id
    assert (await stores.sessions.get(session.id)).total_tokens == 5


async def test_a_checkpoint_that_comes_after_the_end_leaves_nothing(stores: Stores) -> None:
    session = await stores.session()
    begun = await begin(stores, session.id, "r")
    await finish(stores, session.id, "r", begun, "whole")
    await stores.runs.checkpoint([Piece("r", "late", "late"), Piece("unknown", "x", "y")])
    assert await stores.db.read("SELECT * FROM run_pieces") == []


async def test_what_a_dead_process_left_is_put_together_in_order(stores: Stores) -> None:
    session = await stores.session()
    await begin(stores, session.id, "r")
    for number in range(30):
        await stores.runs.checkpoint([Piece("r", f"{number} ", f"t{number} "[: 4 * (number % 2)])])
    assert await recover(stores.runs, stores.clock) == 1
    assert await recover(stores.runs, stores.clock) == 0
    (_, answer) = await stores.messages.all(session.id)
    assert answer.content == "".join(f"{number} " for number in range(30))
    assert answer.metadata["thinking"] == "".join(f"t{number} " for number in range(1, 30, 2))
    assert (answer.metadata["status"], answer.metadata["stop_reason"]) == ("interrupted", "server_restart")
    row = await stores.db.read_one("SELECT status, stop_reason, message_id, record FROM runs")
    assert row
    assert row[:3] == ("interrupted", "server_restart", answer.id)
    assert orjson.loads(row[3])["partial"] == answer.content


async def test_a_dead_run_without_a_word_marks_its_question(stores: Stores) -> None:
    session = await stores.session()
    await begin(stores, session.id, "r")
    await recover(stores.runs, stores.clock)
    (question,) = await stores.messages.all(session.id)
    assert (question.role, question.metadata["status"]) == ("user", "interrupted")
    assert question.metadata["stop_reason"] == "server_restart"


@pytest.mark.parametrize("later", [1, 3])
async def test_an_answer_that_comes_late_stands_behind_its_question(stores: Stores, later: int) -> None:
    session = await stores.session()
    first = await begin(stores, session.id, "r0", "q0")
    await finish(stores, session.id, "r0", first, "a0")
    await begin(stores, session.id, "r1", "q1")
    await stores.runs.checkpoint([Piece("r1", "a1", "")])
    for number in range(2, 2 + later):
        begun = await begin(stores, session.id, f"r{number}", f"q{number}")
        await finish(stores, session.id, f"r{number}", begun, f"a{number}")
    await recover(stores.runs, stores.clock)
    assert await stores.said(session.id) == [f"{who}{number}" for number in range(2 + later) for who in "qa"]


async def test_an_answer_whose_question_is_gone_stands_at_the_end(stores: Stores) -> None:
    session = await stores.session()
    begun = await begin(stores, session.id, "r")
    await stores.runs.checkpoint([Piece("r", "answer", "")])
    await stores.messages.delete(session.id, [begun.user_message_id])
    await stores.say(session.id, "later")
    await recover(stores.runs, stores.clock)
    assert await stores.said(session.id) == ["later", "answer"]
