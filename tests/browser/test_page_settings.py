"""The settings: opened by their address, each section on the real server, by keyboard, in both sizes and schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Locator, expect
from upstream import Upstream, calls, text_chunk

from browser.bench import Program, Seat, Tab, seated
from browser.test_page_looks import CONTRAST, SMALL

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

SECTIONS = ("endpoints", "tools", "agents", "memories", "library", "appearance", "notifications", "about")
FITS = """[...document.querySelectorAll("#settings, .settings-body > section")]
    .every((node) => node.scrollWidth <= node.clientWidth + 2)"""


def dialog(tab: Tab) -> Locator:
    return tab.page.get_by_role("dialog", name="Settings")


async def section(tab: Tab, name: str) -> Locator:
    """A section of the settings, opened by its link."""
    await dialog(tab).get_by_role("link", name=name, exact=True).click()
    found = dialog(tab).get_by_role("region", name=name, exact=True)
    await expect(found).to_be_visible()
    return found


async def kept(seat: Seat, path: str) -> Any:
    return await (await seat.context.request.get(f"{seat.url}api/{path}")).json()


async def test_the_settings_are_opened_read_and_left_by_keyboard(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("Hello.")
    session = await tab.session()
    await tab.page.get_by_role("link", name="Settings").focus()
    await tab.page.keyboard.press("Enter")
    await expect(dialog(tab).get_by_role("heading", name="Endpoints")).to_be_visible()
    await dialog(tab).get_by_role("link", name="Tools").focus()
    await tab.page.keyboard.press("Enter")
    await expect(dialog(tab).get_by_role("heading", name="Tools")).to_be_focused()
    assert await tab.js("location.hash") == "#settings/tools"
    await tab.page.keyboard.press("Escape")
    await expect(dialog(tab)).to_be_hidden()
    assert await tab.session() == session
    await expect(tab.page.get_by_role("link", name="Settings")).to_be_focused()
    await expect(tab.questions).to_have_text("Hello.")


async def test_an_address_opens_its_section_and_going_back_leaves_it(seat: Seat) -> None:
    tab = await seat.tab("#settings/about")
    await expect(dialog(tab).get_by_role("definition").first).to_have_text(r"0.1.0")
    await tab.js("location.hash = '#settings/agents'")
    await expect(dialog(tab)).to_contain_text("/agent/support/chat/stream")
    await expect(dialog(tab)).to_contain_text(f"curl {seat.url.rstrip('/')}/agent/support/chat")
    await tab.page.go_back()
    await expect(dialog(tab).get_by_role("heading", name="About")).to_be_visible()
    await tab.js("location.hash = ''")
    await expect(dialog(tab)).to_be_hidden()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
async def test_every_section_fits_and_can_be_read(
    browser: Browser, program: Program, upstream: Upstream, width: int, scheme: Literal["light", "dark"]
) -> None:
    phone = width < 500
    options: dict[str, Any] = {"viewport": {"width": width, "height": 800}, "color_scheme": scheme, "has_touch": phone}
    async with seated(browser, program.url, upstream, is_mobile=phone, **options) as seat:
        tab = await seat.tab("#settings")
        for name in SECTIONS:
            await tab.js(f"location.hash = '#settings/{name}'")
            await expect(dialog(tab).get_by_role("heading", name=name.title(), exact=True)).to_be_visible()
            await tab.until("document.querySelector('.section-body').childElementCount > 0")
            assert await tab.js(FITS), name
            assert await tab.js(CONTRAST) == [], name
            if phone:
                within = SMALL.replace('"button, nav a, input"', '"#settings :is(button, nav a, select, .field)"')
                assert await tab.js(within) == [], name


async def test_a_tool_that_is_denied_here_is_not_offered(seat: Seat) -> None:
    tab = await seat.tab("#settings/tools")
    choice = dialog(tab).get_by_label("What calculate may do")
    await choice.select_option("deny")
    await expect(
        dialog(tab).get_by_role("listitem").filter(has=tab.page.get_by_label("What calculate may do"))
    ).to_contain_text("Kept.")
    found = {tool["name"]: tool["policy"] for tool in (await kept(seat, "tools"))["tools"]}
    assert found["calculate"] == "deny"
    await choice.select_option("allow")
    await expect(choice).to_be_enabled()
    await tab.page.reload()
    await expect(choice).to_have_value("allow")


async def test_memories_are_added_pinned_changed_and_forgotten(seat: Seat) -> None:
    tab = await seat.tab("#settings/memories")
    text = dialog(tab).get_by_label("Remember this")
    await dialog(tab).get_by_role("button", name="Remember", exact=True).click()
    await expect(text).to_have_attribute("aria-invalid", "true")
    await expect(text).to_have_accessible_description("Field 'text': it may not be empty.")
    await text.fill("Likes <b>tea</b>.")
    await dialog(tab).get_by_role("button", name="Remember", exact=True).click()
    row = dialog(tab).get_by_role("listitem").filter(has_text="Likes <b>tea</b>.")
    await row.get_by_role("button", name="Pin").click()
    await expect(row).to_contain_text("pinned")
    await row.get_by_role("button", name="Edit").click()
    await dialog(tab).get_by_label("Memory", exact=True).fill("Likes coffee.")
    await dialog(tab).get_by_role("button", name="Save").click()
    row = dialog(tab).get_by_role("listitem").filter(has_text="Likes coffee.")
    await expect(row).to_be_visible()
    await dialog(tab).get_by_label("Search memories").fill("nothing has this")
    await expect(dialog(tab)).to_contain_text("No memory has these words.")
    await dialog(tab).get_by_label("Search memories").fill("")
    await row.get_by_role("button", name="Delete").click()
    await tab.page.keyboard.press("Escape")
    await expect(row.get_by_role("button", name="Delete")).to_be_focused()
    await row.get_by_role("button", name="Delete").click()
    await row.get_by_role("button", name="Delete for good").click()
    await expect(dialog(tab)).to_contain_text("Nothing is remembered yet.")
    assert await kept(seat, "memories") == []


async def test_a_proposed_memory_is_kept_or_discarded(seat: Seat) -> None:
    for text in ("Has two cats.", "Has a dog."):
        made = await (await seat.context.request.post(f"{seat.url}api/memories", data={"text": text})).json()
        await seat.context.request.patch(f"{seat.url}api/memories/{made['id']}", data={"state": "proposed"})
    tab = await seat.tab("#settings/memories")
    await expect(dialog(tab).get_by_role("heading", name="Proposed")).to_be_visible()
    rows = dialog(tab).get_by_role("listitem")
    await rows.filter(has_text="cats").get_by_role("button", name="Keep it").click()
    await rows.filter(has_text="dog").get_by_role("button", name="Discard").click()
    await expect(dialog(tab).get_by_role("heading", name="Proposed")).to_have_count(0)
    assert [(one["text"], one["state"]) for one in await kept(seat, "memories")] == [("Has two cats.", "kept")]


async def test_a_folder_and_a_file_are_read_found_and_taken_out(seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "harbour.md").write_text("# Harbour\n\nThe harbour is closed on Mondays.\n")
    tab = await seat.tab("#settings/library")
    path = dialog(tab).get_by_label("Add a file or folder of this machine")
    await path.fill(str(tmp_path / "nowhere"))
    await path.press("Enter")
    await expect(path).to_have_attribute("aria-invalid", "true")
    await path.fill(str(tmp_path))
    await path.press("Enter")
    row = dialog(tab).get_by_role("listitem").filter(has_text=str(tmp_path))
    await expect(row).to_contain_text("Ready", timeout=60_000)
    await expect(row).to_contain_text("1 file · 1 passage")
    chosen: Any = {"name": "ferry.txt", "mimeType": "text/plain", "buffer": b"The ferry leaves at nine."}
    await dialog(tab).get_by_label("Files for the library").set_input_files(chosen)
    await expect(dialog(tab).get_by_role("listitem").filter(has_text="ferry.txt")).to_contain_text(
        "Ready", timeout=60_000
    )
    await dialog(tab).get_by_label("Try a search").fill("When is the harbour closed?")
    await dialog(tab).get_by_label("Try a search").press("Enter")
    await expect(dialog(tab).locator(".source-list")).to_contain_text("closed on Mondays", timeout=60_000)
    await row.get_by_role("button", name="Remove").click()
    await row.get_by_role("button", name="Take it out").click()
    await expect(row).to_have_count(0)
    assert [one["name"] for one in (await kept(seat, "library"))["items"]] == ["ferry.txt"]


async def test_an_endpoint_is_tested_and_changed(seat: Seat) -> None:
    tab = await seat.tab("#settings/endpoints")
    form = dialog(tab).locator("#endpoint-form")
    await form.get_by_label("Address").fill(seat.upstream.origin)
    await form.get_by_role("button", name="Test").click()
    await expect(form).to_contain_text("Nothing is kept yet.")
    await form.get_by_role("button", name="Add endpoint").click()
    await expect(form).to_contain_text("was added")
    row = dialog(tab).get_by_role("listitem").filter(has=tab.page.get_by_role("button", name="Edit"))
    await row.get_by_role("button", name="Edit").click()
    edit = dialog(tab).locator("form.edit")
    await edit.get_by_label("Name").fill("Mine")
    await edit.get_by_role("button", name="Save").click()
    await expect(row).to_contain_text("Mine")
    await row.get_by_role("button", name="Test").click()
    await expect(row).to_contain_text("It answers")
    await row.get_by_role("button", name="Remove").click()
    await row.get_by_role("button", name="Remove for good").click()
    await expect(row).to_have_count(0)


async def test_the_look_is_chosen_and_kept(seat: Seat) -> None:
    tab = await seat.tab("#settings/appearance")
    await dialog(tab).get_by_label("Dark").check()
    await dialog(tab).get_by_label("Larger").check()
    await tab.page.reload()
    root = tab.page.locator("html")
    await expect(root).to_have_attribute("data-theme", "dark")
    await expect(root).to_have_css("font-size", "20px")
    await expect(dialog(tab).get_by_label("Larger")).to_be_checked()
    await dialog(tab).get_by_label("As the system").check()
    assert await tab.js("document.documentElement.dataset.theme") is None


async def test_notifications_are_chosen_here_and_known_to_the_palette(seat: Seat) -> None:
    tab = await seat.tab("#settings/notifications")
    wish = dialog(tab).get_by_role("switch", name="Notify me when a hidden answer is finished")
    await wish.click()
    await expect(dialog(tab).locator(".said")).to_contain_text("The browser does not allow notifications here.")
    await expect(wish).not_to_be_checked()
    await seat.context.grant_permissions(["notifications"])
    await wish.click()
    await expect(wish).to_be_checked()
    await tab.page.reload()
    await expect(wish).to_be_checked()
    await tab.page.keyboard.press("Escape")
    await tab.page.keyboard.press("Control+k")
    await tab.page.locator("#palette input").fill("no more notif")
    await tab.page.keyboard.press("Enter")
    await expect(tab.status).to_have_text("Notifications are off.")
    await tab.js("location.hash = '#settings/notifications'")
    await expect(wish).to_be_visible()
    await expect(wish).not_to_be_checked()


async def test_the_agent_opens_a_section(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.page.get_by_role("button", name="Agent", exact=True).click()
    seat.upstream.reply(calls(("ui_control", {"action": "open_panel", "panel": "Library"})))
    seat.upstream.reply(text_chunk("Opened."))
    await tab.send("Show me my library.")
    await expect(dialog(tab).get_by_role("heading", name="Library")).to_be_visible()
