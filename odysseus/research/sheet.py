"""A report as one HTML file that needs nothing else: no script, nothing loaded, its style within.

Rendering takes its time: call it in a thread.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence

from odysseus.render.blocks import render_markdown
from odysseus.render.citations import unmarked
from odysseus.research.claims import MARK
from odysseus.research.values import Disagreement, Finding, Report
from odysseus.research.written import link

STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6675; --line: #d9dee5; --paper: #fff; --tint: #f4f6f9;
  --link: #1f5fa8; --warn: #8a5300; --warn-tint: #fff3dc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3adba; --line: #353d49; --paper: #14181e;
  --tint: #1d232b; --link: #86b7f0; --warn: #f0c27a; --warn-tint: #3a2d14; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.25rem 0 .75rem; }
h1 ~ h2 { padding-block-start: 1rem; border-block-start: 1px solid var(--line); }
a { color: var(--link); }
a:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
a.cite { text-decoration: none; font-size: .85em; }
.about, .from { color: var(--soft); font-size: .9rem; }
mark { background: var(--warn-tint); color: var(--warn); border-radius: 4px; padding: 0 .35em; font-size: .85em; }
ol, ul { padding-inline-start: 1.5rem; }
li { margin-block: .35rem; }
.findings { list-style: none; padding: 0; }
.findings > li { padding: .75rem 1rem; margin-block: .6rem; border-radius: 8px; background: var(--tint); }
.findings > li:target { outline: 2px solid var(--link); }
blockquote { margin: .5rem 0; padding-inline-start: .9rem; border-inline-start: 3px solid var(--line);
  color: var(--soft); }
table { border-collapse: collapse; display: block; overflow-x: auto; }
td, th { border: 1px solid var(--line); padding: .3rem .6rem; }
pre { overflow-x: auto; padding: .75rem; background: var(--tint); border-radius: 8px; }
@media print { body { padding: 0; } .findings > li { break-inside: avoid; } }
"""
STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = (
    f"default-src 'none'; style-src 'sha256-{STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For the header; the file says the same of itself as far as a file can."""
_IN_FILE = POLICY.replace("; frame-ancestors 'none'", "")

_CITED = re.compile(r"\[(\d+)\]")
_TEXT_OR_TAG = re.compile(r"(<[^>]*>)")
_MARKED = f"<em>{MARK.strip('*')}</em>"


def report_html(report: Report) -> str:
    """The whole report as a file to keep."""
    title = html.escape(" ".join(report.question.split()))
    known = {finding.number for finding in report.findings}
    about = f"Research of {html.escape(report.written_on)}, written by {html.escape(report.model)} from "
    about += f"{len(report.sources)} pages."
    body = [
        f"<h1>{title}</h1>",
        f'<p class="about">{about}{_warning(report)}</p>',
        _with_links(unmarked(render_markdown(report.text)), known),
        _apart(report.disagreements, report),
        _findings(report),
        _sources(report),
        _unread(report.unread),
    ]
    return (
        '<!doctype html>\n<html><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(_IN_FILE)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE}</style></head>\n"
        f'<body dir="auto"><main>\n{chr(10).join(part for part in body if part)}\n</main></body></html>\n'
    )


def _warning(report: Report) -> str:
    if not report.unsourced:
        return ""
    count = "One sentence has" if report.unsourced == 1 else f"{report.unsourced} sentences have"
    return f" {count} no source and should not be relied on."


def _with_links(rendered: str, known: set[int]) -> str:
    """Citations as links to the findings, marks as marks. What stands in code stays."""
    parts = _TEXT_OR_TAG.split(rendered.replace(_MARKED, "\0"))
    code = 0
    for place, part in enumerate(parts):
        if part.startswith(("<code", "<pre")):
            code += 1
        elif part.startswith(("</code", "</pre")):
            code -= 1
        elif not code and not part.startswith("<"):
            parts[place] = _CITED.sub(lambda found: _cite(int(found[1]), known) or found[0], part)
    return "".join(parts).replace("\0", '<mark class="unsourced">no source</mark>')


def _cite(number: int, known: set[int]) -> str:
    return f'<a class="cite" href="#finding-{number}">[{number}]</a>' if number in known else ""


def _apart(groups: Sequence[Disagreement], report: Report) -> str:
    if not groups:
        return ""
    rows = []
    for group in groups:
        sides = "".join(
            f"<li>{html.escape(report.findings[number - 1].text)} {_cite(number, {number})}</li>"
            for number in group.findings
        )
        rows.append(f"<li><strong>{html.escape(group.topic)}</strong><ul>{sides}</ul></li>")
    return f'<h2>Where the sources disagree</h2>\n<ul class="apart">{"".join(rows)}</ul>'


def _findings(report: Report) -> str:
    if not report.findings:
        return ""
    rows = "\n".join(_finding(finding, report) for finding in report.findings)
    return f'<h2>Findings</h2>\n<ol class="findings">{rows}</ol>'


def _finding(finding: Finding, report: Report) -> str:
    source = report.sources[finding.source - 1]
    return (
        f'<li id="finding-{finding.number}"><strong>[{finding.number}]</strong> {html.escape(finding.text)}'
        f"<blockquote>{html.escape(finding.passage)}</blockquote>"
        f'<span class="from">{_rendered_link(link(source))}</span></li>'
    )


def _sources(report: Report) -> str:
    rows = "".join(f'<li id="source-{one.number}">{_rendered_link(link(one))}</li>' for one in report.sources)
    return f"<h2>Pages that were read</h2>\n<ol>{rows}</ol>"


def _unread(lines: Sequence[str]) -> str:
    rows = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"<h2>What could not be had</h2>\n<ul>{rows}</ul>" if lines else ""


def _rendered_link(markdown: str) -> str:
    """The link by the one renderer, which judges its address."""
    return re.sub(r'^<div class="block"><p>(.*)</p></div>$', r"\1", render_markdown(markdown), flags=re.DOTALL)
