"""Texts to terms: what is asked for finds what is written, in any language and of any shape."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.retrieval.words import phrases, terms
from odysseus.store.db import migrations


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("grosse", "Größe"),
        ("CAFÉ", "ein cafe\u0301 am Eck"),
        ("清水寺", "二日目は清水寺を訪れる"),
        ("京都", "私は京都へ行く"),
        ("비밀번호", "비밀번호는 열두 자"),
        ("किताब", "यह किताब अच्छी है।"),
        ("ไทย", "ประเทศไทยสวยงาม"),
        ("كتاب", "هذا كِتاب"),
        ("елка", "Ёлка"),
        ("max_idle", "set MAX_IDLE = 3"),
        ("user name", "def getUserName():"),
        ("HTTPServer", "class HTTPServer:"),
        ("tomatoes", "One tomato."),
        ("сенокос", "к сенокосу"),
        ("x²", "x2"),
        ("ﬁle", "a file"),
    ],
)
def test_what_is_asked_for_finds_what_is_written(question: str, text: str) -> None:
    assert set(terms(question)) & set(terms(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What is E-4417?", [["e", "4417"]]),
        ("max_idle_seconds", [["max", "idle", "seconds"]]),
        ("see foo.bar::baz and a@b.org", [["foo", "bar", "baz"], ["a", "b", "org"]]),
        ("plain words, parted", []),
    ],
)
def test_a_name_of_several_parts_is_a_phrase(text: str, found: list[list[str]]) -> None:
    assert phrases(text) == found


def test_the_parts_of_a_phrase_follow_each_other_in_the_terms() -> None:
    joined = " ".join(terms("set connectionLifetime to max_connection_seconds-total now"))
    for phrase in phrases("max_connection_seconds-total"):
        assert " ".join(phrase) in joined


@given(st.text())
def test_terms_are_what_the_index_takes_them_for(text: str) -> None:
    found = terms(text)
    assert terms(text) == found
    assert all(term and " " not in term for term in found)


@given(st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5))
def test_the_index_parts_terms_where_they_were_joined(texts: list[str]) -> None:
    """Each term is one token of SQLite's: what is looked for is never parted otherwise than what was stored."""
    sql = next(sql for _, sql in migrations() if "library_words" in sql)
    wanted = [line for line in sql.split(";") if "library_words USING" in line or "library_terms" in line]
    db = sqlite3.connect(":memory:")
    db.executescript(";".join(wanted) + ";")
    found = terms(" ".join(texts))
    db.execute("INSERT INTO library_words (title, words) VALUES ('', ?)", (" ".join(found),))
    assert {row[0] for row in db.execute("SELECT term FROM library_terms")} == set(found)
    db.close()
