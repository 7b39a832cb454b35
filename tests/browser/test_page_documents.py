"""Documents beside the chat: written by user and agent at once, from two tabs, over reloads, and no text is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Locator, Route, expect
from upstream import answer, calls

from browser.bench import Seat, Tab
from browser.test_page_looks import SMALL

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

TEXT = "first line\n\nsecond line\n\nthird line\n"
POST = """async (fields) => {
    const init = { method: "POST", body: JSON.stringify(fields), headers: { "Content-Type": "application/json" } };
    return (await fetch("/api/documents", init)).json();
}"""
CHANGE = """async ([id, fields]) => {
    const init = { method: "PATCH", body: JSON.stringify(fields), headers: { "Content-Type": "application/json" } };
    return (await fetch(`/api/documents/${id}`, init)).status;
}"""
READ = "async (id) => (await fetch(`/api/documents/${id}`)).json()"


def _text(tab: Tab) -> Locator:
    return tab.page.get_by_role("textbox", name="Text", exact=True)


def _said(tab: Tab) -> Locator:
    return tab.page.locator(".doc-said")


def _button(tab: Tab, name: str) -> Locator:
    return tab.page.locator("#document").get_by_role("button", name=name, exact=True)


async def _made(tab: Tab, **fields: Any) -> str:
    return str((await tab.js(POST, {"title": "Notes", "content": TEXT, **fields}))["id"])


async def _open(tab: Tab, title: str = "Notes") -> None:
    await tab.page.get_by_role("button", name="Documents", exact=True).click()
    await tab.page.locator(".doc-open", has_text=title).first.click()
    await expect(_said(tab)).to_contain_text("Saved")


async def _add(tab: Tab, at: str, text: str) -> None:
    """Type behind the words `at`, as a person does."""
    await _text(tab).evaluate(
        """(area, at) => {
            const place = area.value.indexOf(at) + at.length;
            area.focus();
            area.setSelectionRange(place, place);
        }""",
        at,
    )
    await tab.page.keyboard.insert_text(text)


async def test_what_is_written_is_saved_by_itself_as_versions(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.get_by_role("button", name="Documents", exact=True).click()
    await _button(tab, "New document").click()
    await expect(_said(tab)).to_have_text("Saved · version 1")
    await _text(tab).fill("# Tea\n\n## How\n\nTwo minutes.")
    await expect(_said(tab)).to_have_text("Not saved yet")
    await expect(_said(tab)).to_have_text("Saved · version 2")
    await tab.page.get_by_label("Title").fill("On tea")
    await tab.page.get_by_label("Title").press("Enter")
    await expect(tab.page.locator("#document-chip")).to_have_text("With On tea")
    await _button(tab, "Preview").click()
    await expect(tab.page.locator(".doc-preview h1")).to_have_text("Tea")
    await expect(tab.page.locator(".doc-preview h2")).to_be_visible()
    await _button(tab, "Versions").click()
    await expect(tab.page.locator(".doc-version")).to_have_count(2)
    await _button(tab, "Restore").click()
    await expect(_said(tab)).to_have_text("Saved · version 3")
    await _button(tab, "Text").click()
    await expect(_text(tab)).to_have_value("")
    await _button(tab, "Close the document").click()
    await expect(tab.page.locator("#document")).to_be_hidden()
    await expect(tab.field).to_be_focused()


async def test_a_document_edited_by_user_and_agent_at_once_from_two_tabs_loses_no_text(seat: Seat) -> None:
    one = await seat.tab()
    document = await _made(one)
    await _open(one)
    other = await seat.tab()
    await _open(other)
    await one.page.locator("#mode").get_by_role("button", name="Agent").click()
    edit = {"doc_id": document, "edits": [{"find": "second line", "replace": "second line, by the agent"}]}
    seat.upstream.reply(calls(("edit_document", edit)))
    seat.upstream.reply(answer("Done."))
    await _add(other, "third line", ", from the other tab")
    await one.front()
    await one.send("Edit it.")
    await _add(one, "first line", ", from this tab")
    await expect(one.page.get_by_role("button", name="Open Notes")).to_be_visible()
    await one.is_done()
    whole = "first line, from this tab\n\nsecond line, by the agent\n\nthird line, from the other tab\n"
    for tab in (one, other):
        await tab.front()
        await expect(_text(tab)).to_have_value(whole)
        await expect(_said(tab)).to_contain_text("Saved")
    assert (await one.js(READ, document))["content"] == whole
    sent = seat.upstream.requests[-2].json["messages"][-1]["content"]
    assert "The user's open document" in sent


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("Keep both", "first line\n\nsecond theirs\nsecond mine\n\nthird line\n"),
        ("Keep mine", "first line\n\nsecond mine\n\nthird line\n"),
        ("Keep theirs", "first line\n\nsecond theirs\n\nthird line\n"),
    ],
)
async def test_two_changes_of_one_place_are_shown_and_the_user_chooses(seat: Seat, way: str, text: str) -> None:
    tab = await seat.tab()
    document = await _made(tab, title=f"Notes {way}")
    await _open(tab, f"Notes {way}")
    theirs = {"content": TEXT.replace("second line", "second theirs"), "version": 1}
    written = asyncio.Event()

    async def unseen(route: Route) -> None:
        if route.request.method == "GET":  # a look that is under way must not show their text before mine is written
            await written.wait()
        await route.continue_()

    await tab.page.route(f"**/api/documents/{document}", unseen)
    assert await tab.js(CHANGE, [document, theirs]) == 200
    await _text(tab).fill(TEXT.replace("second line", "second mine"))
    await expect(_said(tab)).to_have_text("Conflict")
    written.set()
    await expect(tab.page.locator(".doc-sides")).to_contain_text("second mine")
    await expect(tab.page.locator(".doc-sides")).to_contain_text("second theirs")
    await _button(tab, way).click()
    await expect(_said(tab)).to_contain_text("Saved")
    await expect(_text(tab)).to_have_value(text)
    assert (await tab.js(READ, document))["content"] == text


async def test_what_is_not_saved_survives_a_reload(seat: Seat) -> None:
    tab = await seat.tab()
    document = await _made(tab, title="Kept")
    await _open(tab, "Kept")
    await tab.page.route("**/api/documents/*", lambda route: route.abort())
    await _text(tab).fill(TEXT + "written without the server\n")
    await expect(_said(tab)).to_have_text("Not saved")
    await tab.page.unroute("**/api/documents/*")
    await tab.page.route(
        "**/api/documents/*", lambda route: route.abort() if route.request.method == "PATCH" else route.continue_()
    )
    await tab.page.reload()
    await expect(_text(tab)).to_have_value(TEXT + "written without the server\n")
    await tab.page.unroute("**/api/documents/*")
    await expect(_said(tab)).to_have_text("Saved · version 2")
    assert (await tab.js(READ, document))["content"].endswith("written without the server\n")


async def test_suggestions_are_taken_or_left_one_by_one(seat: Seat) -> None:
    tab = await seat.tab()
    document = await _made(tab, title="Suggested")
    await _open(tab, "Suggested")
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    changes = [
        {"find": "first line", "replace": "line one", "reason": "It is shorter."},
        {"find": "third line", "replace": "line three"},
    ]
    seat.upstream.reply(calls(("suggest_document", {"doc_id": document, "suggestions": changes})))
    seat.upstream.reply(answer("See."))
    await tab.ask("Make it better.")
    await _button(tab, "Suggestions (2)").click()
    card = tab.page.locator(".doc-card").first
    await expect(card).to_contain_text("It is shorter.")
    await expect(card.locator(".diff")).to_contain_text("+line one")
    await card.get_by_role("button", name="Accept").click()
    await expect(tab.page.locator(".doc-card")).to_have_count(1)
    await tab.page.locator(".doc-card").get_by_role("button", name="Reject").click()
    await expect(tab.page.locator(".doc-body")).to_have_text("Nothing is suggested.")
    await _button(tab, "Text").click()
    await expect(_text(tab)).to_have_value(TEXT.replace("first line", "line one"))


async def test_a_document_of_the_agent_opens_beside_the_chat_and_goes_with_messages_until_it_is_taken_off(
    seat: Seat,
) -> None:
    tab = await seat.tab()
    await tab.page.locator("#mode").get_by_role("button", name="Agent").click()
    seat.upstream.reply(calls(("create_document", {"title": "Letter", "content": "Dear Ann,"})))
    seat.upstream.reply(answer("Written."))
    await tab.ask("Write a letter.")
    await expect(_text(tab)).to_have_value("Dear Ann,")
    await tab.ask("What does it say?")
    assert "Dear Ann," in seat.upstream.requests[-1].json["messages"][-1]["content"]
    await tab.page.get_by_role("button", name="Send without the document").click()
    await expect(tab.page.locator("#document-chip")).to_be_hidden()
    await tab.ask("And without it?")
    assert seat.upstream.requests[-1].json["messages"][-1]["content"] == "And without it?"
    await _button(tab, "Close the document").click()
    await tab.page.get_by_role("button", name="Open Letter").click()
    await expect(_text(tab)).to_have_value("Dear Ann,")


async def test_the_panel_is_a_sheet_on_a_phone(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.set_viewport_size({"width": 390, "height": 780})
    await _made(tab, title="On the phone")
    await _open(tab, "On the phone")
    box = await tab.page.locator("#document").bounding_box()
    assert box is not None
    assert (box["x"], box["width"]) == (0, 390)
    assert await tab.js("document.documentElement.scrollWidth") <= 390
    assert await tab.js(SMALL.replace("document.query", "document.getElementById('document').query")) == []
