"""At the start: the runs that a dead process left behind become messages and records marked `interrupted`."""

from __future__ import annotations

from collections.abc import Sequence

from odysseus.clock import Clock
from odysseus.context.budget import estimate_tokens
from odysseus.events import ModelInfo, UsageReport
from odysseus.runs.record import Ending, Identity, Produced, Timing, message_metadata, terminal_record
from odysseus.runs.trace import given_of, tool_calls
from odysseus.store.messages import Message, new_message_id
from odysseus.store.runs import RunStore, Unfinished


async def recover(store: RunStore, clock: Clock) -> int:
    """Close every unfinished run with the text of its last checkpoint. Gives their number."""
    left = await store.unfinished()
    for run in left:
        await _close(store, clock, run)
    return len(left)


async def _close(store: RunStore, clock: Clock, run: Unfinished) -> None:
    identity = Identity(
        run.run_id,
        run.session_id,
        run.mode,
        run.model,
        run.endpoint_id,
        run.endpoint_id,
        run.started_at,
        run.record_id,
        run.user_message_id,
    )
    message_id = new_message_id() if run.text or run.thinking or run.steps else None
    record = terminal_record(
        identity,
        Ending("interrupted", "server_restart"),
        Produced(
            run.text,
            ModelInfo(run.model, run.endpoint_id, run.endpoint_id),
            _usage(run),
            tool_calls(run.steps),
        ),
        Timing(max(0.0, run.last_at - run.started_at), None),
        message_id=message_id,
        frames=None,
    )
    answer = None
    if message_id:
        metadata = message_metadata(record, run.thinking, run.steps)
        answer = Message(message_id, run.session_id, 0, "assistant", run.text, metadata, clock.wall())
    await store.finish(record, answer, given_of(run.steps))


def _usage(run: Unfinished) -> Sequence[UsageReport]:
    """What the answer probably cost, as far as it is known; what the prompt was died with the process."""
    if not (run.text or run.thinking):
        return ()
    tokens = estimate_tokens(run.text) + estimate_tokens(run.thinking)
    return (UsageReport(0, tokens, model=run.model, estimated=True),)
