"""The stream of a research job: its progress, each with the job's status, and a last frame (chat stream, section 5)."""

from __future__ import annotations

from odysseus.dialects.sse import data_frame
from odysseus.events import Event, ResearchEnded, ResearchProgressed


def encode(event: Event) -> bytes | None:
    """The event's frame; None for what this dialect does not show."""
    if isinstance(event, ResearchProgressed):
        return data_frame({**event.data, "status": "running"})
    if isinstance(event, ResearchEnded):
        return data_frame({"status": event.status, "final": True} | ({"error": event.message} if event.message else {}))
    return None
