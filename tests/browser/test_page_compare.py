"""Models side by side on the page: choosing them, the panes, closing one, the blind vote, and going on in a chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect
from upstream import DONE, Hang, Pause, Upstream, finish, text_chunk, usage

from browser.bench import Program, Seat, Tab, seated

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

MODELS = ("ant-1b", "fox-4b", "owl-7b", "zebra-9b")


@pytest_asyncio.fixture(loop_scope="session")
async def tab(seat: Seat) -> Tab:
    """The page at the choice of models."""
    return await chosen(seat)


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser, program: Program, upstream: Upstream) -> AsyncIterator[Tab]:
    """The same on a small screen."""
    async with seated(browser, program.url, upstream, viewport={"width": 390, "height": 780}, has_touch=True) as seat:
        yield await chosen(seat)


async def chosen(seat: Seat) -> Tab:
    """Four models to choose from, the first two of them chosen."""
    seat.upstream.models = MODELS
    tab = await seat.tab()
    await tab.js("async () => (await fetch('/api/models?refresh=1')).status")
    await tab.js("location.hash = '#compare'")
    await expect(tab.page.get_by_role("combobox", name="Model 2")).to_be_visible()
    return tab


async def ask(tab: Tab, text: str = "Why is the sea salt?") -> None:
    await question(tab).fill(text)
    await question(tab).press("Enter")


async def drop(tab: Tab, name: str, text: str) -> None:
    """Drop a file onto the page."""
    await tab.js(
        """([name, text]) => {
            const dataTransfer = new DataTransfer();
            dataTransfer.items.add(new File([text], name, { type: "text/plain" }));
            for (const kind of ["dragover", "drop"])
                document.querySelector(".compare").dispatchEvent(
                    new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
        }""",
        [name, text],
    )


def question(tab: Tab) -> Locator:
    return tab.page.get_by_label("Question to all models")


def cells(tab: Tab) -> Locator:
    return tab.page.locator(".compare-cell")


def heads(tab: Tab) -> Locator:
    return tab.page.locator(".compare-name > span[dir]")


async def is_done(tab: Tab) -> None:
    await expect(tab.page.get_by_text("Which answer is the best?")).to_be_visible()


async def models_asked(upstream: Upstream, start: int, count: int) -> list[str]:
    return sorted([(await upstream.arrived(start + index)).json["model"] for index in range(count)])


async def test_two_models_answer_side_by_side_and_again(tab: Tab) -> None:
    start = len(tab.seat.upstream.requests)
    await expect(tab.page.locator("#composer")).to_be_hidden()
    await ask(tab)
    await is_done(tab)
    assert await models_asked(tab.seat.upstream, start, 2) == ["ant-1b", "fox-4b"]
    await expect(heads(tab)).to_have_text(["ant-1b", "fox-4b"])
    await expect(cells(tab).locator(".blocks")).to_have_text(["Hello from the upstream."] * 2)
    await expect(tab.page.locator(".compare-status").first).to_contain_text("First words after")
    boxes = [await cells(tab).nth(number).bounding_box() for number in range(2)]
    assert boxes[0]
    assert boxes[1]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    await ask(tab, "And the lakes?")
    await expect(cells(tab)).to_have_count(4)
    await is_done(tab)
    address = await tab.js("location.hash")
    assert address.startswith("#compare/")
    await tab.page.reload()
    await expect(cells(tab).locator(".blocks")).to_have_text(["Hello from the upstream."] * 4)
    await expect(tab.page.locator(".compare-turn .bubble")).to_have_text(["Why is the sea salt?", "And the lakes?"])
    await expect(tab.page.locator("#title")).to_have_text("Why is the sea salt?")
    assert await tab.js("async () => (await (await fetch('/api/sessions')).json()).length") == 0


async def test_closing_a_pane_cuts_the_connection_of_its_model_only(tab: Tab) -> None:
    upstream, start, more = tab.seat.upstream, len(tab.seat.upstream.requests), asyncio.Event()
    for _ in range(2):
        upstream.reply(text_chunk("Half"), Pause(more), text_chunk(" and whole."), finish(), usage(), DONE)
    await ask(tab)
    await expect(cells(tab).locator(".blocks")).to_have_text(["Half", "Half"])
    both = [await upstream.arrived(start + number) for number in range(2)]
    closed = next(start + number for number in range(2) if both[number].json["model"] == "fox-4b")
    await tab.page.get_by_role("button", name="Close fox-4b").click()
    await upstream.disconnected(closed)
    await expect(cells(tab)).to_have_count(1)
    more.set()
    await expect(cells(tab).locator(".blocks")).to_have_text("Half and whole.")
    assert [request.disconnected_at is None for request in both if request.json["model"] == "ant-1b"] == [True]
    await ask(tab, "And then?")
    await upstream.arrived(start + 2)
    await is_done(tab)
    assert [request.json["model"] for request in upstream.requests[start + 2 :]] == ["ant-1b"]
    await tab.page.reload()
    await expect(heads(tab)).to_have_text(["ant-1b"])
    await expect(cells(tab)).to_have_count(2)
    await tab.page.get_by_role("button", name="Bring back fox-4b").click()
    await expect(cells(tab)).to_have_count(4)
    await expect(cells(tab).nth(1)).to_contain_text("the connection was closed")
    await expect(tab.page.get_by_role("button", name="Bring back fox-4b")).to_be_hidden()
    await expect(tab.page.get_by_role("region", name="Comparison")).to_be_focused()


async def test_files_go_to_all_panes_and_not_to_the_chat_behind_them(tab: Tab) -> None:
    upstream, start = tab.seat.upstream, len(tab.seat.upstream.requests)
    chooser = tab.page.get_by_label("Files for all models").and_(tab.page.locator("input"))
    await chooser.set_input_files({"name": "note.txt", "mimeType": "text/plain", "buffer": b"the code is 4711"})
    await drop(tab, "day.txt", "the day is Monday")
    waiting = tab.page.locator(".compare-form .file")
    await expect(waiting).to_have_count(2)
    await expect(waiting.first).to_have_attribute("data-state", "ready")
    await expect(waiting.last).to_have_attribute("data-state", "ready")
    await ask(tab)
    for number in range(2):
        given = str((await upstream.arrived(start + number)).json["messages"])
        assert "4711" in given
        assert "Monday" in given
    await is_done(tab)
    await expect(waiting).to_have_count(0)
    await expect(tab.page.locator(".compare-turn .sent .file strong")).to_have_text(["note.txt", "day.txt"])
    await expect(tab.page.locator("#files .file")).to_have_count(0)


async def test_stopping_one_leaves_the_other_and_what_it_had_said(tab: Tab) -> None:
    upstream, start, more = tab.seat.upstream, len(tab.seat.upstream.requests), asyncio.Event()
    for _ in range(2):
        upstream.reply(text_chunk("Half"), Pause(more), finish(), usage(), DONE)
    await ask(tab)
    await expect(cells(tab).locator(".blocks")).to_have_text(["Half", "Half"])
    await tab.page.get_by_role("button", name="Stop ant-1b").click()
    await expect(cells(tab).first.locator(".outcome")).to_have_text("Stopped")
    await expect(cells(tab).first.locator(".blocks")).to_have_text("Half")
    both = upstream.requests[start:]
    await upstream.disconnected(next(start + n for n in range(2) if both[n].json["model"] == "ant-1b"))
    await expect(tab.page.get_by_text("Which answer is the best?")).to_be_hidden()
    more.set()
    await is_done(tab)


async def test_one_model_that_fails_leaves_the_other(tab: Tab) -> None:
    tab.seat.upstream.reply(b'{"error": {"message": "It is overloaded."}}', status=400)
    await ask(tab)
    await is_done(tab)
    failed = cells(tab).filter(has_text="overloaded")
    await expect(failed).to_have_count(1)
    await expect(cells(tab).filter(has_text="Hello from the upstream.")).to_have_count(1)


async def test_a_blind_vote_reveals_the_models_and_one_goes_on_in_a_chat(tab: Tab) -> None:
    await tab.page.get_by_role("button", name="Add a model").click()
    await tab.page.get_by_role("combobox", name="Model 2").select_option(label="zebra-9b")
    await tab.page.get_by_label("Blind").check()
    start = len(tab.seat.upstream.requests)
    await ask(tab)
    await is_done(tab)
    asked = await models_asked(tab.seat.upstream, start, 3)
    assert "zebra-9b" in asked
    await expect(heads(tab)).to_have_text(["Model A", "Model B", "Model C"])
    page = await tab.page.locator(".compare").inner_text()
    assert not [name for name in MODELS if name in page]
    await expect(tab.page.get_by_role("button", name="Continue in chat")).to_have_count(0)
    await tab.page.get_by_role("group", name="Your vote").get_by_role("button", name="Model B").click()
    await expect(tab.page.locator(".compare-vote")).to_contain_text("You chose model B, which is ")
    assert sorted(await heads(tab).all_inner_texts()) == asked
    best = await heads(tab).nth(1).inner_text()
    await tab.page.get_by_role("button", name=f"Continue in chat with {best}").click()
    await expect(tab.page.locator("#picker-name")).to_have_text(best)
    await expect(tab.page.locator("#log article.answer")).to_have_count(1)
    await expect(tab.page.locator(".compare")).to_be_hidden()
    await tab.ask("Go on.")
    assert tab.seat.upstream.requests[-1].json["model"] == best


async def test_earlier_comparisons_are_listed_counted_and_deleted(tab: Tab) -> None:
    await ask(tab, "A question to find again")
    await is_done(tab)
    await tab.page.get_by_role("group", name="Your vote").get_by_role("button", name="As good").click()
    await expect(tab.page.locator(".compare-vote")).to_contain_text("as good as each other")
    await tab.page.get_by_role("link", name="Compare", exact=True).click()
    entry = tab.page.locator(".compare-list li").filter(has_text="A question to find again")
    await expect(entry).to_contain_text("ant-1b, fox-4b · As good · Today")
    await expect(tab.page.locator(".compare-table tbody")).to_contain_text("ant-1b")
    await entry.get_by_role("link").click()
    await expect(cells(tab)).to_have_count(2)
    await tab.page.go_back()
    await entry.get_by_role("button", name="Delete").click()
    await tab.page.locator(".compare-list").get_by_role("button", name="Delete", exact=True).click()
    await expect(entry).to_have_count(0)


async def test_on_a_phone_the_panes_are_tabs(phone: Tab) -> None:
    await ask(phone)
    await is_done(phone)
    await expect(cells(phone).first).to_be_visible()
    await expect(cells(phone).nth(1)).to_be_hidden()
    await phone.page.get_by_role("button", name="fox-4b", pressed=False).first.tap()
    await expect(cells(phone).nth(1)).to_be_visible()
    await expect(cells(phone).first).to_be_hidden()
    assert await phone.js("document.documentElement.scrollWidth") == 390
    for control in await phone.page.locator(".compare button:visible, .compare textarea").all():
        box = await control.bounding_box()
        assert box
        assert box["height"] >= 40, await control.inner_text()


async def test_a_connection_that_breaks_is_told_in_its_pane(tab: Tab) -> None:
    tab.seat.upstream.reply(text_chunk("Half"), Hang()).reply(text_chunk("Half"), Hang())
    await ask(tab)
    await expect(cells(tab).locator(".blocks")).to_have_text(["Half", "Half"])
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.page.locator(".compare")).to_be_hidden()
    await tab.page.go_back()
    await expect(cells(tab).locator(".blocks")).to_have_text(["Half", "Half"])
    await tab.page.get_by_role("link", name="Compare", exact=True).click()
    await expect(tab.page.get_by_role("combobox", name="Model 2")).to_be_visible()
    await tab.until("fetch('/api/health').then((answer) => answer.json()).then(({ runs }) => runs === 0)")
