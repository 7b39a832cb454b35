"""The tables of comparisons: which models are asked side by side, in which sessions, and which one was found best.

A pane's session holds messages like any other, and is found only through its comparison.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from odysseus.clock import Clock
from odysseus.errors import Conflict, NotFound
from odysseus.store.db import Connection, Database, Row
from odysseus.store.sessions import Session, insert_session

LETTERS = "ABCD"
QUESTION_LIMIT = 500
"""Characters of the question that a list shows."""
TIE, NONE = "tie", "none"
NO_COMPARISON = "There is no such comparison. It may have been deleted."


@dataclass(frozen=True, slots=True)
class PaneRoute:
    """Whom a pane asks. The label is what the endpoint was called then."""

    endpoint_id: str
    endpoint_label: str
    model: str


@dataclass(frozen=True, slots=True)
class Pane:
    """One model of a comparison, and the session in which it is asked. A `closed` one is not asked any more."""

    session_id: str
    letter: str
    route: PaneRoute
    closed: bool = False

    @property
    def alias(self) -> str:
        """What it is called while nobody may know its model."""
        return f"Model {self.letter}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two to four panes under one question. `vote` is a pane's letter, `tie` or `none`; None before there is one."""

    id: str
    question: str
    blind: bool
    vote: str | None
    created_at: float
    panes: Sequence[Pane]

    @property
    def veiled(self) -> bool:
        """Whether nobody may be told yet which pane is which model."""
        return self.blind and self.vote is None


@dataclass(slots=True)
class Score:
    """How often a model won, lost, was as good as another, or was found no better than the rest, which were all bad."""

    route: PaneRoute
    wins: int = 0
    ties: int = 0
    losses: int = 0
    none: int = 0


_SELECT = f"""
SELECT c.number, c.id, c.blind, c.vote, c.created_at, p.session_id, p.place, p.endpoint_id, p.endpoint_label, p.model,
       p.closed, substr(coalesce(nullif(c.question, ''), (
           SELECT m.content FROM messages m JOIN compare_panes q ON q.session_id = m.session_id
           WHERE q.comparison_id = c.id AND m.role = 'user' ORDER BY m.number LIMIT 1
       ), ''), 1, {QUESTION_LIMIT}) AS question
FROM comparisons c JOIN compare_panes p ON p.comparison_id = c.id"""


def _pane(row: Row) -> Pane:
    route = PaneRoute(row["endpoint_id"], row["endpoint_label"], row["model"])
    return Pane(row["session_id"], LETTERS[row["place"]], route, bool(row["closed"]))


def _comparisons(rows: Sequence[Row]) -> list[Comparison]:
    """The comparisons of rows that come in their order."""
    found = []
    for _, group in groupby(rows, lambda row: row["number"]):
        same = list(group)
        first, panes = same[0], [_pane(row) for row in same]
        found.append(
            Comparison(first["id"], first["question"], bool(first["blind"]), first["vote"], first["created_at"], panes)
        )
    return found


class CompareStore:
    """Reads and writes comparisons."""

    def __init__(self, db: Database, clock: Clock) -> None:
        self._db = db
        self._clock = clock

    async def list(self) -> Sequence[Comparison]:
        """All of them, newest first."""
        return _comparisons(await self._db.read(f"{_SELECT} ORDER BY c.number DESC, p.place"))

    async def get(self, comparison_id: str) -> Comparison:
        """One of them. Raises NotFound."""
        found = _comparisons(await self._db.read(f"{_SELECT} WHERE c.id = ? ORDER BY p.place", (comparison_id,)))
        if not found:
            raise NotFound(NO_COMPARISON)
        return found[0]

    async def of_session(self, session_id: str) -> tuple[Comparison, Pane] | None:
        """The pane whose session this is, with its comparison; None for any other session."""
        row = await self._db.read_one("SELECT comparison_id FROM compare_panes WHERE session_id = ?", (session_id,))
        if row is None:
            return None
        comparison = await self.get(row[0])
        return comparison, next(pane for pane in comparison.panes if pane.session_id == session_id)

    async def create(self, routes: Sequence[PaneRoute], question: str, *, blind: bool) -> Comparison:
        """A comparison of these models in this order, each with an empty session."""
        now = self._clock.wall()
        panes = [Pane(uuid.uuid4().hex, LETTERS[place], route) for place, route in enumerate(routes)]
        comparison = Comparison(uuid.uuid4().hex, question[:QUESTION_LIMIT], blind, None, now, panes)

        def work(db: Connection) -> None:
            db.execute(
                "INSERT INTO comparisons (id, question, blind, created_at) VALUES (?, ?, ?, ?)",
                (comparison.id, comparison.question, blind, now),
            )
            for place, pane in enumerate(panes):
                _insert_pane(db, comparison, place, pane)

        await self._db.write(work)
        return comparison

    async def vote(self, comparison_id: str, vote: str) -> Comparison:
        """Store the vote, whose word must fit. Raises NotFound; Conflict for a blind one that has its vote."""

        def work(db: Connection) -> int:
            cursor = db.execute(
                "UPDATE comparisons SET vote = ? WHERE id = ? AND NOT (blind AND vote IS NOT NULL)",
                (vote, comparison_id),
            )
            return cursor.rowcount

        changed = await self._db.write(work)
        comparison = await self.get(comparison_id)
        if not changed:
            raise Conflict("The vote of a blind comparison stands: by now you know which model is which.")
        return comparison

    async def close_pane(self, pane: Pane, *, closed: bool) -> None:
        """Keep that a pane was closed, or brought back."""

        def work(db: Connection) -> None:
            db.execute("UPDATE compare_panes SET closed = ? WHERE session_id = ?", (closed, pane.session_id))

        await self._db.write(work)

    async def delete(self, comparison_id: str) -> None:
        """Remove it with the sessions of its panes. Raises NotFound."""

        def work(db: Connection) -> None:
            db.execute(
                "DELETE FROM sessions WHERE id IN (SELECT session_id FROM compare_panes WHERE comparison_id = ?)",
                (comparison_id,),
            )
            cursor = db.execute("DELETE FROM comparisons WHERE id = ?", (comparison_id,))
            if cursor.rowcount == 0:
                raise NotFound(NO_COMPARISON)

        await self._db.write(work)

    async def scores(self) -> Sequence[Score]:
        """What the votes say of each model, the one with the most wins first."""
        return scores_of([comparison for comparison in await self.list() if comparison.vote])


def scores_of(voted: Sequence[Comparison]) -> Sequence[Score]:
    """The votes counted for each model of each endpoint. A label is the newest."""
    found: defaultdict[tuple[str, str], list[tuple[PaneRoute, str]]] = defaultdict(list)
    for comparison in voted:
        for pane in comparison.panes:
            found[pane.route.endpoint_id, pane.route.model].append((pane.route, _meaning(pane, comparison.vote)))
    scores = [
        Score(said[0][0], *([word for _, word in said].count(kind) for kind in ("win", TIE, "loss", NONE)))
        for said in found.values()
    ]
    return sorted(scores, key=lambda score: (-score.wins, score.losses, score.route.model, score.route.endpoint_id))


def _meaning(pane: Pane, vote: str | None) -> str:
    """What a vote means for a pane."""
    if vote in {TIE, NONE}:
        return str(vote)
    return "win" if vote == pane.letter else "loss"


def _insert_pane(db: Connection, comparison: Comparison, place: int, pane: Pane) -> None:
    now, route = comparison.created_at, pane.route
    session = Session(pane.session_id, "", route.endpoint_id, route.model, "chat", False, False, 0, now, now, None, 0)
    insert_session(db, session)
    db.execute(
        """INSERT INTO compare_panes (session_id, comparison_id, place, endpoint_id, endpoint_label, model)
           VALUES (?, ?, ?, ?, ?, ?)""",
        (pane.session_id, comparison.id, place, route.endpoint_id, route.endpoint_label, route.model),
    )
