"""The run's log against a model of it: any interleaving of publishing, reading, pushing, shrinking and closing."""

from __future__ import annotations

import asyncio
import random

import pytest

from odysseus.dialects import chat
from odysseus.events import Event, MessageSaved, TextDelta
from odysseus.runs.log import FRAME_OVERHEAD, RunLog, Subscription

BIG = 10**9
SEEDS = range(60)


def encode(event: Event) -> bytes | None:
    """The chat frame; an event that this dialect leaves out has none."""
    return None if isinstance(event, MessageSaved) else chat.encode(event)


class Taker(list[bytes]):
    """A sink that takes everything."""

    def __call__(self, frames: bytes) -> bool:
        self.append(frames)
        return True


class Reader:
    """A subscriber that keeps what it got, by the number of each frame."""

    def __init__(self, log: RunLog, after: int, chance: random.Random, *, pushed: bool) -> None:
        self.got: dict[int, bytes] = {}
        self.lost: set[int] = set()
        self.after = after
        self._chance = chance
        self._log = log
        self.subscription = log.subscribe(after, self._sink if pushed else None)

    def _sink(self, fresh: bytes) -> bool:
        if self._chance.random() < 0.3:
            return False
        self._keep([part + b"\n\n" for part in fresh.split(b"\n\n")[:-1]])
        return True

    def _keep(self, frames: list[bytes]) -> None:
        first = self.subscription.cursor + 1
        for number, frame in enumerate(frames, first):
            assert number not in self.got, "a frame came twice"
            self.got[number] = frame

    def take(self, most_bytes: int) -> None:
        """Take what is there, at most so many bytes, but at least a frame."""
        if lost := self.subscription.skip_gap():
            self.lost |= set(range(lost[0], lost[1] + 1))
        before = self.subscription.cursor
        frames = self._log.frames_after(before, most_bytes)
        self._keep(frames)
        assert self.subscription.take_frames(most_bytes) == frames
        assert self.subscription.cursor == before + len(frames)
        assert len(frames) <= 1 or sum(map(len, frames)) <= most_bytes
        assert frames or before == self._log.end


@pytest.mark.parametrize("seed", SEEDS)
def test_any_interleaving_gives_every_reader_every_frame_once(seed: int) -> None:
    chance = random.Random(seed)
    limit = chance.choice([BIG, BIG, 20_000, 3_000])
    log = RunLog(encode, limit)
    frames: list[bytes] = []
    readers: list[Reader] = []
    left: list[Reader] = []
    for _ in range(300):
        deed = chance.choice(["publish", "publish", "subscribe", "take", "take", "close"])
        if deed == "publish":
            events: list[Event] = [
                TextDelta(f"{len(frames) + i} " * chance.randrange(1, 9)) for i in range(chance.randrange(5))
            ]
            events += [MessageSaved("unseen")] * chance.randrange(2)
            chance.shuffle(events)
            frames += [frame for event in events if (frame := encode(event)) is not None]
            log.publish(events)
        elif deed == "subscribe":
            after = chance.randrange(log.end + 1)
            readers.append(Reader(log, after, chance, pushed=chance.random() < 0.5))
        elif readers and deed == "take":
            chance.choice(readers).take(chance.choice([1, 200, BIG]))
        elif readers and chance.random() < 0.3:
            left.append(readers.pop(chance.randrange(len(readers))))
            left[-1].subscription.close()
        assert log.end == len(frames)
        assert log.subscribers == len(readers)
        held = log.frames_after(log.dropped, BIG)
        assert held == frames[log.dropped :]
        assert sum(2 * len(frame) + FRAME_OVERHEAD for frame in held) <= limit or len(held) == 1
    log.close()
    for reader in readers:
        while not reader.subscription.ended:
            reader.take(chance.choice([1, 500, BIG]))
    for reader in readers + left:
        reached = reader.subscription.cursor
        assert set(reader.got) | reader.lost == set(range(reader.after + 1, reached + 1))
        assert not set(reader.got) & reader.lost
        assert all(frames[number - 1] == frame for number, frame in reader.got.items())
    assert all(reader.subscription.cursor == log.end for reader in readers)
    assert limit < BIG or not any(reader.lost for reader in readers)


def test_values_and_frames_are_the_same_events() -> None:
    log = RunLog(chat.encode, BIG)
    events = [TextDelta(str(number)) for number in range(10)]
    log.publish(events)
    assert log.events_after(3, 4) == events[3:7]
    assert [chat.encode(event) for event in log.events_after(0, 99)] == log.frames_after(0, BIG)
    subscription = log.subscribe(8)
    assert subscription.coming_events() == events[8:]
    assert subscription.take_events(1) == events[8:9]
    assert subscription.cursor == 9


def test_one_frame_stays_however_large_it_is() -> None:
    log = RunLog(chat.encode, 1000)
    log.publish([TextDelta("a"), TextDelta("x" * 100_000)])
    assert (log.dropped, log.end) == (1, 2)
    log.publish([TextDelta("b")])
    assert log.frames_after(log.dropped, BIG) == [chat.encode(TextDelta("b"))]


def test_a_refusing_sink_costs_the_others_nothing() -> None:
    log = RunLog(chat.encode, BIG)
    taken = Taker()
    deaf = log.subscribe(0, lambda _: False)
    good = log.subscribe(0, taken)
    for number in range(5):
        log.publish([TextDelta(str(number))])
    assert (deaf.cursor, good.cursor) == (0, 5)
    assert b"".join(deaf.take_frames(BIG)) == b"".join(taken)


def test_a_reader_behind_is_never_pushed_to() -> None:
    log = RunLog(chat.encode, BIG)
    pushed = Taker()
    log.publish([TextDelta("old")])
    behind = log.subscribe(0, pushed)
    log.publish([TextDelta("new")])
    assert pushed == []
    assert len(behind.take_frames(BIG)) == 2
    log.publish([TextDelta("now")])
    assert pushed == [chat.encode(TextDelta("now"))]


async def test_waiting_ends_with_a_frame_and_with_the_run() -> None:
    log = RunLog(chat.encode, BIG)
    subscription = log.subscribe()

    def speak() -> None:
        log.publish([TextDelta("x")])

    for end in (speak, log.close):
        waiting = asyncio.create_task(subscription.wait())
        await asyncio.sleep(0)
        assert not waiting.done()
        end()
        await waiting
        subscription.take_frames(BIG)
    assert subscription.ended
    await subscription.wait()


async def test_a_cancelled_wait_can_be_taken_up_again() -> None:
    log = RunLog(chat.encode, BIG)
    subscription = log.subscribe()
    waiting = asyncio.create_task(subscription.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    log.publish([TextDelta("x")])
    await subscription.wait()
    assert len(subscription.take_frames(BIG)) == 1


def test_nothing_can_be_said_after_the_end() -> None:
    log = RunLog(chat.encode, BIG)
    log.publish([TextDelta("x")])
    log.close()
    with pytest.raises(RuntimeError):
        log.publish([TextDelta("y")])
    assert log.end == 1


def test_the_last_reader_that_leaves_a_closed_log_is_told_each_time() -> None:
    told: list[int] = []
    log = RunLog(chat.encode, BIG, lambda: told.append(log.subscribers))
    readers: list[Subscription] = [log.subscribe(), log.subscribe()]
    log.close()
    assert told == []
    readers[0].close()
    assert told == []
    readers[1].close()
    readers[1].close()
    log.subscribe().close()
    assert told == [0, 0, 0]
