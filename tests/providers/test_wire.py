"""Bytes to records, at every split."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, pairwise

import pytest

from odysseus.errors import ProviderError
from odysseus.providers.wire import Decoder, NdjsonDecoder, Record, SseDecoder

SSE_SAMPLES: dict[str, tuple[bytes, list[Record]]] = {
    "multi-byte characters": (
        "data: ok 🚲 橋\n\ndata: é\n\n".encode(),
        [Record("ok 🚲 橋".encode()), Record("é".encode())],
    ),
    "crlf": (b'data: {"a":\r\ndata: 1}\r\n\r\ndata: [DONE]\r\n\r\n', [Record(b'{"a":\n1}'), Record(b"[DONE]")]),
    "lone cr": (b"data: a\rdata: b\r\rdata: c\r\r", [Record(b"a\nb"), Record(b"c")]),
    "mixed line ends": (
        b"data: a\r\n\ndata: b\n\r\ndata: c\r\rdata: d\n\n",
        [Record(c) for c in (b"a", b"b", b"c", b"d")],
    ),
    "byte order mark": (b"\xef\xbb\xbfdata: first\n\ndata: second\n\n", [Record(b"first"), Record(b"second")]),
    "one mark only": (b"\xef\xbb\xbf\xef\xbb\xbfdata: lost\n\ndata: b\n\n", [Record(b"b")]),
    "mark inside": (b"data: \xef\xbb\xbfa\n\n\xef\xbb\xbfdata: lost\n\n", [Record(b"\xef\xbb\xbfa")]),
    "comments": (b": WAIT\n\n:\n\n:ping\n\ndata:\n\ndata\n\ndata: hi\n\n", [Record(b"hi")]),
    "comment in an event": (b"data: a\n: ping\ndata: b\n\n", [Record(b"a\nb")]),
    "comments without blank lines": (b": a\n: b\ndata: x\n\n", [Record(b"x")]),
    "several data lines": (b'data: {"x":\ndata:  " B",\ndata:\ndata: 1}\n\n', [Record(b'{"x":\n " B",\n\n1}')]),
    "one space only": (b"data:none\n\ndata: one\n\ndata:  two\n\n", [Record(b"none"), Record(b"one"), Record(b" two")]),
    "event names": (
        b"event: ping\ndata: 1\n\nevent:error\ndata: 2\n\ndata: 3\n\n",
        [Record(b"1", "ping"), Record(b"2", "error"), Record(b"3")],
    ),
    "name without data": (b"event: ping\n\ndata: 1\n\n", [Record(b"1")]),
    "odd fields": (b"id: 7\nretry: 10\nx\ndatax: no\nDATA: no\n data: no\ndata: a: b\n\n", [Record(b"a: b")]),
    "many blank lines": (b"\n\n\n\ndata: a\n\n\n\n\ndata: b\n\n\n", [Record(b"a"), Record(b"b")]),
    "no blank line at the end": (b"data: a\n\ndata: b", [Record(b"a"), Record(b"b")]),
    "one line end at the end": (b"data: a\n\nevent: x\ndata: b\n", [Record(b"a"), Record(b"b", "x")]),
    "a cr at the end": (b"data: a\r\n\r\ndata: b\r", [Record(b"a"), Record(b"b")]),
    "half an event at the end": (b'data: a\n\ndata: {"x"', [Record(b"a"), Record(b'{"x"')]),
    "a field cut at the end": (b"data: a\n\ndat", [Record(b"a")]),
    "a half mark alone": (b"\xef\xbb", []),
    "nothing": (b"", []),
    "blanks for data": (b"data:  \n\ndata: a\n\n", [Record(b" "), Record(b"a")]),
    "a name that is not utf-8": (b"event: \xff\ndata: a\n\n", [Record(b"a", "\ufffd")]),
}

NDJSON_SAMPLES: dict[str, tuple[bytes, list[Record]]] = {
    "lines": ('{"a":"橋"}\n{"b":2}\n'.encode(), [Record('{"a":"橋"}'.encode()), Record(b'{"b":2}')]),
    "crlf and blank lines": (b'{"a":1}\r\n\r\n\n  {"b":2} \r\n', [Record(b'{"a":1}'), Record(b'{"b":2}')]),
    "no line end at the end": (b'{"a":1}\n{"b":2}', [Record(b'{"a":1}'), Record(b'{"b":2}')]),
    "byte order mark": (b'\xef\xbb\xbf{"a":1}\n', [Record(b'{"a":1}')]),
    "nothing": (b"\n", []),
}


def decode(decoder: Decoder, chunks: Iterable[bytes]) -> list[Record]:
    records = [record for chunk in chunks for record in decoder.feed(chunk)]
    return records + decoder.end()


def splits(sample: bytes) -> Iterator[list[bytes]]:
    """Whole, byte by byte, with empty chunks, and cut at every one and every two places."""
    yield [sample]
    yield [sample[at : at + 1] for at in range(len(sample))]
    yield [part for at in range(len(sample)) for part in (b"", sample[at : at + 1])]
    for count in (1, 2):
        for places in combinations(range(len(sample) + 1), count):
            edges = (0, *places, len(sample))
            yield [sample[start:end] for start, end in pairwise(edges)]


@pytest.mark.parametrize("name", SSE_SAMPLES)
def test_every_split_of_an_event_stream_gives_the_same_records(name: str) -> None:
    sample, expected = SSE_SAMPLES[name]
    for chunks in splits(sample):
        assert decode(SseDecoder(), chunks) == expected, chunks


@pytest.mark.parametrize("name", NDJSON_SAMPLES)
def test_every_split_of_json_lines_gives_the_same_records(name: str) -> None:
    sample, expected = NDJSON_SAMPLES[name]
    for chunks in splits(sample):
        assert decode(NdjsonDecoder(), chunks) == expected, chunks


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_all_samples_in_one_stream_give_all_their_records(ending: bytes) -> None:
    names = [name for name in SSE_SAMPLES if "mark" not in name and "end" not in name and "cr" not in name]
    stream = b"".join(SSE_SAMPLES[name][0].replace(b"\r", b"") for name in names if name != "mixed line ends")
    expected = [record for name in names if name != "mixed line ends" for record in SSE_SAMPLES[name][1]]
    stream = stream.replace(b"\n", ending)
    for size in range(1, 64):
        assert decode(SseDecoder(), [stream[at : at + size] for at in range(0, len(stream), size)]) == expected


@pytest.mark.parametrize("ending", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_an_event_is_given_as_soon_as_its_blank_line_is_here(ending: bytes) -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a" + ending) == [Record(b"a")]
    assert decoder.feed(b"data: b" + ending[:-1]) == ([Record(b"b")] if ending == b"\r\n\r\n" else [])


def test_the_end_gives_the_open_record_only_once() -> None:
    decoder = SseDecoder()
    decoder.feed(b"data: a")
    assert decoder.end() == [Record(b"a")]
    assert decoder.end() == []


@pytest.mark.parametrize(("make", "wrap"), [(SseDecoder, b"data: %b\n\n"), (NdjsonDecoder, b"%b\n")])
def test_a_record_of_megabytes_costs_time_in_proportion(make: Callable[[], Decoder], wrap: bytes) -> None:
    def seconds(size: int) -> float:
        sample = wrap % (b"x" * size)
        chunks = [sample[at : at + 1000] for at in range(0, len(sample), 1000)]
        start = time.process_time()
        assert [len(record.data) for record in decode(make(), chunks)] == [size]
        return time.process_time() - start

    small = min(seconds(1_000_000) for _ in range(3))
    assert seconds(8_000_000) < 30 * small + 0.05


def test_a_record_of_many_lines_costs_time_in_proportion() -> None:
    sample = b"data: xxxxxxxx\n" * 200_000 + b"\n"
    chunks = [sample[at : at + 1000] for at in range(0, len(sample), 1000)]
    start = time.process_time()
    assert [record.data.count(b"\n") for record in decode(SseDecoder(), chunks)] == [199_999]
    assert time.process_time() - start < 2.0


@pytest.mark.parametrize(("make", "wrap"), [(SseDecoder, b"data: %b\n\n"), (NdjsonDecoder, b"%b\n")])
@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
@pytest.mark.parametrize("closed", [True, False])
def test_a_record_over_the_limit_is_an_error_and_those_before_it_stand(
    make: Callable[[int], Decoder], wrap: bytes, size: int, closed: bool
) -> None:
    sample = wrap % b"a" + wrap % (b"x" * 200) if closed else wrap % b"a" + (wrap % (b"x" * 200)).rstrip(b"\n")
    decoder = make(100)
    records: list[Record] = []
    with pytest.raises(ProviderError, match="one piece of more than 100 bytes") as raised:  # noqa: PT012
        for at in range(0, len(sample), size):
            records += decoder.feed(sample[at : at + size])
        decoder.end()
    assert records == [Record(b"a")]
    assert raised.value.status == 502


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_a_stream_longer_than_the_limit_is_fine_while_its_records_are_not(size: int) -> None:
    stream = b"data: " + b"x" * 94 + b"\n\n"
    chunks = [(stream * 50)[at : at + size] for at in range(0, 50 * len(stream), size)]
    assert len(decode(SseDecoder(100), chunks)) == 50
