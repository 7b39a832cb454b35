"""The messages of one request, from a session's history. Pure: it reads no store and asks no model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from odysseus.providers.base import ChatMessage


@dataclass(frozen=True, slots=True)
class UserClock:
    """The user's time zone as the client names it; never stored."""

    offset_minutes: int
    name: str = ""


def prompt_of(system: str, history: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """System text first, if there is one, then the history with empty answers left out and texts of one role joined."""
    turns = in_turn(history)
    return (ChatMessage("system", system), *turns) if system.strip() else turns


def system_text(system: str, clock: UserClock | None, now: float) -> str:
    """The system text with the user's day."""
    return "\n\n".join(part for part in (system.strip(), _today(clock, now)) if part)


def in_turn(history: Iterable[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The same without empty messages, texts of one role in a row joined.

    Many chat templates refuse two messages of one role in a row, which a failed or stopped turn leaves behind.
    """
    turns: list[ChatMessage] = []
    for message in history:
        if not message.content.strip() and not _is_more_than_text(message):
            continue
        if turns and _joins(turns[-1], message):
            turns[-1] = replace(turns[-1], content=f"{turns[-1].content}\n\n{message.content}")
        else:
            turns.append(message)
    return tuple(turns)


def _joins(before: ChatMessage, message: ChatMessage) -> bool:
    return before.role == message.role and not (_is_more_than_text(before) or _is_more_than_text(message))


def _is_more_than_text(message: ChatMessage) -> bool:
    """Whether it has to stand as it is."""
    return bool(message.role == "tool" or message.tool_calls or message.images or message.state)


def _today(clock: UserClock | None, now: float) -> str:
    """The user's clock, to the hour only, so that the prompt's beginning stays the same for a while and caches hit."""
    if clock is None:
        return ""
    local = datetime.fromtimestamp(now, UTC) + timedelta(minutes=clock.offset_minutes)
    zone = f" ({clock.name})" if clock.name else ""
    return f"For the user{zone} it is {local:%A, %Y-%m-%d, about %H:00}."
