"""What the model sees of a chat, over HTTP: the same that it is sent, by source."""

from __future__ import annotations

from typing import Any

from serving import Server
from upstream import DONE, Upstream, calls, finish, text_chunk

from odysseus.context.given import as_data
from odysseus.store.messages import Message, append_message, new_message_id
from odysseus.store.summaries import Summary, SummaryStore


async def context(server: Server, session: str) -> Any:
    return await server.get(f"/api/session/{session}/context")


async def test_a_new_session_holds_its_system_text_and_nothing_else(server: Server) -> None:
    seen = await context(server, await server.session())
    assert [message["role"] for message in seen["messages"]] == ["system"]
    assert (seen["model"], seen["endpoint_id"], seen["estimated"]) == ("fake-model", "up", True)
    assert seen["context_length"] == 8192
    assert seen["used"] == seen["sources"]["system"] > 0
    assert seen["used"] + seen["free"] + seen["answer_room"] <= seen["context_length"]


async def test_it_is_what_the_next_request_holds(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    await (await server.send(session, "Tell me of the sea.")).rest()
    seen = await context(server, session)
    await (await server.send(session, "more")).rest()
    sent = upstream.requests[-1].json["messages"][:-1]
    assert [(one["role"], one["text"]) for one in seen["messages"]] == [(one["role"], one["content"]) for one in sent]
    assert seen["sources"]["history"] > 0
    assert seen["sources"]["tools"] == 0


async def test_an_agent_has_tools_and_their_results(server: Server, upstream: Upstream) -> None:
    upstream.reply(calls(("calculate", {"expression": "6*7"})))
    session = await server.session(mode="agent")
    await (await server.send(session, "calculate")).rest()
    seen = await context(server, session)
    assert seen["sources"]["tools"] > 500
    assert seen["sources"]["tool_results"] > 0
    assert [message["calls"] for message in seen["messages"] if message["calls"]] == [["calculate"]]


async def test_what_a_question_was_given_stands_apart_by_title(server: Server) -> None:
    session = await server.session()
    text = as_data("notes.txt", "x" * 9000) + "\n\n" + as_data("What is remembered of the user", "- likes tea")
    made = Message(new_message_id(), session, 0, "user", "why?", {"given": text}, 0.0)
    await server.services.db.write(lambda db: append_message(db, made))
    seen = await context(server, session)
    message = seen["messages"][-1]
    assert message["text"] == "why?"
    assert [given["title"] for given in message["given"]] == ["notes.txt", "What is remembered of the user"]
    assert message["given"][1] == {"title": "What is remembered of the user", "text": "- likes tea", "chars": 11}
    assert seen["sources"]["given"] > 500
    assert len(message["given"][0]["text"]) <= 2000


async def test_a_summary_stands_in_place_of_the_messages_it_is_for(server: Server) -> None:
    session = await server.session()
    for question in ("one", "two"):
        await (await server.send(session, question)).rest()
    messages = await server.services.messages.all(session)
    made = Summary(session, messages[1].position, 2, "They said one.", outside=False)
    services = server.services
    assert await SummaryStore(services.db, services.clock).save(made, None, messages[:2])
    seen = await context(server, session)
    assert [message["text"] for message in seen["messages"] if message["role"] == "user"] == ["two"]
    assert (seen["summary"]["text"], seen["summary"]["messages"]) == ("They said one.", 2)
    assert seen["summary"]["tokens"] == seen["sources"]["summary"] > 0


async def test_the_endpoints_own_tokenizer_is_asked_where_it_has_one(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    upstream.counts = True
    upstream.reply_json({"tokens": list(range(77))})
    seen = await context(server, session)
    assert upstream.requests[-1].path == "/tokenize"
    assert not seen["estimated"]
    assert seen["sources"]["system"] == 77 + 5


async def test_the_brief_figures_ask_no_tokenizer_and_add_up(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    await (await server.send(session, "Tell me of the sea.")).rest()
    upstream.counts = True
    asked = len(upstream.requests)
    brief = await server.get(f"/api/session/{session}/context?brief=1")
    assert len(upstream.requests) == asked
    assert (brief["estimated"], brief["messages"]) == (True, [])
    assert brief["used"] == sum(brief["sources"].values()) > 0
    room = brief["context_length"] - brief["answer_room"]
    assert brief["used"] + brief["free"] <= room
    assert 0.7 * room < brief["summarised_from"] < 0.8 * room


async def test_an_agent_whose_tools_take_most_of_the_window_has_nothing_to_summarise(server: Server) -> None:
    session = await server.session(mode="agent")
    seen = await server.get(f"/api/session/{session}/context?brief=1")
    assert seen["sources"]["tools"] > 0.6 * (seen["used"] + seen["free"])
    assert seen["summarised_from"] is None


async def test_a_full_window_is_never_told_as_fuller_than_it_is(server: Server, upstream: Upstream) -> None:
    session = await server.session()
    for number in range(6):
        upstream.reply(text_chunk("word " * 2000), finish(), DONE)
        await (await server.send(session, f"question {number}")).rest()
    seen = await context(server, session)
    assert seen["left_out"] > 0 or seen["summary"]
    assert seen["used"] + seen["answer_room"] <= seen["context_length"]


async def test_an_unknown_session_is_not_found(server: Server) -> None:
    await server.get("/api/session/none/context", 404)
