"""Encodings: a byte order mark, strict UTF-8, a guess over the whole text, and in the end a replacement."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.extract.encodings import Encoding, decode_pieces, find_encoding

ASCII = "id,name\r\n" * 1200
JAPANESE = "東京,テスト\r\n"
CHINESE = "你好㐀"
GERMAN = "Grüße"
RUSSIAN = "Привет, как дела? Это текст."


def decode(data: bytes) -> str:
    return "".join(decode_pieces(data, find_encoding(data)))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (ASCII + JAPANESE, "cp932"),
        (CHINESE, "gb18030"),
        (GERMAN, "cp1252"),
        (ASCII + CHINESE, "gb18030"),
        (ASCII + GERMAN, "cp1252"),
        ("He said “yes” – it’s 5 € at 20°C", "cp1252"),
        ("Zażółć gęślą jaźń, proszę bardzo", "cp1250"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
        ("안녕하세요. 한국어 텍스트입니다.", "cp949"),
        ("這是繁體中文的文字。台北今天晴天。", "big5"),
        ("これは日本語のテキストです。東京は晴れ。", "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        *((ASCII + JAPANESE, name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")),
    ],
)
def test_a_text_is_read_in_its_own_encoding(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_a_single_long_line_is_read_in_its_own_encoding() -> None:
    text = "x," * 1_000_000 + "東京,テスト," * 2000
    assert decode(text.encode("cp932")) == text


def test_utf_8_with_a_few_broken_bytes_stays_utf_8() -> None:
    data = "žluťoučký kůň\n".encode() * 50 + b"\xff broken\n"
    assert find_encoding(data) == Encoding("utf-8", exact=False)
    assert decode(data).endswith("kůň\n\ufffd broken\n")


def test_a_character_cut_off_at_the_end_does_not_change_the_encoding() -> None:
    data = "ein Gruß ü".encode()[:-1]
    encoding = find_encoding(data, whole=False)
    assert encoding == Encoding("utf-8")
    assert "".join(decode_pieces(data, encoding)) == "ein Gruß "


def test_without_the_detector_the_common_encodings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    assert decode(GERMAN.encode("cp1252")) == GERMAN
    assert decode(CHINESE.encode("gb18030")) == CHINESE


@given(st.binary(max_size=200))
def test_every_sequence_of_bytes_has_some_text(data: bytes) -> None:
    assert isinstance(decode(data), str)


@given(st.text(max_size=100))
def test_utf_8_is_never_taken_for_something_else(text: str) -> None:
    data = text.encode("utf-8", "replace")
    if b"\x00" not in data and b"\x1b" not in data:
        assert decode(data) == data.decode("utf-8-sig")
