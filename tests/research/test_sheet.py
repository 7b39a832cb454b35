"""The report as a file: what others wrote stays text, citations lead to findings, and nothing is loaded."""

from __future__ import annotations

import re

from odysseus.research.disagreements import by_figures, on_one_point
from odysseus.research.sheet import POLICY, STYLE_HASH, report_html
from odysseus.research.values import Disagreement, Finding, Report, Source, report_json, report_of
from odysseus.research.written import answer_markdown, report_markdown

EVIL = '<script>alert(1)</script> ![x](http://evil.example/p.png) [y](javascript:alert(2)) "& <img src=x onerror=a>'
REPORT = Report(
    question=f"Why? {EVIL}",
    text=f"It is so [1]. `code [1]` stays. Not this. *(no source)*\n\n{EVIL}",
    findings=[
        Finding(1, f"One. {EVIL}", EVIL, 1, 1),
        Finding(2, "Two.", "two", 2, 1),
        Finding(3, "Three.", "three", 2, 2),
    ],
    sources=[Source(1, "https://a.example/x?<y>", f"Title {EVIL}"), Source(2, "javascript:alert(3)", "Bad")],
    disagreements=[Disagreement(EVIL, (1, 2))],
    unread=[f"http://b.example: {EVIL}"],
    unsourced=1,
    model="m",
    written_on="2026-01-31",
)


def test_what_others_wrote_is_text_in_the_page() -> None:
    html = report_html(REPORT)
    assert not re.search(r"<(?:script|img|iframe|object|link)\b|<[^>]+\s(?:on\w+|style|src)=", html)
    assert not re.search(r'href="(?!https?://|#finding-)', html)
    assert "&lt;script&gt;alert(1)" in html
    assert html.count('<meta http-equiv="Content-Security-Policy"') == 1
    assert STYLE_HASH in POLICY


def test_citations_lead_to_findings_and_code_stays() -> None:
    html = report_html(REPORT)
    assert 'It is so <a class="cite" href="#finding-1">[1]</a>.' in html
    assert "<code>code [1]</code>" in html
    assert 'Not this. <mark class="unsourced">no source</mark>' in html
    assert "One sentence has no source" in html


def test_what_others_wrote_is_no_markup_in_markdown() -> None:
    found = report_markdown(REPORT).partition("## Where the sources disagree")[2]
    assert "![" not in re.sub(r"\\.", "", found)
    assert "<script>" not in re.sub(r"\\.", "", found)


def test_the_answer_of_a_chat_has_the_findings_that_it_cites() -> None:
    answer = answer_markdown(REPORT)
    assert "**[1]**" in answer
    assert "**[2]**" in answer, "it is in a disagreement"
    assert "**[3]**" not in answer
    assert "**[3]**" in report_markdown(REPORT)


def test_a_report_is_the_same_after_it_was_stored() -> None:
    assert report_html(report_of(report_json(REPORT))) == report_html(REPORT)


def test_a_group_that_a_model_made_of_anything_is_left_out() -> None:
    told = [
        "The Halden bridge is 214 metres long.",
        "The Halden bridge was opened in 1931.",
        "The Halden bridge was never opened.",
        "Crossing the Halden bridge costs four crowns.",
        "The Halden bridge takes no toll.",
    ]
    findings = [Finding(number, text, text, number, 1) for number, text in enumerate(told, 1)]
    kept = [Disagreement("whether it was opened", (2, 3)), Disagreement("the costs of crossing, the toll", (4, 5))]
    left = Disagreement("the bridge", (1, 2))
    echo = Disagreement("the point in a few words", (2, 3))
    assert list(on_one_point([left, *kept, echo], findings)) == kept


def test_sources_that_differ_in_one_figure_disagree_and_others_do_not() -> None:
    told = [
        "The bridge was opened in 1931.",
        "The bridge was opened in 1934.",
        "In 1940 the bridge was opened for 30 trains.",
        "The tunnel was closed in 1950.",
    ]
    findings = [Finding(number, text, text, number, 1) for number, text in enumerate(told, 1)]
    assert [group.findings for group in by_figures(findings)] == [(1, 2)]
    assert list(by_figures([Finding(1, told[0], "", 1, 1), Finding(2, told[1], "", 1, 1)])) == [], "of one source"
