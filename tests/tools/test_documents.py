"""The document tools on a real database: exact edits, versions, suggestions, and what is told of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from contexts import context
from hypothesis import given
from hypothesis import strategies as st
from store.databases import opened

from odysseus.errors import NotFound
from odysseus.events import DocumentOpened, DocumentSuggested, DocumentUpdated, DocumentWritten
from odysseus.store.documents import CONTENT_LIMIT, Document, DocumentStore
from odysseus.tools.base import ToolContext, ToolError, ToolResult
from odysseus.tools.documents import Edit, EditDocument, document_tools
from odysseus.tools.documents import _edited as edited


@dataclass(frozen=True)
class Desk:
    """The tools of one session."""

    store: DocumentStore
    context: ToolContext
    other: ToolContext

    async def call(self, name: str, *, elsewhere: bool = False, **given: Any) -> ToolResult:
        tool = next(tool for tool in document_tools(self.store) if tool.name == name)
        result: ToolResult = await tool.run(tool.parse(given), self.other if elsewhere else self.context)
        return result

    async def preview(self, name: str, **given: Any) -> tuple[str, str]:
        tool = next(tool for tool in document_tools(self.store) if tool.name == name)
        shown = await tool.preview(tool.parse(given), self.context)
        return shown.content, shown.fingerprint

    async def new(self, content: str = "one two three") -> str:
        made = await self.call("create_document", title="Numbers", content=content)
        return str(made.extras["doc_id"])

    async def newest(self, doc_id: str) -> Document:
        return await self.store.get(self.context.session_id, doc_id)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path / "db.sqlite3") as stores:
        mine, other = await stores.session(), await stores.session()
        yield Desk(
            DocumentStore(stores.db, stores.clock),
            context(tmp_path, session_id=mine.id),
            context(tmp_path, session_id=other.id),
        )


def shown(doc_id: str, content: str, version: int) -> list[Any]:
    """What the page is told of a written document, in the contract's order."""
    return [
        DocumentOpened("Numbers", "markdown"),
        DocumentWritten(content),
        DocumentUpdated(doc_id, content, version, "Numbers", "markdown"),
    ]


async def test_a_new_document_is_shown_whole_and_named_to_the_model(desk: Desk) -> None:
    made = await desk.call("create_document", title=" Numbers\n", content="one\r\ntwo\rthree\n", language="")
    doc_id = made.extras["doc_id"]
    assert made.events == shown(doc_id, "one\ntwo\nthree\n", 1)
    assert made.extras == {
        "doc_id": doc_id,
        "document_title": "Numbers",
        "document_language": "markdown",
        "document_version": 1,
    }
    assert made.output == f"Created document {doc_id} “Numbers” (version 1, 14 characters)."
    assert (made.exit_code, made.ends_turn, made.after) == (0, False, ())


async def test_an_edit_replaces_exactly_what_was_found(desk: Desk) -> None:
    doc_id = await desk.new(r"a\1 $& (x) \g<0> é 字")
    edits = [{"find": r"\1 $&", "replace": r"\g<0>\n\\"}, {"find": "字", "replace": ""}]
    result = await desk.call("edit_document", doc_id=f" {doc_id} ", edits=edits)
    text = r"a\g<0>\n\\ (x) \g<0> é "
    assert result.events == shown(doc_id, text, 2)
    assert result.extras["document_version"] == 2
    assert (await desk.newest(doc_id)).content == text
    assert (await desk.store.get(desk.context.session_id, doc_id, 1)).content == r"a\1 $& (x) \g<0> é 字"


async def test_a_document_can_be_written_anew_and_emptied(desk: Desk) -> None:
    doc_id = await desk.new()
    assert (await desk.call("edit_document", doc_id=doc_id, content="new")).events == shown(doc_id, "new", 2)
    assert (await desk.call("edit_document", doc_id=doc_id, content="", version=2)).events == shown(doc_id, "", 3)


UNFIT: list[tuple[Mapping[str, Any], str]] = [
    ({"edits": [{"find": "four", "replace": "4"}]}, "Edit 1 does not fit the document: the text to find is not in it"),
    ({"edits": [{"find": "t", "replace": "T"}]}, "more than once. Take more of the text around it"),
    ({"edits": [{"find": "one", "replace": "1"}, {"find": "one", "replace": "2"}]}, "Edit 2 does not fit"),
    ({"edits": [{"find": "one", "replace": "one"}]}, "changes nothing"),
    ({"content": "one two three"}, "changes nothing"),
    ({}, "either edits or content"),
    ({"edits": [{"find": "one", "replace": "1"}], "content": "x"}, "either edits or content"),
    ({"edits": [{"find": "one", "replace": "1"}], "version": 2}, "no version 2; the newest is 1"),
    ({"edits": [{"find": "one", "replace": "x" * CONTENT_LIMIT}]}, "over 400,000 characters"),
]


@pytest.mark.parametrize(("given", "words"), UNFIT)
async def test_an_edit_that_does_not_fit_changes_nothing(desk: Desk, given: Mapping[str, Any], words: str) -> None:
    doc_id = await desk.new()
    with pytest.raises(ToolError, match=words):
        await desk.call("edit_document", doc_id=doc_id, **given)
    with pytest.raises(ToolError, match=words):
        await desk.preview("edit_document", doc_id=doc_id, **given)
    newest = await desk.newest(doc_id)
    assert (newest.version, newest.content) == (1, "one two three")


async def test_text_that_overlaps_itself_is_not_found_once(desk: Desk) -> None:
    doc_id = await desk.new("aaa")
    with pytest.raises(ToolError, match="more than once"):
        await desk.call("edit_document", doc_id=doc_id, edits=[{"find": "aa", "replace": "b"}])


async def test_an_edit_on_an_older_version_is_tried_on_the_newest(desk: Desk) -> None:
    doc_id = await desk.new()
    await desk.store.revise(desk.context.session_id, doc_id, "user", lambda newest: newest.content + " four")
    edits = [{"find": "one", "replace": "1"}]
    result = await desk.call("edit_document", doc_id=doc_id, edits=edits, version=1)
    assert result.events == shown(doc_id, "1 two three four", 3)


@pytest.mark.parametrize("given", [{"edits": [{"find": "one", "replace": "1"}]}, {"content": "all of it"}])
async def test_an_edit_that_no_longer_fits_is_told_both_versions(desk: Desk, given: Mapping[str, Any]) -> None:
    doc_id = await desk.new()
    await desk.store.revise(desk.context.session_id, doc_id, "user", lambda _: "ONE two three")
    with pytest.raises(ToolError, match="You edit version 1, and the document is at version 2 by now"):
        await desk.call("edit_document", doc_id=doc_id, version=1, **given)
    assert (await desk.newest(doc_id)).content == "ONE two three"


async def test_edits_at_once_are_versions_one_after_the_other(desk: Desk) -> None:
    doc_id = await desk.new("a b c d e f")
    calls = [
        desk.call("edit_document", doc_id=doc_id, edits=[{"find": letter, "replace": letter.upper()}], version=1)
        for letter in "abcdef"
    ]
    versions = [result.extras["document_version"] for result in await asyncio.gather(*calls)]
    assert sorted(versions) == [2, 3, 4, 5, 6, 7]
    assert (await desk.newest(doc_id)).content == "A B C D E F"


async def test_suggestions_leave_the_text_as_it_is(desk: Desk) -> None:
    doc_id = await desk.new()
    suggestions = [{"find": "one", "replace": "1", "reason": "Shorter."}, {"find": " three", "replace": ""}]
    result = await desk.call("suggest_document", doc_id=doc_id, suggestions=suggestions)
    kept = await desk.store.suggestions(desk.context.session_id, doc_id)
    told = [
        {"id": kept[0].id, "find": "one", "replace": "1", "reason": "Shorter."},
        {"id": kept[1].id, "find": " three", "replace": "", "reason": ""},
    ]
    assert result.events == [DocumentSuggested(doc_id, told)]
    assert result.extras["document_version"] == 1
    assert "2 changes" in result.output
    assert (await desk.newest(doc_id)).version == 1


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"find": "four", "replace": "4"}, "Suggestion 2 does not fit the document"),
        ({"find": "t", "replace": "T"}, "more than once"),
        ({"find": "two", "replace": "two"}, "Suggestion 2 changes nothing"),
    ],
)
async def test_one_suggestion_that_does_not_fit_keeps_none(desk: Desk, second: Mapping[str, str], words: str) -> None:
    doc_id = await desk.new()
    with pytest.raises(ToolError, match=words):
        await desk.call("suggest_document", doc_id=doc_id, suggestions=[{"find": "one", "replace": "1"}, second])
    assert await desk.store.suggestions(desk.context.session_id, doc_id) == []


async def test_a_document_is_read_as_it_is(desk: Desk) -> None:
    text = "first\n\n\u2028second\x0c\nthird"
    doc_id = await desk.new(text)
    head = f"Document {doc_id} “Numbers” (version 1, {len(text)} characters), markdown, "
    assert (await desk.call("read_document", doc_id=doc_id)).output == f"{head}lines 1 to 4 of 4:\n{text}"
    part = await desk.call("read_document", doc_id=doc_id, offset=2, limit=2)
    assert part.output == f"{head}lines 2 to 3 of 4:\n\n\u2028second\x0c\n\n[Read on with offset 4.]"
    with pytest.raises(ToolError, match="4 lines; an offset of 5"):
        await desk.call("read_document", doc_id=doc_id, offset=5)
    empty = await desk.call("read_document", doc_id=await desk.new(""))
    assert empty.output.endswith("markdown, empty.")


async def test_a_long_document_is_read_in_whole_lines_to_its_end(desk: Desk) -> None:
    text = "".join(f"{number} {'x' * (number % 700)}\n" for number in range(400)) + "y" * 40_000
    doc_id, read, offset = await desk.new(text), "", 1
    while offset:
        output = (await desk.call("read_document", doc_id=doc_id, offset=offset)).output
        body = output.partition(":\n")[2]
        body, _, more = body.partition("\n[Read on with offset ")
        read, offset = read + body, int(more.rstrip(".]") or 0)
        assert len(output) < 16_000 or not offset
    assert read == text


async def test_the_documents_of_the_chat_are_listed(desk: Desk) -> None:
    assert (await desk.call("read_document")).output == "This chat has no documents yet."
    first, second = await desk.new("x" * 1234), await desk.new()
    assert (await desk.call("read_document", doc_id="")).output == (
        f"{second}  Numbers (markdown, version 1, 13 characters)\n"
        f"{first}  Numbers (markdown, version 1, 1,234 characters)"
    )


CALLS: list[tuple[str, Callable[[str], Mapping[str, Any]]]] = [
    ("edit_document", lambda id: {"doc_id": id, "content": "taken"}),
    ("suggest_document", lambda id: {"doc_id": id, "suggestions": [{"find": "one", "replace": "1"}]}),
    ("read_document", lambda id: {"doc_id": id}),
]


@pytest.mark.parametrize(("name", "given"), CALLS)
async def test_the_document_of_another_chat_is_not_there(
    desk: Desk, name: str, given: Callable[[str], Mapping[str, Any]]
) -> None:
    doc_id = await desk.new()
    with pytest.raises(ToolError, match=r"no document .* in this chat. read_document without doc_id lists them"):
        await desk.call(name, elsewhere=True, **given(doc_id))
    assert (await desk.call("read_document", elsewhere=True)).output == "This chat has no documents yet."
    assert (await desk.newest(doc_id)).version == 1


async def test_a_document_of_no_chat_is_not_made(desk: Desk, tmp_path: Path) -> None:
    nowhere = Desk(desk.store, context(tmp_path, session_id="gone"), desk.other)
    with pytest.raises(NotFound):
        await nowhere.new()


WRONG: list[tuple[str, Mapping[str, Any], str]] = [
    ("create_document", {"title": "", "content": ""}, "title"),
    ("create_document", {"title": "t"}, "content"),
    ("create_document", {"title": "t", "content": "x" * (CONTENT_LIMIT + 1)}, "content"),
    ("create_document", {"title": "t", "content": "", "language": "../x"}, "language"),
    ("edit_document", {"doc_id": "d", "edits": [{"find": "", "replace": "x"}]}, "find"),
    ("edit_document", {"doc_id": "d", "edits": [{"find": "x"}]}, "replace"),
    ("edit_document", {"doc_id": "d", "content": None}, "content"),
    ("suggest_document", {"doc_id": "d", "suggestions": []}, "suggestions"),
    ("read_document", {"doc_id": "d", "offset": 0}, "offset"),
    ("read_document", {"id": "d"}, "id"),
]


@pytest.mark.parametrize(("name", "given", "field"), WRONG)
async def test_wrong_arguments_are_named(desk: Desk, name: str, given: Mapping[str, Any], field: str) -> None:
    with pytest.raises(ToolError, match=f"Wrong arguments for {name}.*{field}"):
        await desk.call(name, **given)


async def test_a_card_shows_the_whole_call_and_names_the_version(desk: Desk) -> None:
    content, _ = await desk.preview("create_document", title="T", content="all\nof it", language="python")
    assert content == "# T (python)\n\nall\nof it"
    doc_id = await desk.new()
    content, fingerprint = await desk.preview(
        "edit_document", doc_id=doc_id, edits=[{"find": "one two", "replace": "1\n2"}]
    )
    assert (content.partition("\n\n")[2], fingerprint) == ("- one two\n+ 1\n+ 2", f"{doc_id}:1")
    content, _ = await desk.preview(
        "suggest_document", doc_id=doc_id, suggestions=[{"find": "one", "replace": "1", "reason": "Why not."}]
    )
    assert content.endswith("- one\n+ 1\n  (Why not.)")
    await desk.call("edit_document", doc_id=doc_id, content="new")
    assert await desk.preview("edit_document", doc_id=doc_id, content="newer") == (
        f"{doc_id} “Numbers” (version 2, 3 characters)\n\nnewer",
        f"{doc_id}:2",
    )


def test_what_the_tools_touch_is_told() -> None:
    told = {
        tool.name: (tool.effects, tool.policy, tool.reads_only)
        for tool in document_tools(DocumentStore.__new__(DocumentStore))
    }
    write, read = frozenset({"write"}), frozenset({"read"})
    assert told == {
        "create_document": (write, "allow", False),
        "edit_document": (write, "allow", False),
        "suggest_document": (write, "allow", False),
        "read_document": (read, "allow", True),
    }


@given(before=st.text("ab\n"), find=st.text("ab", min_size=1), after=st.text("ab\n"), replace=st.text("abc\n"))
def test_an_edit_that_fits_changes_one_place_and_nothing_else(before: str, find: str, after: str, replace: str) -> None:
    text = before + find + after
    places = sum(text.startswith(find, index) for index in range(len(text)))
    document = Document("d", "s", "t", "text", 1, text, 0.0, 0.0)
    call = EditDocument(doc_id="d", edits=(Edit(find=find, replace=replace),))
    if places == 1 and find != replace:
        assert edited(document, call) == before + replace + after
    else:
        with pytest.raises(ToolError):
            edited(document, call)
