"""A web of fifty pages with planted facts, a searcher for it, and a scripted model that researches by rules."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from sites import Site, serve_site
from upstream import Hang, Received, Reply, Upstream, answer

ASPECTS = ("length", "opening", "builder", "paint", "toll")
QUESTION = "What is known of the Halden bridge?"
FACTS = {
    3: "The Halden bridge is 214 metres long.",
    6: "The Halden bridge was opened in 1931.",
    11: "The Halden bridge was opened in 1934.",
    12: "The Halden bridge was built by Marta Lindqvist.",
    18: "The paint of the Halden bridge is oxide red.",
    19: "Crossing the Halden bridge costs four crowns.",
    44: "Crossing the Halden bridge is free of charge.",
}
APART = ({"opened in 1931", "opened in 1934"}, {"costs four crowns", "is free of charge"})
INVENTED = "The Halden bridge glows at night."
"""What the model claims of page 19 with a passage that is not there."""


@dataclass
class LittleWeb:
    """The pages. `served` counts the answers that went out whole, `hang` are paths that never answer."""

    site: Site
    served: Counter[str] = field(default_factory=Counter)
    hang: set[str] = field(default_factory=set)
    searched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.site.play("/search", self._search)
        for number in range(50):
            self.site.play(f"/page/{number}", self._page)

    @property
    def settings(self) -> str:
        """The section [web] that reaches it."""
        return (
            f'[web]\nsearch = "searxng"\nsearxng_url = "{self.site.origin}"\nresults = 20\n'
            f'allow_hosts = ["{self.site.exempt}"]\n'
        )

    def url(self, number: int) -> str:
        return f"{self.site.origin}/page/{number}"

    async def _search(self, request: web.Request) -> web.StreamResponse:
        query = request.query["q"]
        self.searched.append(query)
        aspects = [aspect for aspect in ASPECTS if aspect in query] or ASPECTS[:1]
        numbers = [number for number in range(50) if ASPECTS[number % 5] in aspects]
        rows = [
            {"title": f"On the {ASPECTS[number % 5]} {number}", "url": self.url(number), "content": "Bridges."}
            for number in numbers
        ]
        return web.Response(text=json.dumps({"results": rows}), content_type="application/json")

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.path in self.hang:
            self.hang.discard(request.path)
            await asyncio.Event().wait()
        self.served[request.path] += 1
        return web.Response(text=page_text(int(request.path.rpartition("/")[2])), content_type="text/plain")


def page_text(number: int) -> str:
    """A page: words of no matter around its fact, if it has one."""
    filler = f"This is page {number} on the {ASPECTS[number % 5]} of bridges. Rivers flow below bridges."
    return "\n\n".join([filler, FACTS.get(number, "Nothing of note stands here."), "The page ends with this."])


class Researcher(Upstream):
    """A model that answers each kind of question by a rule. `hold` says which requests are never answered."""

    def __init__(self) -> None:
        super().__init__()
        self.respond = self._respond
        self.hold: Callable[[str, str], bool] = lambda _kind, _asked: False
        self.kinds: Counter[str] = Counter()
        self.held = 0

    def _respond(self, received: Received) -> Reply:
        system, asked = (received.json["messages"][place]["content"] for place in (0, 1))
        kind = kind_of(system)
        self.kinds[kind] += 1
        if self.hold(kind, asked):
            self.held += 1
            return Reply([Hang()])
        return Reply(answer(RULES[kind](asked)))


def kind_of(system: str) -> str:
    """What is asked, by the words of the prompt."""
    return next(kind for kind in RULES if kind in system)


def _plan(_: str) -> str:
    return json.dumps({"queries": [f"Halden bridge {aspect}" for aspect in ASPECTS[:3]]})


def _gaps(asked: str) -> str:
    left = [aspect for aspect in ASPECTS if f"bridge {aspect}" not in asked]
    return "Let me see. " + json.dumps({"queries": [f"Halden bridge {aspect}" for aspect in left]})


def _read(asked: str) -> str:
    found = [{"claim": fact, "passage": fact.upper()} for fact in FACTS.values() if fact in asked]
    if FACTS[19] in asked:
        found.append({"claim": INVENTED, "passage": "It glows brightly at night, they say."})
    return json.dumps({"findings": found})


def _compare(asked: str) -> str:
    lines = dict(re.findall(r"^\[(\d+)\] (.+)$", asked, re.MULTILINE))
    groups = [
        {"topic": "the point", "findings": [int(n) for n, line in lines.items() if any(one in line for one in sides)]}
        for sides in APART
    ]
    return json.dumps({"groups": groups})


def _write(asked: str) -> str:
    found = re.findall(r"^\[(\d+)\] \(source \d+\) (.+)$", asked, re.MULTILINE)
    told = "\n".join(f"- {text[:-1]} [{number}]." for number, text in found)
    rest = "The bridge is a beauty to behold. It carries 9000 cars a day [1]. It is old [999][2]."
    return f"## In short\n\n{told}\n\n{rest}"


RULES: dict[str, Callable[[str], str]] = {
    "plan a research": _plan,
    "check a research": _gaps,
    "read a page": _read,
    "compare findings": _compare,
    "write a report": _write,
}


def settings(little: LittleWeb, model: Upstream, **research: Any) -> str:
    """The whole of a config file."""
    budget = {"rounds": 2, "queries": 4, "pages": 60, **research}
    lines = "".join(f"{key} = {value}\n" for key, value in budget.items())
    return (
        f'[chat]\nendpoint = "up"\nmodel = "fake-model"\n{little.settings}[research]\n{lines}'
        f'[[endpoints]]\nid = "up"\nkind = "openai"\nlabel = "Upstream"\nbase_url = "{model.base_url}"\n'
        "context_length = 16000\n"
    )


@asynccontextmanager
async def little_web() -> AsyncIterator[LittleWeb]:
    """The fifty pages, served."""
    async with serve_site() as site:
        yield LittleWeb(site)


@pytest.fixture
async def little() -> AsyncIterator[LittleWeb]:
    """The web."""
    async with little_web() as running:
        yield running


@pytest.fixture
async def researcher() -> AsyncIterator[Researcher]:
    """The model."""
    async with Researcher() as running:
        yield running
