"""What all readable exports say of a message beside its text: figures, endings, files, sources. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_CODES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])|[\x00-\x08\x0b-\x1f\x7f]")
_UNITS = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3))
_NOTICES = {
    "rounds_exhausted": "The agent used all its rounds.",
    "budget_exceeded": "A limit of the agent was reached.",
    "compacted": "Older turns were summarised for the model.",
    "context_trimmed": "Older messages were left out for the model.",
}


def plain(text: str) -> str:
    """Output of a program without the codes that colour it."""
    return _CODES.sub("", text.replace("\r\n", "\n"))


def size_text(size: Any) -> str:
    """Bytes for people."""
    if not isinstance(size, int | float):
        return ""
    return next((f"{size / unit:.1f} {name}" for name, unit in _UNITS if size >= unit), f"{size:.0f} bytes")


def who(role: str, metadata: Mapping[str, Any]) -> str:
    """Whose message it is."""
    return "You" if role == "user" else str(metadata.get("model") or "Assistant")


def figures(metadata: Mapping[str, Any]) -> str:
    """What an answer took: `120 tokens in, 40 out · 3.2 s · $0.0004 · Upstream`."""
    usage, timing = metadata.get("usage") or {}, metadata.get("timing") or {}
    parts = []
    if usage.get("total_tokens"):
        parts.append(f"{usage.get('input_tokens', 0):,} tokens in, {usage.get('output_tokens', 0):,} out")
    if timing.get("total_time") is not None:
        parts.append(f"{timing['total_time']:.1f} s")
    if usage.get("cost"):
        parts.append(f"${usage['cost']:.4f}")
    if metadata.get("endpoint_label"):
        parts.append(str(metadata["endpoint_label"]))
    return " · ".join(parts)


def ending(metadata: Mapping[str, Any]) -> str:
    """How an answer ended, where that was not the usual way."""
    failure = metadata.get("failure")
    if failure and failure.get("message"):
        return str(failure["message"])
    if metadata.get("note"):
        return str(metadata["note"])
    words = {"stopped": "Stopped.", "timeout": "It took too long and was ended.", "interrupted": "Interrupted."}
    return words.get(str(metadata.get("status")), "Stopped." if metadata.get("stopped") else "")


def notice(step: Mapping[str, Any]) -> str:
    """A line on what happened to the agent."""
    return str(step.get("message") or step.get("reason") or _NOTICES.get(str(step.get("type")), ""))


def row_state(row: Mapping[str, Any]) -> str:
    """How a call ended, in a word or two."""
    code = row.get("exit_code")
    return "waited for you" if code is None else "" if code == 0 else "stopped" if code == 130 else "failed"


def file_line(file: Mapping[str, Any]) -> str:
    """A sent file's name and size."""
    size = size_text(file.get("size"))
    return f"{file.get('name') or 'file'}{f' ({size})' if size else ''}"


def sources(metadata: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What an answer stands on, each with its address or none: by the numbers that the text cites, memories last."""
    given = [
        *metadata.get("web_sources", ()),
        *({**one, "title": _passage(one)} for one in metadata.get("rag_sources", ())),
    ]
    rows = [row for event in metadata.get("tool_events", ()) for row in event.get("sources", ())]
    found = {row["number"]: row for row in rows if row["number"] > len(given)}
    shown = [*given, *(row for _, row in sorted(found.items())), *(metadata.get("research") or {}).get("sources", ())]
    told = [(str(one.get("title") or one.get("url")), str(one.get("url") or "")) for one in shown]
    memories = [(f"Memory: {one.get('text')}", "") for one in metadata.get("memories_used", ())]
    return [*((title, url if is_web(url) else "") for title, url in told), *memories]


def are_cited(metadata: Mapping[str, Any]) -> bool:
    """Whether the numbers in the text are those of the sources; a report cites its findings."""
    return not metadata.get("research")


def _passage(row: Mapping[str, Any]) -> str:
    return f"{row.get('filename')}: {row.get('snippet')}"


def is_web(url: str) -> bool:
    """Whether it leads to the web."""
    try:
        return urlsplit(url).scheme in {"http", "https"}
    except ValueError:
        return False
