"""The turn of a chat whose model makes pictures: the message is the prompt, the answer is the picture.

Neither the history nor what else a question is given goes with it: such models take words and nothing more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from odysseus.agent.loop import model_info
from odysseus.agent.request import Publish
from odysseus.context.budget import estimate_tokens
from odysseus.errors import BadRequest
from odysseus.events import ImageMade, TextDelta, UsageReport
from odysseus.providers.base import Finished
from odysseus.providers.fallback import Candidate
from odysseus.providers.router import Route

Draw = Callable[[Candidate, str], Awaitable[ImageMade]]
"""Has a candidate make a picture of a prompt, and keeps it. Raises OdysseusError."""

WORDS_ONLY = "This model makes pictures from words alone. Take the files off, or choose another model."
KEPT = "A picture is kept on the disk, so it cannot be made incognito. Turn incognito off, or choose another model."
NO_RESEARCH = "This model makes pictures and writes no report. Choose another model for research."


def check_picture(*, files: bool, incognito: bool, research: bool) -> None:
    """Raises BadRequest for what such a model cannot be asked."""
    for asked, why in ((files, WORDS_ONLY), (incognito, KEPT), (research, NO_RESEARCH)):
        if asked:
            raise BadRequest(why)


async def picture_turn(draw: Draw, route: Route, prompt: str, publish: Publish) -> Finished | None:
    """One picture. Raises OdysseusError."""
    publish([model_info(route.asker())])
    picture = await draw(route.first, prompt)
    usage = UsageReport(estimate_tokens(prompt), 0, model=picture.image_model, estimated=True)
    publish([TextDelta(f"Made by {picture.image_model}."), picture, usage])
    return Finished("stop")
