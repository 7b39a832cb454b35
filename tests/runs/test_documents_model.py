"""The real embedded model, through a whole agent run, writes a document that the user then has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from local_models import real_model
from serving import config_of, serving

from odysseus.providers.local_tools import LEAST_BYTES

pytestmark = [pytest.mark.model, pytest.mark.timeout(300)]
PATIENCE = 240.0
CONFIG = '[local]\nmodel = "able"\n[chat]\nendpoint = "local"\nmodel = "able"\n[agent]\nmax_rounds = 2\n'


async def test_the_embedded_model_writes_a_document(tmp_path: Path) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "able.gguf").symlink_to(real_model(LEAST_BYTES))
    async with serving(config_of(CONFIG), tmp_path) as server:
        session = await server.session(mode="agent")
        words = (
            "Use create_document to make a document with the title Tea and the content: Green tea draws two minutes."
        )
        stream = await server.send(session, words)
        async with asyncio.timeout(PATIENCE):
            told = (await stream.response.read()).decode()
        documents = await server.get(f"/api/documents?session={session}")
        assert documents, told
        made = await server.get(f"/api/documents/{documents[0]['id']}")
        assert "tea" in f"{made['title']} {made['content']}".lower()
        assert '"type":"doc_update"' in told
