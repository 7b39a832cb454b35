"""The HTTP glue against a real socket: statuses, silence, cuts, closing, reuse."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any

import pytest
from upstream import DONE, Cut, Hang, Paced, Pause, Step, Upstream, answer, finish, paced, text_chunk, usage

from odysseus.config import EndpointConfig
from odysseus.errors import ConfigError, ProviderError
from odysseus.events import TextDelta
from odysseus.providers import http
from odysseus.providers.base import ChatMessage, ChatRequest, Chunk
from odysseus.providers.openai import OpenAIProvider

KEY = "sk-test-0123456789"
REQUEST = ChatRequest("fake-model", (ChatMessage("user", "Hi"),))
PING = b": ping\n\n"


@asynccontextmanager
async def provider_at(base_url: str, **settings: Any) -> AsyncIterator[OpenAIProvider]:
    config = EndpointConfig(id="lan", kind="openai", base_url=base_url, **{"api_key": KEY, **settings})
    provider = OpenAIProvider(config)
    try:
        yield provider
    finally:
        await provider.close()


async def collect(provider: OpenAIProvider) -> tuple[str, ProviderError | None]:
    """The text that came, and how it failed."""
    chunks: list[Chunk] = []
    try:
        async with asyncio.timeout(5), aclosing(provider.stream(REQUEST)) as batches:
            async for batch in batches:
                chunks += batch
    except ProviderError as error:
        return text_of(chunks), error
    return text_of(chunks), None


async def failure(provider: OpenAIProvider) -> ProviderError:
    text, error = await collect(provider)
    assert text == ""
    assert error is not None
    return error


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta))


STATUS_BODIES: list[tuple[int, str, str]] = [
    (
        401,
        '{"error": {"message": "Bad key sk-t***89. See https://x.example/keys."}}',
        "HTTP 401: Bad key (key) See (address)",
    ),
    (429, '{"error": {"message": "Rate limit reached", "code": "rate_limit"}}', "HTTP 429: Rate limit reached"),
    (404, '{"detail": "Not Found"}', "HTTP 404: Not Found"),
    (422, '{"detail": [{"msg": "field required", "loc": ["body", "model"]}]}', "HTTP 422: body.model: field required"),
    (400, '{"message": "bad model"}', "HTTP 400: bad model"),
    (400, '{"error": "model is not loaded"}', "HTTP 400: model is not loaded"),
    (500, '[{"error": {"message": "in a list"}}]', "HTTP 500: in a list"),
    (503, "upstream connect error", "HTTP 503: upstream connect error"),
    (503, "", "HTTP 503: Service Unavailable"),
    (503, '{"error": null}', "HTTP 503: Service Unavailable"),
    (502, "<!DOCTYPE html><html><body>secret page</body></html>", "HTTP 502 with an HTML page"),
    (500, "Traceback (most recent call last):\n  File x", "HTTP 500: The endpoint failed inside."),
    (530, "", "HTTP 530: no message"),
]


@pytest.mark.parametrize(("status", "body", "message"), STATUS_BODIES)
async def test_an_error_status_becomes_its_status_and_a_clean_sentence(
    upstream: Upstream, status: int, body: str, message: str
) -> None:
    upstream.reply(body.encode(), status=status, headers={"Content-Type": "application/json", "Location": "/elsewhere"})
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert (error.status, error.message) == (status, message)
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed_and_is_told_as_a_fault(upstream: Upstream, status: int) -> None:
    upstream.reply(b"", status=status, headers={"Location": "/elsewhere"})
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert (error.status, len(upstream.requests)) == (502, 1)
    assert "Check its base URL" in error.message


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504, 529])
async def test_only_passing_faults_are_worth_another_try(upstream: Upstream, status: int) -> None:
    upstream.reply_json({"error": {"message": "no"}}, status=status)
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert error.retryable == (status in {408, 409, 425, 429} or status >= 500)


@pytest.mark.parametrize("steps", [[b'{"error": {"message": "half', Hang()], [b"busy", Cut()], [b"x" * 5_000_000]])
async def test_the_body_of_an_error_is_read_within_bounds(
    upstream: Upstream, steps: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "ERROR_BODY_SECONDS", 0.1)
    upstream.reply(steps, status=503)
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert error.status == 503
    assert len(error.message) <= 300


@pytest.mark.parametrize("place", ["status", "stream", "document", "models"])
async def test_the_key_is_sent_as_authorization_and_seen_nowhere_else(
    upstream: Upstream, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    key, token = "plain secret words", "tok-in-header"
    body = {"error": {"message": f"key {key} and {token} at {upstream.base_url}/x are wrong", "code": 403}}
    caplog.set_level(logging.DEBUG)
    async with provider_at(upstream.base_url, api_key=key, headers={"X-Token": token}) as provider:
        with pytest.raises(ProviderError) as raised:  # noqa: PT012
            if place == "models":
                upstream.models_reply(json.dumps(body).encode(), status=403)
                await provider.models()
            else:
                line = b"data: " + json.dumps(body).encode() + b"\n\n"
                upstream.reply(
                    line if place == "stream" else json.dumps(body).encode(), status=403 if place == "status" else 200
                )
                await anext(aiter(provider.stream(REQUEST)))
    received = upstream.model_requests[0] if place == "models" else upstream.requests[0]
    assert received.headers["Authorization"] == f"Bearer {key}"
    assert received.headers["X-Token"] == token
    assert raised.value.status == 403
    assert "key (key) and (key) at (address) are wrong" in raised.value.message
    for seen in (caplog.text, repr(raised.value), str(raised.value.__cause__)):
        assert key not in seen
        assert token not in seen
        assert "127.0.0.1" not in seen


async def test_an_endpoint_without_a_key_gets_no_authorization(upstream: Upstream) -> None:
    async with provider_at(upstream.base_url, api_key="") as provider:
        assert await collect(provider) == ("Hello from the upstream.", None)
    assert "Authorization" not in upstream.requests[0].headers


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


UNREACHABLE: list[tuple[Callable[[Upstream], str], str]] = [
    (lambda upstream: f"http://127.0.0.1:{closed_port()}/v1", "cannot be reached"),
    (lambda upstream: "http://no-such-host.invalid/v1", "host name was not found"),
    (lambda upstream: upstream.base_url.replace("http:", "https:"), "does not speak TLS"),
    (lambda upstream: "http:///v1", "base URL is not valid"),
]


@pytest.mark.parametrize(("address", "words"), UNREACHABLE)
async def test_an_endpoint_out_of_reach_is_told_in_plain_words(
    upstream: Upstream, address: Callable[[Upstream], str], words: str
) -> None:
    async with provider_at(address(upstream)) as provider:
        for error in (await failure(provider), await models_failure(provider)):
            assert words in error.message
            assert error.status == 502
            assert not any(part in error.message for part in ("127.0.0.1", "invalid:", "/v1", "Errno"))


async def models_failure(provider: OpenAIProvider) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        await provider.models()
    return raised.value


async def test_a_server_that_takes_no_connection_is_given_up_after_the_connect_timeout() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        address = server.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        try:
            for client in waiting:
                client.setblocking(False)
                with suppress(BlockingIOError):
                    client.connect(address)
            async with provider_at(f"http://127.0.0.1:{address[1]}/v1", connect_timeout=0.1) as provider:
                error = await failure(provider)
        finally:
            for client in waiting:
                client.close()
    assert (error.status, error.retryable) == (502, True)
    assert "did not take the connection in time" in error.message


@pytest.mark.parametrize("reset", [True, False])
async def test_a_connection_closed_before_the_answer_is_a_network_failure(upstream: Upstream, reset: bool) -> None:
    upstream.reply(before=[Cut(reset)])
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert (error.status, error.retryable) == (502, True)
    assert "closed the connection before it answered" in error.message


async def test_a_port_that_does_not_speak_http_is_told() -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with server, provider_at(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as provider:
        error = await failure(provider)
    assert error.message == "The endpoint did not answer in HTTP. Check its base URL."


SILENT: dict[str, dict[str, Any]] = {
    "before the headers": {"before": [Hang()]},
    "after the headers": {"steps": [Hang()]},
    "in a record": {"steps": [b'data: {"cho', Hang()]},
    "comments alone": {"steps": [PING, Hang()]},
    "empty events": {"steps": [b"data:\n\n", Hang()]},
}


@pytest.mark.parametrize("name", SILENT)
async def test_silence_is_a_read_timeout(upstream: Upstream, name: str) -> None:
    script = SILENT[name]
    upstream.reply(script.get("steps", []), before=script.get("before", ()))
    async with provider_at(upstream.base_url, silence_timeout=0.1) as provider:
        error = await failure(provider)
    assert (error.status, error.message, error.retryable) == (504, "Read timeout", True)
    await upstream.disconnected(0)


async def test_comments_do_not_put_the_silence_off(upstream: Upstream) -> None:
    upstream.reply(text_chunk("a"), Paced([PING] * 200, 50), answer("late"))
    async with provider_at(upstream.base_url, silence_timeout=0.2) as provider:
        text, error = await collect(provider)
    assert text == "a"
    assert error is not None
    assert error.message == "Read timeout"
    assert upstream.requests[0].writes < 150


async def test_events_put_the_silence_off_however_long_the_answer_takes(upstream: Upstream) -> None:
    upstream.reply(paced(16, 20, "x"))
    async with provider_at(upstream.base_url, silence_timeout=0.4) as provider:
        assert await collect(provider) == ("x" * 16, None)


async def test_the_time_a_reader_takes_is_not_silence(upstream: Upstream) -> None:
    more, rested = asyncio.Event(), asyncio.Event()
    upstream.reply(text_chunk("a"), Pause(more), answer("b"))
    async with provider_at(upstream.base_url, silence_timeout=0.1) as provider:
        batches = provider.stream(REQUEST)
        chunks = list(await anext(batches))
        asyncio.get_running_loop().call_later(0.25, rested.set)
        await rested.wait()
        more.set()
        async for batch in batches:
            chunks += batch
    assert text_of(chunks) == "ab"


@pytest.mark.parametrize("tail", [[Hang()], [PING, Hang()], [Cut()], [Cut(reset=False)], []])
async def test_an_answer_with_its_end_is_whole_without_the_sentinel(
    upstream: Upstream, tail: list[Step], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "GRACE_SECONDS", 0.1)
    upstream.reply(text_chunk("all"), finish(), tail)
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("all", None)


EARLY_ENDS: list[list[Step]] = [
    [],
    [Cut()],
    [Cut(reset=False)],
    [text_chunk("lost")[:40]],
    [text_chunk("lost")[:-3], Cut()],
    [b"data: {", Cut(reset=False)],
    [usage(3, 4)],
]


@pytest.mark.parametrize("tail", EARLY_ENDS)
async def test_a_body_that_ends_early_fails_and_its_text_stands(upstream: Upstream, tail: list[Step]) -> None:
    upstream.reply(text_chunk("Take the "), text_chunk("second le"), tail)
    upstream.reply(answer("Take the second left."))
    async with provider_at(upstream.base_url) as provider:
        text, error = await collect(provider)
    assert text == "Take the second le"
    assert error is not None
    assert (error.status, error.retryable) == (502, True)
    assert "ended early" in error.message
    assert len(upstream.requests) == 1


async def test_a_last_event_without_a_blank_line_counts(upstream: Upstream) -> None:
    upstream.reply(text_chunk("a"), finish().rstrip())
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("a", None)


DOCUMENT = {
    "model": "fake-model",
    "choices": [{"message": {"role": "assistant", "content": "All at once."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 4},
}


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream", "text/plain"])
async def test_a_plain_completion_in_place_of_a_stream_is_an_answer(upstream: Upstream, content_type: str) -> None:
    body = json.dumps(DOCUMENT, indent=2).encode()
    upstream.reply(b" \n", body[:30], body[30:], headers={"Content-Type": content_type})
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("All at once.", None)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/octet-stream"])
async def test_a_stream_under_another_content_type_is_read(upstream: Upstream, content_type: str) -> None:
    upstream.reply(answer("streamed"), headers={"Content-Type": content_type})
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("streamed", None)


WRONG_KINDS: list[tuple[bytes, int, str]] = [
    (b"<!doctype html><html>log in</html>", 502, "HTML page"),
    (b"\n  <html>", 502, "HTML page"),
    (b'{"error": {"message": "quota", "code": 402}}', 402, "quota"),
    (b'{"error": "no such model"}', 502, "no such model"),
    (b'{"object": "error", "message": "too long", "code": 400}', 400, "too long"),
    (b'{"detail": "moved"}', 502, "moved"),
    (b'{"status": "ok"}', 502, "not a chat completion"),
    (b"[1, 2]", 502, "not a chat completion"),
    (b'{"choices": []}', 502, "not a chat completion"),
    (b'{"choices": [{"mess', 502, "not a chat completion"),
    (b"[" * 200_000, 502, "not a chat completion"),
    (b'{"choices": [{"message": {"content": ""}, "finish_reason": "stop"}]}', 502, "empty answer"),
    (b"", 502, "ended early"),
    (b"OK", 502, "ended early"),
    (PING, 502, "ended early"),
    (DONE, 502, "empty answer"),
]


@pytest.mark.parametrize(("body", "status", "words"), WRONG_KINDS)
async def test_a_body_of_the_wrong_kind_is_an_error_that_says_so(
    upstream: Upstream, body: bytes, status: int, words: str
) -> None:
    upstream.reply(body)
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert error.status == status
    assert words in error.message


async def test_a_record_without_end_is_cut_off_and_the_text_stands(upstream: Upstream) -> None:
    upstream.reply(text_chunk("before"), b"data: ", [b"x" * 1_000_000] * 20, Hang())
    async with provider_at(upstream.base_url) as provider:
        text, error = await collect(provider)
        await upstream.disconnected(0)
    assert text == "before"
    assert error is not None
    assert "one piece of more than" in error.message


async def test_a_compressed_stream_is_read(upstream: Upstream) -> None:
    upstream.reply(gzip.compress(b"".join(answer("packed"))), headers={"Content-Encoding": "gzip"})
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("packed", None)


async def test_broken_compression_is_an_error(upstream: Upstream) -> None:
    upstream.reply(b"this is not gzip", headers={"Content-Encoding": "gzip"})
    async with provider_at(upstream.base_url) as provider:
        error = await failure(provider)
    assert error.status == 502


async def test_proxies_of_the_environment_are_not_used(upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("Hello from the upstream.", None)


async def test_the_sentinel_ends_the_stream_at_once_and_frees_the_connection(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "DRAIN_SECONDS", 0.1)
    upstream.reply(text_chunk("hi"), finish(), DONE + PING + text_chunk("GHOST"), text_chunk("GHOST"), Hang())
    async with provider_at(upstream.base_url, silence_timeout=4) as provider:
        start = asyncio.get_running_loop().time()
        assert await collect(provider) == ("hi", None)
        assert asyncio.get_running_loop().time() - start < 2
        await upstream.disconnected(0)


async def test_the_next_request_uses_the_same_connection(upstream: Upstream) -> None:
    rest = asyncio.Event()
    upstream.reply(answer("one"), Pause(rest)).reply(answer("two"))
    async with provider_at(upstream.base_url) as provider:
        assert await collect(provider) == ("one", None)
        rest.set()
        await asyncio.gather(*provider._http._drains)
        assert await collect(provider) == ("two", None)
    assert upstream.requests[0].client == upstream.requests[1].client


async def test_many_streams_run_side_by_side(upstream: Upstream) -> None:
    rest = asyncio.Event()
    for _ in range(120):
        upstream.reply(text_chunk("a"), Pause(rest), finish(), DONE)
    async with provider_at(upstream.base_url) as provider:
        running = [asyncio.create_task(collect(provider)) for _ in range(120)]
        await upstream.arrived(119)
        rest.set()
        assert await asyncio.gather(*running) == [("a", None)] * 120


WAITS: dict[str, dict[str, Any]] = {
    "for the headers": {"before": [Hang()]},
    "for the first token": {"steps": [Hang()]},
    "in the answer": {"steps": [text_chunk("a"), Hang()]},
    "while it floods": {"steps": [text_chunk("a")] * 100_000},
}


@pytest.mark.parametrize("name", WAITS)
async def test_a_cancelled_task_closes_the_connection_within_milliseconds(upstream: Upstream, name: str) -> None:
    loop = asyncio.get_running_loop()
    took = []
    async with provider_at(upstream.base_url) as provider:
        for attempt in range(5):
            upstream.reply(WAITS[name].get("steps", []), before=WAITS[name].get("before", ()))
            task = asyncio.create_task(collect(provider))
            await upstream.arrived(attempt)
            start = loop.time()
            task.cancel()
            took.append(await upstream.disconnected(attempt) - start)
            with pytest.raises(asyncio.CancelledError):
                await task
    assert min(took) < 0.005
    assert not any(received.finished for received in upstream.requests)


async def test_closing_the_stream_closes_the_connection_within_milliseconds(upstream: Upstream) -> None:
    loop = asyncio.get_running_loop()
    took = []
    async with provider_at(upstream.base_url) as provider:
        for attempt in range(5):
            upstream.reply(text_chunk("a"), Hang())
            batches = provider.stream(REQUEST)
            assert text_of(await anext(batches)) == "a"
            start = loop.time()
            await batches.aclose()
            took.append(await upstream.disconnected(attempt) - start)
    assert min(took) < 0.005


async def test_closing_the_provider_ends_its_streams(upstream: Upstream) -> None:
    upstream.reply(text_chunk("a"), Hang())
    async with provider_at(upstream.base_url) as provider:
        task = asyncio.create_task(collect(provider))
        await upstream.arrived()
        await provider.close()
        _, error = await task
        await upstream.disconnected(0)
    assert error is not None


@pytest.mark.parametrize(
    "settings",
    [{"base_url": "http://127.0.0.1:99999/v1"}, {"api_key": "a\nb"}, {"headers": {"X-A": "a\r\nX-B: b"}}],
)
def test_a_setting_that_no_request_can_carry_is_refused_at_once(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="'lan'"):
        OpenAIProvider(EndpointConfig(id="lan", kind="openai", **{"base_url": "http://127.0.0.1/v1", **settings}))


async def test_blanks_around_a_key_and_a_query_in_the_address_are_kept_right(upstream: Upstream) -> None:
    async with provider_at(f"{upstream.base_url}/?version=2", api_key=f" {KEY}\n") as provider:
        assert await collect(provider) == ("Hello from the upstream.", None)
    assert upstream.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert upstream.requests[0].path == "/v1/chat/completions"


async def test_an_old_connection_that_the_server_has_closed_costs_nothing() -> None:
    opened: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keeps the connection as if for more, and closes it at the next request."""
        opened.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        body = b"".join(answer("hello"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(body))
        writer.write(body)
        with suppress(asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with provider_at(f"http://127.0.0.1:{port}/v1") as provider:
            for _ in range(3):
                assert await collect(provider) == ("hello", None)
    assert len(opened) == 3
