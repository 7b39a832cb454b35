"""Comparisons over the real socket: panes, blindness, votes, scores, and what becomes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from serving import Server, Stream, config_of, serving, upstream_config
from upstream import DONE, Hang, Pause, Upstream, answer, chunk, finish, reasoning_chunk, text_chunk, usage

PATH = "/api/compare"
NAMES = ("zebra-9b", "ant-1b", "fox-4b", "owl-7b")


async def compared(server: Server, *names: str, **more: Any) -> Any:
    """A new comparison of these models at the only endpoint."""
    panes = [{"endpoint_id": "up", "model": name} for name in names or NAMES[:2]]
    return await server.post(PATH, {"panes": panes, **more})


async def asked(server: Server, made: Any, question: str = "Why?", query: str = "") -> list[Stream]:
    """The question to every pane, one after the other, each to its end."""
    return [await (await ask(server, pane, question, query)).rest() for pane in made["panes"]]


async def ask(server: Server, pane: Any, question: str = "Why?", query: str = "") -> Stream:
    return await server.send(pane["session"], question, query=query, compare_mode=True)


def betrayed(text: str) -> list[str]:
    """What a text tells of the models and their endpoint."""
    return [word for word in (*NAMES, "Upstream", '"up"') if word in text]


def a_telling_answer(model: str) -> list[bytes]:
    """An answer whose every chunk names its model, with figures that few models have."""
    used = usage(9, 3, prompt_tokens_details={"cached_tokens": 4}, completion_tokens_details={"reasoning_tokens": 1})
    parts = [reasoning_chunk("Hm."), text_chunk("Because."), finish(), used]
    return [part.replace(b"fake-model", model.encode()) for part in parts] + [DONE]


async def test_a_question_goes_to_each_model_and_no_chat_is_seen_of_it(server: Server, upstream: Upstream) -> None:
    made = await compared(server, *NAMES[:3])
    assert [(pane["pane"], pane["name"], pane["model"]) for pane in made["panes"]] == [
        ("A", "zebra-9b", "zebra-9b"),
        ("B", "ant-1b", "ant-1b"),
        ("C", "fox-4b", "fox-4b"),
    ]
    for word in ("one", "two", "three"):
        upstream.reply(answer(f"Answer {word}."))
    streams = await asked(server, made, "Why is the sea salt?")
    assert [request.json["model"] for request in upstream.requests] == list(NAMES[:3])
    assert [stream.text for stream in streams] == ["Answer one.", "Answer two.", "Answer three."]
    assert await server.get("/api/sessions") == []
    assert await server.get("/api/search?q=salt") == []
    shown = await server.get(f"{PATH}/{made['id']}")
    assert shown["question"] == "Why is the sea salt?"
    assert [[message["content"] for message in pane["history"]] for pane in shown["panes"]] == [
        ["Why is the sea salt?", f"Answer {word}."] for word in ("one", "two", "three")
    ]
    assert shown["panes"][1]["history"][1]["html"].startswith('<div class="block">')
    for pane in shown["panes"]:
        del pane["history"]
    assert await server.get(PATH) == [shown]


async def test_each_pane_goes_on_with_its_own_history(server: Server, upstream: Upstream) -> None:
    made = await compared(server)
    upstream.reply(answer("First.")).reply(answer("Second."))
    await asked(server, made)
    await asked(server, made, "And then?")
    said = [[message["content"] for message in request.json["messages"][-3:]] for request in upstream.requests[2:]]
    assert said == [["Why?", "First.", "And then?"], ["Why?", "Second.", "And then?"]]


@pytest.mark.parametrize("query", ["", "?dialect=page", "?ids=1"])
async def test_before_the_vote_nothing_tells_a_blind_model(server: Server, upstream: Upstream, query: str) -> None:
    made = await compared(server, *NAMES, blind=True)
    for _ in NAMES:
        upstream.reply(a_telling_answer("fox-4b"))
    streams = await asked(server, made, query=query)
    raw = [b"".join(frame.raw for frame in stream.frames).decode() for stream in streams]
    assert [betrayed(text) for text in raw] == [[]] * 4
    assert [stream.one("model_info")["model"] for stream in streams] == ["Model A", "Model B", "Model C", "Model D"]
    record, figures = streams[2].record, streams[2].one("metrics")["data"]
    assert (record["model"], record["requested_model"], record["endpoint_label"]) == ("Model C", "Model C", "")
    assert (figures["output_tokens"], figures["cost"], figures["context_length"]) == (3, None, None)
    assert not {"cached_input_tokens", "reasoning_tokens"} & (figures.keys() | record["usage"].keys())
    shown = await server.get(f"{PATH}/{made['id']}")
    assert betrayed(str(shown["panes"])) == []
    assert [model["model"] for model in shown["models"]] == sorted(NAMES)
    assert [pane["model"] for pane in shown["panes"]] == [None] * 4
    assert shown["panes"][0]["history"][1]["metadata"]["thinking"] == "Hm."


async def test_the_session_of_a_pane_is_known_to_no_other_call(server: Server, upstream: Upstream) -> None:
    made = await compared(server, blind=True)
    await asked(server, made)
    session = made["panes"][0]["session"]
    message = (await server.get(f"{PATH}/{made['id']}"))["panes"][0]["history"][0]["id"]
    for path in ("history/{}", "session/{}/export", "session/{}/context", "chat/resume/{}", "chat/stream_status/{}"):
        await server.get(f"/api/{path.format(session)}", 404)
    for deed in ("fork", "truncate"):
        await server.post(f"/api/session/{session}/{deed}", {"message_id": message}, 404)
    await server.post(f"/api/session/{session}/edit-message", {"msg_id": message, "content": "x"}, 404)
    await server.call("PATCH", f"/api/session/{session}", 404, json={"model": "other", "name": "x"})
    await server.call("DELETE", f"/api/session/{session}", 404)
    await server.post("/api/chat_stream", {"session": session, "message": "hi"}, 404)
    kept = await server.services.sessions.of_pane(session)
    assert (kept.name, kept.model in NAMES, kept.message_count) == ("Why?", True, 2)


async def test_a_failure_of_a_blind_model_is_told_without_its_words(server: Server, upstream: Upstream) -> None:
    made = await compared(server, blind=True)
    upstream.reply(b'{"error": {"message": "zebra-9b is overloaded"}}', status=400)
    upstream.reply(answer("Fine."))
    streams = await asked(server, made)
    assert streams[0].one("error") == {"error": "This model failed. Vote to see which it is, and why.", "status": 502}
    assert streams[1].record["status"] == "completed"
    shown = await server.get(f"{PATH}/{made['id']}")
    assert betrayed(str(shown["panes"])) == []
    assert shown["panes"][0]["history"][0]["metadata"]["failure"]["status"] == 502
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "B"})
    shown = await server.get(f"{PATH}/{made['id']}")
    assert "zebra-9b is overloaded" in shown["panes"][0]["history"][0]["metadata"]["failure"]["message"]


async def test_a_blind_model_whose_endpoint_is_gone_is_refused_without_its_name(
    server: Server, upstream: Upstream
) -> None:
    added = await server.post("/api/endpoints", {"label": "Second", "base_url": upstream.origin})
    panes = [{"endpoint_id": added["id"], "model": name} for name in NAMES[:2]]
    made = await server.post(PATH, {"panes": panes, "blind": True})
    await server.call("DELETE", f"/api/endpoints/{added['id']}")
    body = {"session": made["panes"][0]["session"], "message": "Why?", "compare_mode": True}
    error = await server.post("/api/chat_stream", body, 400)
    assert added["id"] not in error["error"]
    open_one = await compared(server)
    assert open_one["panes"][0]["endpoint_label"] == "Upstream"


async def test_blind_models_come_in_any_order(server: Server) -> None:
    orders = set()
    for _ in range(40):
        made = await compared(server, blind=True)
        stored = await server.services.compare.get(made["id"])
        orders.add(tuple(pane.route.model for pane in stored.panes))
    assert orders == {NAMES[:2], NAMES[1::-1]}


async def test_the_vote_reveals_and_stands(server: Server, upstream: Upstream) -> None:
    made = await compared(server, blind=True)
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "A"}, 409)
    await server.post(f"{PATH}/{made['id']}/keep", {"pane": "A"}, 409)
    await asked(server, made)
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "C"}, 400)
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "best"}, 400)
    await server.post(f"{PATH}/{made['id']}/keep", {"pane": "A"}, 409)
    voted = await server.post(f"{PATH}/{made['id']}/vote", {"vote": "A"})
    assert (voted["vote"], voted["revealed"]) == ("A", True)
    assert sorted(pane["name"] for pane in voted["panes"]) == sorted(NAMES[:2])
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "B"}, 409)
    streams = await asked(server, made, "And now?")
    assert [stream.record["model"] for stream in streams] == ["fake-model", "fake-model"]


async def test_the_vote_of_an_open_comparison_may_change_and_is_counted_once(server: Server) -> None:
    made = await compared(server, "a", "b", "c")
    await asked(server, made)
    for vote in ("A", "tie", "B"):
        await server.post(f"{PATH}/{made['id']}/vote", {"vote": vote})
    for vote in ("A", "tie", "none"):
        other = await compared(server, "a", "b")
        await asked(server, other)
        await server.post(f"{PATH}/{other['id']}/vote", {"vote": vote})
    await compared(server, "a", "d")
    scores = await server.get(f"{PATH}/scores")
    assert [tuple(score[key] for key in ("model", "wins", "ties", "losses", "none")) for score in scores] == [
        ("a", 1, 1, 1, 1),
        ("b", 1, 1, 1, 1),
        ("c", 0, 0, 1, 0),
    ]
    assert {(score["endpoint_id"], score["endpoint_label"]) for score in scores} == {("up", "Upstream")}


async def test_a_pane_that_is_closed_ends_its_model_and_no_other(server: Server, upstream: Upstream) -> None:
    made = await compared(server)
    more = asyncio.Event()
    upstream.reply(text_chunk("one"), Hang()).reply(text_chunk("two"), Pause(more), finish(), DONE)
    first = await (await ask(server, made["panes"][0])).until_text("one")
    second = await (await ask(server, made["panes"][1])).until_text("two")
    assert "X-Odysseus-Run-Id" not in first.response.headers
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "A"}, 409)
    first.response.close()
    await upstream.disconnected()
    more.set()
    assert (await second.rest()).record["status"] == "completed"
    shown = await server.get(f"{PATH}/{made['id']}")
    assert [pane["history"][1]["metadata"]["stop_reason"] for pane in shown["panes"]] == ["client_disconnected", None]
    await server.post(f"{PATH}/{made['id']}/vote", {"vote": "B"})


async def test_no_other_model_answers_in_a_panes_place(upstream: Upstream, tmp_path: Path) -> None:
    lines = f'kind = "openai"\nbase_url = "{upstream.base_url}"\nfallback = ["up/other"]\n'
    config = config_of(f'[chat]\nendpoint = "up"\nmodel = "m"\n[[endpoints]]\nid = "up"\n{lines}')
    async with serving(config, tmp_path) as server:
        made = await compared(server)
        upstream.reply(b"{}", status=401)
        stream = await (await ask(server, made["panes"][0])).rest()
        assert stream.kinds[-1] == "error"
        assert [request.json["model"] for request in upstream.requests] == ["zebra-9b"]


@pytest.mark.parametrize("fields", [{"mode": "agent"}, {"incognito": True}, {"parent_id": "root"}])
async def test_panes_are_chats_that_are_kept(server: Server, fields: dict[str, Any]) -> None:
    made = await compared(server)
    body = {"session": made["panes"][0]["session"], "message": "Why?", "compare_mode": True, **fields}
    assert next(iter(fields)) in (await server.post("/api/chat_stream", body, 400))["error"]


async def test_one_model_alone_is_refused_in_words(server: Server) -> None:
    refused = await server.post(PATH, {"panes": [{"model": "a"}]}, 400)
    assert refused["error"] == "Field 'panes': it needs 2 or more."


async def test_a_pane_asks_its_own_model_whatever_is_selected(server: Server, upstream: Upstream) -> None:
    made = await compared(server)
    await (await server.send(made["panes"][0]["session"], compare_mode=True, selected_model="other")).rest()
    assert upstream.requests[0].json["model"] == "zebra-9b"


async def test_one_model_is_gone_on_with_in_a_chat(server: Server, upstream: Upstream) -> None:
    made = await compared(server)
    await server.post(f"{PATH}/{made['id']}/keep", {"pane": "B"}, 409)
    upstream.reply(answer("One.")).reply(answer("Two."))
    await asked(server, made)
    await server.post(f"{PATH}/{made['id']}/keep", {"pane": "D"}, 400)
    chat = await server.post(f"{PATH}/{made['id']}/keep", {"pane": "B"})
    assert (chat["name"], chat["model"], chat["message_count"]) == ("Why?", "ant-1b", 2)
    assert [session["id"] for session in await server.get("/api/sessions")] == [chat["id"]]
    await (await server.send(chat["id"], "And then?")).rest()
    assert upstream.requests[-1].json["model"] == "ant-1b"
    assert len((await server.get(f"{PATH}/{made['id']}"))["panes"][1]["history"]) == 2
    await server.call("DELETE", f"{PATH}/{made['id']}")
    assert len(await server.history(chat["id"])) == 4


async def test_a_comparison_is_deleted_with_all_that_is_in_it(server: Server, upstream: Upstream) -> None:
    made = await compared(server)
    await asked(server, made)
    upstream.reply(text_chunk("one"), Hang())
    stream = await (await ask(server, made["panes"][0], "More?")).until_text("one")
    assert (await server.get(PATH))[0]["running"] is True
    await server.call("DELETE", f"{PATH}/{made['id']}")
    await upstream.disconnected(2)
    await stream.rest()
    for table in ("comparisons", "compare_panes", "sessions", "messages", "runs"):
        assert await server.services.db.read(f"SELECT * FROM {table}") == [], table
    await server.get(f"{PATH}/{made['id']}", 404)
    await server.call("DELETE", f"{PATH}/{made['id']}", 404)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"panes": []},
        {"panes": [{"model": "a"}]},
        {"panes": [{"model": name} for name in "abcde"]},
        {"panes": [{"model": "a"}, {"model": "a", "endpoint_id": "up"}]},
        {"panes": [{"model": "a"}, {"model": "b", "endpoint_id": "nowhere"}]},
        {"panes": "a"},
        {"panes": [{"model": "a"}, {"model": "b"}], "blind": "perhaps"},
    ],
)
async def test_what_cannot_be_compared_is_refused(server: Server, body: dict[str, Any]) -> None:
    await server.post(PATH, body, 400)
    assert await server.get(PATH) == []


async def test_compared_turns_propose_no_memories(upstream: Upstream, tmp_path: Path) -> None:
    config = upstream_config(upstream.base_url, memory={"propose_after_turn": True})
    told = "I like green tea very much."
    async with serving(config, tmp_path) as server:
        await asked(server, await compared(server), told)
        session = await server.session()
        await (await server.send(session, told)).rest()
        await upstream.arrived(3)
        assert [request.json["model"] for request in upstream.requests] == [*NAMES[:2], "fake-model", "fake-model"]


async def test_chunks_of_a_role_alone_tell_nothing(server: Server, upstream: Upstream) -> None:
    made = await compared(server, blind=True)
    upstream.reply(chunk({"role": "assistant"}), text_chunk("Yes."), finish("length"), DONE)
    stream = await (await ask(server, made["panes"][0])).rest()
    assert stream.record["finish_reason"] == "length"
    assert stream.record["finish_word"] is None


async def test_a_model_that_makes_pictures_is_not_compared(server: Server, upstream: Upstream) -> None:
    panes = [{"endpoint_id": "up", "model": name} for name in ("dall-e-3", "ant-1b")]
    refused = await server.post(PATH, {"panes": panes, "blind": True}, 400)
    assert "pictures" in refused["error"]
    assert await server.get(PATH) == []


async def test_a_blind_pane_whose_model_makes_pictures_by_now_is_refused_without_its_name(
    upstream: Upstream, tmp_path: Path
) -> None:
    async with serving(upstream_config(upstream.base_url), tmp_path) as server:
        made = await compared(server, blind=True)
    endpoint = f'id = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{upstream.base_url}"\n'
    toml = f'[[endpoints]]\n{endpoint}image_models = ["zebra-9b", "ant-1b"]\n'
    async with serving(config_of(toml), tmp_path) as server:
        for pane in made["panes"]:
            body = {"session": pane["session"], "message": "A dot", "compare_mode": True}
            refused = await server.post("/api/chat_stream", body, 400)
            assert not betrayed(str(refused))
    assert upstream.requests == []


async def test_a_closed_pane_stays_closed_until_it_is_brought_back(server: Server) -> None:
    made = await compared(server, *NAMES[:3])
    path = f"{PATH}/{made['id']}"
    for closed in (True, True, False):
        told = await server.post(f"{path}/close", {"pane": "B", "closed": closed})
        assert [pane["closed"] for pane in told["panes"]] == [False, closed, False]
        assert (await server.get(path))["panes"][1]["closed"] is closed
    await server.post(f"{path}/close", {"pane": "C"})
    assert [pane["closed"] for pane in (await server.get(PATH))[0]["panes"]] == [False, False, True]
    await server.post(f"{path}/close", {"pane": "D"}, 400)
    await server.post(f"{PATH}/nope/close", {"pane": "A"}, 404)
