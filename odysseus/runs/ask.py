"""A turn that somebody wants, as a value: what is asked, of whom, with what, and where its answer stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from odysseus.context.builder import UserClock
from odysseus.context.given import Given
from odysseus.events import Mode
from odysseus.providers.router import Route
from odysseus.runs.agent_work import AgentWish
from odysseus.runs.sources import ContextWish
from odysseus.store.placing import Place


@dataclass(frozen=True, slots=True)
class Ask:
    """A turn that somebody wants. A `patient` one waits for the session's run in place of stopping it.

    `given` is what its caller gives the model beside the words, `context` what is to be found for it here.
    `answer_id` is the id that the answer is stored under, where the caller has given it away already. `place` is where
    it stands: where it names a question to answer again, or an answer, the text and the files are the question's.
    """

    session_id: str
    message: str
    mode: Mode
    route: Route
    system_prompt: str = ""
    user_clock: UserClock | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    detached: bool = True
    patient: bool = False
    given: Given = field(default_factory=Given)
    answer_id: str = ""
    context: ContextWish = field(default_factory=ContextWish)
    agent: AgentWish = field(default_factory=AgentWish)
    place: Place = field(default_factory=Place)
    research: bool = False

    @property
    def incognito(self) -> bool:
        """Whether nothing of it is stored."""
        return self.agent.wishes.incognito
