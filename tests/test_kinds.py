"""Every kind of endpoint through the whole server: chosen by its kind, heard in its wire, told in one stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from serving import config_of, serving
from upstream import Upstream
from wire_files import FOLDER, NDJSON_HEADERS

KINDS = {
    "openai": ("/v1", "openai-text.sse", "/v1/chat/completions"),
    "openai-responses": ("/v1", "responses-text.sse", "/v1/responses"),
    "anthropic": ("", "anthropic-text.sse", "/v1/messages"),
    "ollama": ("", "ollama-text.ndjson", "/api/chat"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_kind_of_endpoint_streams_like_every_other(kind: str, upstream: Upstream, tmp_path: Path) -> None:
    path, name, called = KINDS[kind]
    config = config_of(f"""
        [chat]
        endpoint = "e"
        model = "m"
        [[endpoints]]
        id = "e"
        kind = "{kind}"
        base_url = "{upstream.origin}{path}"
        context_length = 4096
    """)
    headers = NDJSON_HEADERS if name.endswith(".ndjson") else None
    async with serving(config, tmp_path) as server:
        upstream.reply((FOLDER / name).read_bytes(), headers=headers)
        stream = await (await server.send(await server.session())).rest()
    assert stream.kinds == ["model_info", "delta", "usage", "metrics", "message_saved", "chat_terminal", "[DONE]"]
    assert stream.record["status"] == "completed"
    assert stream.record["usage"]["usage_source"] == "real"
    assert stream.text
    assert called in [request.path for request in upstream.requests]
