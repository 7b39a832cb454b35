"""A report as Markdown: its text, where the sources disagree, and every finding with the passage it stands on. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from odysseus.research.claims import cited
from odysseus.research.values import Disagreement, Finding, Report, Source
from odysseus.text import clipped

TITLE_LIMIT = 120
_MARKUP = re.compile(r"([\\`*_\[\]<>#|~!$&])")


def report_markdown(report: Report) -> str:
    """The whole report as a file to keep."""
    head = [f"# {plain(_title(report))}", f"*Research of {report.written_on}, written by {plain(report.model)}.*"]
    return "\n\n".join([*head, *_parts(report, report.findings, last=True)]) + "\n"


def answer_markdown(report: Report) -> str:
    """The report as the answer in a chat: only the findings that it cites."""
    told = set(cited(report.text)) | {number for group in report.disagreements for number in group.findings}
    return "\n\n".join(_parts(report, [one for one in report.findings if one.number in told], last=False))


def plain(text: str) -> str:
    """Text of others on one line, without any markup of its own."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def link(source: Source) -> str:
    """A link to a source."""
    address = re.sub(r"[<>\s\\]", lambda found: f"%{ord(found[0]):02X}", source.url)
    return f"[{plain(source.title)}](<{address}>)"


def _title(report: Report) -> str:
    return clipped(" ".join(report.question.split()), TITLE_LIMIT)


def _parts(report: Report, findings: Sequence[Finding], *, last: bool) -> Iterator[str]:
    yield report.text
    if report.disagreements:
        yield "## Where the sources disagree"
        yield "\n".join(_apart(group, report) for group in report.disagreements)
    if findings:
        yield "## Findings"
        yield "\n\n".join(_finding(one, report) for one in findings)
    if last:
        yield "## Pages that were read"
        yield "\n".join(f"{source.number}. {link(source)}" for source in report.sources) or "None."
    if last and report.unread:
        yield "## What could not be had"
        yield "\n".join(f"- {plain(line)}" for line in report.unread)


def _apart(group: Disagreement, report: Report) -> str:
    sides = "\n".join(
        f"    - {plain(_ended(report.findings[number - 1].text))} [{number}]" for number in group.findings
    )
    return f"- **{plain(group.topic) or 'They say'}**\n{sides}"


def _finding(finding: Finding, report: Report) -> str:
    source = report.sources[finding.source - 1]
    return f"**[{finding.number}]** {plain(finding.text)}\n\n> “{plain(finding.passage)}”\n> — {link(source)}"


def _ended(text: str) -> str:
    return text if text.rstrip().endswith((".", "!", "?", "。")) else f"{text}."
