"""A research job: plan, then search, read and analyse in rounds until nothing is missing, then write.

Everything that asks somebody is a step that is done once. Run again, the job goes through the steps that were done,
says the same, and goes on with the first that was not: it must not look at a clock or at chance but in a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from odysseus.errors import OdysseusError, ProviderError
from odysseus.research.asking import Asker
from odysseus.research.disagreements import disagreements
from odysseus.research.gathering import Gatherer
from odysseus.research.hands import READINGS, Hands, side_by_side
from odysseus.research.plan import first_queries, missing_queries
from odysseus.research.reading import Said, read_page
from odysseus.research.values import Finding, Page, Report, Source
from odysseus.research.writing import write


class NothingRead(OdysseusError):
    """Not one page could be had, so there is nothing to write of."""

    status = 502


async def research(hands: Hands, asker: Asker) -> Report:
    """The report on a question. Raises NothingRead, ProviderError, StoreError."""
    return await _Job(hands, asker).run()


def finding_json(finding: Finding, sources: Sequence[Source]) -> dict[str, object]:
    """A finding as the contract's `research_findings` has it, and its passage."""
    source = sources[finding.source - 1]
    return {
        "text": finding.text,
        "source_url": source.url,
        "source_title": source.title,
        "round": finding.round,
        "number": finding.number,
        "passage": finding.passage,
    }


class _Job:
    def __init__(self, hands: Hands, asker: Asker) -> None:
        self._hands = hands
        self._asker = asker
        self._gatherer = Gatherer(hands)
        self._findings: list[Finding] = []
        self._heard = 0
        self._refused: list[ProviderError] = []

    async def run(self) -> Report:
        self._hands.progress("planning", model=self._hands.model)
        queries = await first_queries(self._hands, self._asker)
        asked: list[str] = []
        for round_ in range(1, self._hands.budget.rounds + 1):
            asked += queries
            await self._round(round_, queries)
            if not await self._goes_on(round_):
                break
            queries = await missing_queries(self._hands, self._asker, round_, self._findings, asked)
            if not queries:
                break
        if not self._gatherer.sources:
            why = next(iter(self._gatherer.unread), "The web search found nothing.")
            raise NothingRead(f"No page could be read. {why}")
        return await self._report()

    async def _round(self, round_: int, queries: Sequence[str]) -> None:
        """Search, read, and take in what the new pages say."""
        budget = self._hands.budget
        left = budget.pages - self._gatherer.read
        most = -(-left // (budget.rounds - round_ + 1))  # the later rounds get their share
        pages = await self._gatherer.gather(round_, queries, most)
        self._hands.progress("analyzing", round=round_, total_findings=len(self._findings))
        said = await side_by_side(READINGS, lambda page: self._read(round_, page), pages)
        if self._refused and len(self._refused) == len(pages):
            raise self._refused[0]
        for page, found in zip(pages, said, strict=True):
            for text, passage in found:
                number = len(self._findings) + 1
                self._findings.append(Finding(number, text, passage, page.source.number, round_))
        self._heard = len(self._findings)

    async def _read(self, round_: int, page: Page) -> list[Said]:
        try:
            found = await read_page(self._hands, self._asker, page)
        except ProviderError as error:
            if error.unreachable or error.status in {401, 403}:
                raise
            self._refused.append(error)  # one page that it cannot take is not the end
            return []
        self._heard += len(found)
        fresh = [
            {"text": text, "source_url": page.source.url, "source_title": page.source.title, "round": round_}
            for text, _ in found
        ]
        self._hands.progress("analyzing", round=round_, total_findings=self._heard, url=page.source.url, findings=fresh)
        return found

    async def _goes_on(self, round_: int) -> bool:
        """Whether there are rounds, pages and time left."""
        budget = self._hands.budget

        async def in_time() -> bool:
            return self._hands.spent() < budget.minutes * 60

        left = round_ < budget.rounds and self._gatherer.read < budget.pages
        return left and bool(await self._hands.once(f"in time {round_}", in_time))

    async def _report(self) -> Report:
        hands, findings = self._hands, self._findings
        hands.progress("analyzing", total_findings=len(findings), message="Comparing what the sources say")
        groups = await disagreements(hands, self._asker, findings)
        hands.progress("writing", total_findings=len(findings), total_sources=len(self._gatherer.sources))
        text = await write(hands, self._asker, findings, groups)
        return Report(
            question=hands.question,
            text=text.text,
            findings=findings,
            sources=self._gatherer.sources,
            disagreements=groups,
            unread=self._gatherer.unread,
            unsourced=text.unsourced,
            model=hands.model,
            written_on=hands.today,
            usage=[asdict(one) for one in self._asker.usage],
        )
