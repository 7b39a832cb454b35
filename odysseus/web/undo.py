"""Taking back what a run did to files (contract, section 8)."""

from __future__ import annotations

from aiohttp import web

from odysseus.text import clean_text
from odysseus.tools.undo import undo_run
from odysseus.web.answers import completes, json_answer
from odysseus.web.services import services


@completes
async def undo(request: web.Request) -> web.StreamResponse:
    """POST /api/runs/{run_id}/undo"""
    result = await undo_run(services(request).changes, clean_text(request.match_info["run_id"]))
    return json_answer({"status": "ok", "files": list(result.files)})
