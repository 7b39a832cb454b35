"""Text files and tables: whole where they fit, honest about what is left out."""

from __future__ import annotations

import pytest
from sample_files import Read, ReadHere

from odysseus.extract.result import Extracted

MILLIONS = 2_000_000


@pytest.mark.parametrize("name", ["main.rs", "notes.toml", "Dockerfile", "a.pdf.txt"])
async def test_code_of_any_kind_is_read_as_it_is(read: Read, name: str) -> None:
    assert await read(b"one = 1\r\n\ttwo\n", name) == Extracted("text", "one = 1\n\ttwo\n", mime="text/plain")


async def test_an_empty_file_is_called_empty(read: Read) -> None:
    found = await read(b"", "a.docx", "application/pdf")
    assert (found.kind, found.mismatch, found.text) == ("none", False, "")
    assert "empty" in found.note


def test_white_space_is_no_text(read_here: ReadHere) -> None:
    assert (read_here(b" \n\t\n", "a.txt")).kind == "none"


@pytest.mark.parametrize("content", [bytes(range(256)) * 40, b"\x7fELF" + bytes(200), b"MZ\x90\x00\x03" + bytes(300)])
async def test_unknown_binary_is_refused_as_text(read: Read, content: bytes) -> None:
    found = await read(content, "a.txt", "text/plain")
    assert (found.kind, found.mismatch) == ("failed", True)
    assert "no kind that can be read" in found.note


def test_a_text_that_goes_on_as_binary_is_refused(read_here: ReadHere) -> None:
    found = read_here(b"#!/bin/sh\necho unpacking\n" * 500 + b"\x00\x01\x02\x03" * 20_000, "install.sh")
    assert found.kind == "failed"


def test_what_cannot_be_stored_is_replaced(read_here: ReadHere) -> None:
    found = read_here(b"a log line\n" * 100 + b"with \x00 in it\n", "a.log")
    assert found.text.endswith("with \ufffd in it\n")


def test_broken_characters_are_replaced_and_told(read_here: ReadHere) -> None:
    found = read_here("žluťoučký kůň\n".encode() * 50 + b"\xff\n", "a.txt")
    assert found.text.endswith("kůň\n\ufffd\n")
    assert "UTF-8" in found.note


def test_a_long_text_is_cut_and_told(read_here: ReadHere) -> None:
    found = read_here(b"word " * 1000, "a.txt", characters=100)
    assert len(found.text) == 100
    assert "first 100 characters" in found.note


def test_of_a_large_file_the_beginning_is_read(read_here: ReadHere) -> None:
    found = read_here("aü".encode() * 1000, "a.txt", bytes=1000)
    assert found.text == "aü" * 333 + "a"
    assert "first 1,000 bytes" in found.note


# Tables


def test_a_table_has_its_schema_its_count_and_its_rows(read_here: ReadHere) -> None:
    data = 'id,name,price,day,empty\n1,"Müller, A.",9.50,2024-01-02,\n2,a|b,1e3,2024-01-03,\n'.encode("cp1252")
    found = read_here(data, "a.csv")
    head, _, table = found.text.partition("\n\n")
    assert head == "2 rows, 5 columns: id (whole number), name (text), price (number), day (date), empty (empty)"
    assert table.splitlines() == [
        "| id | name | price | day | empty |",
        "| --- | --- | --- | --- | --- |",
        "| 1 | Müller, A. | 9.50 | 2024-01-02 |  |",
        "| 2 | a\\|b | 1e3 | 2024-01-03 |  |",
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(read_here: ReadHere, delimiter: str) -> None:
    data = delimiter.join(["a", "b"]) + "\n" + delimiter.join(["one, two; three", "2"])
    quoted = data.replace("one, two; three", '"one, two; three"')
    assert (read_here(quoted.encode(), "a.csv")).text.endswith("| a | b |\n| --- | --- |\n| one, two; three | 2 |")


@pytest.mark.parametrize(("name", "declared"), [("a.tsv", ""), ("", "text/tab-separated-values; charset=utf-8")])
def test_tabs_part_cells_by_name_or_by_declared_type(read_here: ReadHere, name: str, declared: str) -> None:
    assert "| a,b | c |" in (read_here(b"a,b\tc\n1\t2\n", name, declared)).text


@pytest.mark.parametrize("encoding", ["cp932", "utf-16", "utf-8-sig", "gb18030"])
def test_a_table_is_read_in_its_own_encoding(read_here: ReadHere, encoding: str) -> None:
    found = read_here(("id,name\r\n" * 600 + "東京,テスト\r\n").encode(encoding), "a.csv")
    assert found.text.endswith("| 東京 | テスト |")
    assert found.text.startswith("600 rows, 2 columns: id (text)")


async def test_of_a_large_table_head_and_tail_are_shown(read: Read) -> None:
    rows = [b"7,Name 7,Some city in the north\n"] * (MILLIONS - 1) + [b"1999999,Name 1999999,Some city in the north"]
    found = await read(b"id,name,city\n" + b"".join(rows), "a.csv")
    assert found.text.startswith("2,000,000 rows, 3 columns: id (whole number), name (text), city (text)")
    assert "| 7 | Name 7 |" in found.text
    assert "rows left out here]" in found.text
    assert found.text.endswith("| 1999999 | Name 1999999 | Some city in the north |")
    assert len(found.text) < 70_000


@pytest.mark.parametrize("line", [b",".join([b"value"] * 900_000), b"x" * 5_000_000, b'"' + b"y\n" * 2_500_000])
def test_a_table_of_one_huge_line_fits(read_here: ReadHere, line: bytes) -> None:
    found = read_here(line, "a.csv")
    assert found.kind == "text"
    assert 0 < len(found.text) < 10_000


def test_a_wide_table_says_how_many_columns_it_has(read_here: ReadHere) -> None:
    found = read_here(b",".join(b"c%d" % place for place in range(150)) + b"\n", "a.csv")
    assert "150 columns (the first 100 are shown)" in found.text
    assert "c99 " in found.text
    assert "c100" not in found.text
