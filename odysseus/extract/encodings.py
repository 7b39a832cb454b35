"""Which encoding a text is in, by the whole of it, and its characters. Knows no format of text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from odysseus.extract.kinds import HEAD_BYTES, wide_order

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Each one the widest of its family, and the likelier ones first, for where nothing else decides.
_WIDE = ("gb18030", "cp932", "cp949", "big5hkscs", "euc_jp")
_NARROW = ("cp1252", "cp1250", "cp1251", "koi8_r", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257")
_CHUNK = 1 << 20
_SAMPLE_BYTES = 65_536
# From the first byte above ASCII, which begins a character, to where a line or a word ends, so that none is cut.
_FOREIGN = re.compile(rb"[\x80-\xff][^\r\n]{0,2000}[^\r\n\t ,;]{0,2000}")
_BEFORE = 20
# A run of at most two letters of Western Europe or marks of printers, beside something of ASCII.
_WESTERN = re.compile(
    rb"(?<![\x80-\xff])[\xc0-\xd6\xd8-\xf6\xf8-\xff\x80\x85\x8a\x8c\x8e\x91-\x97\x99\x9a\x9c\x9e\xa0\xa1\xa3\xa7"
    rb"\xa9\xab\xae\xb0\xb2\xb4\xb5\xb7\xba\xbb\xbf]{1,2}(?![\x80-\xff])"
)
_HIGH = re.compile(rb"[\x80-\xff]+")


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec's name. `exact` says that the whole text is in it; otherwise what is not is replaced."""

    name: str
    exact: bool = True

    @property
    def errors(self) -> str:
        return "strict" if self.exact else "replace"


def find_encoding(data: bytes, *, whole: bool = True) -> Encoding:
    """The encoding of a text. `whole` is false when its end is cut off, maybe within a character."""
    for mark, name in _BOMS:
        if data.startswith(mark):
            return Encoding(name, _fits(data, name, whole))
    if wide := wide_order(data[:HEAD_BYTES]):
        return Encoding(wide, _fits(data, wide, whole))
    if b"\x1b$" in data and _fits(data, "iso2022_jp", whole):
        return Encoding("iso2022_jp")
    if _fits(data, "utf-8", whole):
        return Encoding("utf-8")
    if _is_damaged_utf8(data):
        return Encoding("utf-8", exact=False)
    fitting = (name for name in _guesses(_sample(data)) if _fits(data, name, whole))
    name = next(fitting, "")
    return Encoding(name) if name else Encoding("cp1252", exact=False)


def decode_pieces(data: bytes, encoding: Encoding) -> Iterator[str]:
    """The text, piece by piece. A character cut off at the end is left out."""
    decoder = codecs.getincrementaldecoder(encoding.name)(encoding.errors)
    for start in range(0, len(data), _CHUNK):
        yield decoder.decode(data[start : start + _CHUNK])


def _fits(data: bytes, name: str, whole: bool) -> bool:
    decoder = codecs.getincrementaldecoder(name)("strict")
    try:
        for start in range(0, len(data), _CHUNK):
            decoder.decode(data[start : start + _CHUNK])
        decoder.decode(b"", final=whole)
    except UnicodeError:
        return False
    return True


def _is_damaged_utf8(data: bytes) -> bool:
    """Whether nearly all that is above ASCII is UTF-8, as in a log with a few broken lines."""
    sample = data if len(data) <= 4 * _CHUNK else _sample(data)
    text = sample.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    return broken * 10 <= len(sample.decode("utf-8", "ignore")) - len(sample.translate(None, bytes(range(128, 256))))


def _sample(data: bytes) -> bytes:
    """The parts of the whole text that are not ASCII, with a little before each."""
    parts: list[bytes] = []
    size = end = 0
    for found in _FOREIGN.finditer(data):
        before = data[max(end, found.start() - _BEFORE) : found.start()]
        parts.append(re.split(rb"[\r\n]", before)[-1] + found[0])
        end, size = found.end(), size + len(parts[-1])
        if size > _SAMPLE_BYTES:
            break
    return b"\n".join(parts)


def _guesses(sample: bytes) -> list[str]:
    """Encodings to try, the likeliest first."""
    rated = _rate(sample)
    if _is_western(sample):
        least = rated.get("cp1252", (0.0, 0.0))[1] + 0.1
        usual = sample.decode("cp1252", "replace")
        told = [
            name
            for name in _NARROW
            if rated.get(name, (0.0, 0.0))[1] > least and sample.decode(name, "replace") != usual
        ]
        return [*told, "cp1252", *_WIDE]
    order = (*_WIDE, *(name for name in _NARROW if name != "cp1252"), "cp1252")
    # What the detector has not named is tried last, but for its order all the same.
    return sorted(order, key=lambda name: (name not in rated, *rated.get(name, (0, 0))[:1], order.index(name)))


def _rate(sample: bytes) -> dict[str, tuple[float, float]]:
    """For each encoding that a text could be in: how much of it would be a mess, and how much like a language it is."""
    try:
        from charset_normalizer import from_bytes
    except ImportError:
        return {}
    found = from_bytes(sample, cp_isolation=[*_WIDE, *_NARROW])
    return {match.encoding: (round(match.chaos, 2), match.coherence) for match in found}


def _is_western(sample: bytes) -> bool:
    """Whether bytes above ASCII stand one by one within words, as accents do, and not in runs as other scripts do."""
    return sum(1 for _ in _WESTERN.finditer(sample)) >= 0.8 * sum(1 for _ in _HIGH.finditer(sample))
