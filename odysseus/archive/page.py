"""A conversation as one page of HTML that needs nothing else: no script, no network, light and dark, printable.

Text is rendered or escaped here; nothing that a message holds is taken as markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from odysseus.archive import words
from odysseus.archive.conversation import stretches_of
from odysseus.clock import iso
from odysseus.render.blocks import BlockRenderer
from odysseus.store.messages import Message

_STYLES = ("base.css", "prose.css", "highlight.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"

_SENT = ("attachments", "id", "name")


def page_style(static: Path) -> str:
    """The style of the page: what answers look like in the chat, and the frame around them. Reads files."""
    kept = [(static / "css" / name).read_text("utf-8") for name in _STYLES]
    return "\n".join([*kept, (files("odysseus.archive") / "page.css").read_text("utf-8")])


class PageWriter:
    """A page with an article for each message. `about` is the line below its name."""

    def __init__(self, name: str, about: str, style: str) -> None:
        self._name = name or "Chat"
        self._about = about
        self._style = style

    def head(self) -> str:
        name = escape(self._name)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
            f"<title>{name}</title>\n<style>\n{self._style}\n</style>\n</head>\n<body>\n<main>\n"
            f'<header><h1 dir="auto">{name}</h1><p class="quiet">{escape(self._about)}</p></header>\n'
        )

    def messages(self, batch: Sequence[Message], pictures: Mapping[str, str]) -> str:
        return "".join(f"{article}\n" for message in batch for article in [_article(message, pictures)])

    def tail(self) -> str:
        return "</main>\n</body>\n</html>\n"


def _article(message: Message, pictures: Mapping[str, str]) -> str:
    time = iso(message.created_at)
    who = escape(words.who(message.role, message.metadata))
    said = _question(message) if message.role == "user" else "".join(_answer(message))
    return (
        f'<article class="{message.role}"><h2><bdi>{who}</bdi> '
        f'<time datetime="{time}">{time[:16].replace("T", " ")} UTC</time></h2>\n'
        f"{said}{_pictures(message, pictures)}{''.join(_below(message))}</article>"
    )


def _question(message: Message) -> str:
    files_ = [f"<li>{escape(words.file_line(one))}</li>" for one in message.metadata.get("attachments", ())]
    listed = f'<ul class="files" aria-label="Files">{"".join(files_)}</ul>' if files_ else ""
    return f'<p class="said" dir="auto">{escape(message.content)}</p>{listed}'


def _answer(message: Message) -> Iterator[str]:
    if thinking := message.metadata.get("thinking"):
        yield f'<details class="thinking"><summary>Reasoning</summary><p dir="auto">{escape(thinking)}</p></details>'
    renderer = BlockRenderer()
    yield '<div class="blocks" dir="auto">'
    for text, steps in stretches_of(message):
        yield from (f'<div class="block" dir="auto">{block.html}</div>' for block in renderer.finish(text))
        yield from (_row(step) if "tool" in step else _notice(step) for step in steps)
    yield "</div>"
    if plan := message.metadata.get("plan"):
        yield f'<pre class="plan" dir="auto">{escape(plan)}</pre>'
    yield from _card(message.metadata.get("ask_user") or {})


def _row(row: Mapping[str, Any]) -> str:
    command, state = str(row.get("command", "")), words.row_state(row)
    first = next((line.strip() for line in command.splitlines() if line.strip()), "")
    parts = [f"<pre>{escape(command)}</pre>" if command.strip() != first else ""]
    if diff := (row.get("diff") or {}).get("text"):
        parts.append(f'<pre class="diff">{"".join(map(_diff_line, str(diff).splitlines()))}</pre>')
    if row.get("output"):
        parts.append(f'<pre class="output">{escape(words.plain(str(row["output"])))}</pre>')
    said = f' <span class="state">{state}</span>' if state else ""
    return (
        f'<details class="tool"><summary><b>{escape(str(row["tool"]))}</b> <code>{escape(first[:240])}</code>{said}'
        f"</summary>{''.join(parts)}</details>"
    )


def _diff_line(line: str) -> str:
    kind = {"+": "added", "-": "removed", "@": "place"}.get(line[:1], "")
    return f'<span class="{kind}">{escape(line)}\n</span>' if kind else f"{escape(line)}\n"


def _notice(step: Mapping[str, Any]) -> str:
    return f'<p class="notice">{escape(words.notice(step))}</p>'


def _card(asked: Mapping[str, Any]) -> Iterator[str]:
    if asked.get("question"):
        options = [one for one in asked.get("options") or () if isinstance(one, Mapping)]
        listed = "".join(f"<li>{escape(str(one.get('label', '')))}</li>" for one in options)
        more = f'<p class="quiet">{escape(str(asked["description"]))}</p>' if asked.get("description") else ""
        yield f'<div class="card"><p>{escape(str(asked["question"]))}</p>{more}<ul>{listed}</ul></div>'


def _pictures(message: Message, pictures: Mapping[str, str]) -> str:
    """Those that were sent with a question, or made for an answer, which tells of the question's files once more."""
    key, name, words_ = ("images", "image_id", "image_prompt") if message.role == "assistant" else _SENT
    shown = []
    for one in message.metadata.get(key, ()):
        text = escape(str(one.get(words_, "")))
        if address := pictures.get(one.get(name, "")):
            shown.append(f'<img src="{escape(address)}" alt="{text}">')
        elif key == "images":
            shown.append(f'<p class="notice">Picture: {text}</p>')
    return f'<div class="pictures">{"".join(shown)}</div>' if shown else ""


def _source(title: str, url: str) -> str:
    link = f'<a href="{escape(url)}" rel="noopener noreferrer nofollow">{escape(title)}</a>' if url else escape(title)
    return f"<li>{link}</li>"


def _below(message: Message) -> Iterator[str]:
    metadata = message.metadata
    if sources := "".join(_source(title, url) for title, url in words.sources(metadata)):
        kind = "ol" if words.are_cited(metadata) else "ul"
        yield f'<div class="sources"><h3>Sources</h3><{kind}>{sources}</{kind}></div>'
    if ending := words.ending(metadata):
        yield f'<p class="ending">{escape(ending)}</p>'
    if message.role == "assistant" and (figures := words.figures(metadata)):
        yield f'<p class="figures">{escape(figures)}</p>'
