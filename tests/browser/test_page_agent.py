"""What an agent does is shown where it happens, as text, and the same after a reload; what asks runs when approved."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, Locator, Request, expect
from upstream import Hang, Pause, Upstream, answer, call_chunk, calls, text_chunk

from browser.bench import Program, Seat, Tab, play, seated
from browser.test_page_looks import SMALL, fits

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LIMITS = "[agent]\nmax_rounds = 3\n"
MARKUP = "<img src=x onerror=\"document.title='broken'\">"
PLAN = "- [x] Look at the files\n- [ ] Change **one**\n  - [ ] and test it\n"
ORDER = "(node) => [...node.children].map((child) => child.className.split(' ')[0])"
ARABIC = "\u0645\u0631\u062d\u0628\u0627"


@pytest.fixture(scope="module")
def extra() -> str:
    """`server.py` whose agent runs have few rounds."""
    return LIMITS


async def _agent(seat: Seat, workspace: Path | None = None) -> Tab:
    """A tab in agent mode, working in a folder if one is given."""
    tab = await seat.tab()
    await _mode(tab, "Agent").click()
    if workspace:
        await tab.page.locator("#workspace-button").click()
        await tab.page.locator("#workspace-path").fill(str(workspace))
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.locator("#workspace-name")).to_have_text(workspace.name)
    return tab


def _mode(tab: Tab, name: str) -> Locator:
    return tab.page.locator("#mode").get_by_role("button", name=name)


def _rows(tab: Tab) -> Locator:
    return tab.page.locator(".act")


def _card(tab: Tab) -> Locator:
    return tab.page.locator(".approval")


def _button(tab: Tab, name: str) -> Locator:
    return tab.page.locator("#log").get_by_role("button", name=name, exact=True)


async def _said(tab: Tab) -> str:
    """Everything that the transcript's answers show, without what only stands there for a while."""
    text = await tab.answers.last.locator(".blocks").inner_text()
    return " ".join(text.split())


async def _play(tab: Tab, *frames: dict[str, Any]) -> None:
    await play(tab, "agent", *frames)


async def test_the_mode_belongs_to_the_chat_and_is_kept(seat: Seat) -> None:
    tab = await seat.tab()
    await expect(tab.page.locator("#agent")).to_be_hidden()
    await tab.ask("Hello.")
    assert not seat.upstream.requests[-1].json.get("tools")
    await _mode(tab, "Agent").click()
    await expect(tab.page.locator("#agent")).to_be_visible()
    await tab.ask("And now?")
    assert seat.upstream.requests[-1].json["tools"]
    await tab.page.reload()
    await expect(_mode(tab, "Agent")).to_have_attribute("aria-pressed", "true")
    await _mode(tab, "Chat").click()
    await tab.page.reload()
    await expect(_mode(tab, "Chat")).to_have_attribute("aria-pressed", "true")


async def test_a_folder_that_cannot_be_used_is_refused_in_words(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    await tab.page.locator("#workspace-button").click()
    await expect(tab.page.locator("#workspace-path")).to_have_value(str(tmp_path))
    await tab.page.locator("#workspace-path").fill(str(tmp_path / "nowhere"))
    await tab.page.get_by_role("button", name="Use it").click()
    await expect(tab.page.locator("#workspace-result")).not_to_be_empty()
    await tab.page.keyboard.press("Escape")
    await expect(tab.page.locator("#workspace-name")).to_have_text(tmp_path.name)
    await tab.page.reload()
    await expect(tab.page.locator("#workspace-name")).to_have_text(tmp_path.name)
    await tab.page.locator("#workspace-button").click()
    await tab.page.get_by_role("button", name="Use the chat's own").click()
    await expect(tab.page.locator("#workspace-name")).to_have_text("Own folder")


async def test_rows_stand_where_they_happened_live_and_after_a_reload(seat: Seat, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text(f"first line\n{MARKUP}\n{ARABIC}\n")
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("read_file", {"path": "notes.txt"}), ("ls", {"path": "."}), text="I look at it."))
    seat.upstream.reply(calls(("read_file", {"path": "gone.txt"}), text="And at another.", prefix="more"))
    seat.upstream.reply(answer("That is all."))
    await tab.ask("Read my notes.")
    order = ["block", "acts", "block", "acts", "block"]
    for _ in range(2):
        await expect(_rows(tab)).to_have_count(3)
        assert await tab.text.evaluate(ORDER) == order
        await expect(_rows(tab).nth(0).locator(".act-what")).to_have_text("Read notes.txt")
        await expect(_rows(tab).nth(2).locator(".act-what")).to_have_text("Could not read gone.txt")
        await expect(_rows(tab).nth(2).locator(".act-error")).to_contain_text("gone.txt")
        assert await _rows(tab).locator("details[open]").count() == 0
        await _rows(tab).first.locator("summary").press("Enter")
        await expect(_rows(tab).first.locator(".output")).to_contain_text(MARKUP)
        await expect(_rows(tab).locator("img")).to_have_count(0)
        await _rows(tab).first.locator("summary").press("Enter")
        said = await _said(tab)
        await tab.page.reload()
    await expect(_rows(tab)).to_have_count(3)
    assert await _said(tab) == said


async def test_a_command_runs_only_when_approved_and_once(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    command = "echo once >> count.txt\necho done"
    seat.upstream.reply(calls(("bash", {"command": command})))
    seat.upstream.reply(answer("It is done."))
    await tab.ask("Count.")
    await expect(tab.status).to_have_text("Your decision is needed.")
    await expect(_card(tab)).to_be_focused()
    assert not (tmp_path / "count.txt").exists()
    await tab.page.reload()
    for words in (command, "bash", "runs a program", str(tmp_path), "left to decide"):
        await expect(_card(tab)).to_contain_text(words, use_inner_text=True)
    sent: list[Request] = []
    tab.page.on("request", lambda request: sent.append(request) if "/api/chat_stream" in request.url else None)
    await _button(tab, "Approve").dblclick()
    await expect(tab.answers).to_have_count(2)
    await expect(tab.text.last).to_contain_text("It is done.")
    await tab.is_done()
    assert len(sent) == 1
    assert (tmp_path / "count.txt").read_text() == "once\n"
    for _ in range(2):
        await expect(_card(tab)).to_contain_text("You approved this.")
        await expect(_button(tab, "Approve")).to_have_count(0)
        await expect(tab.answers.last.locator(".decision")).to_have_text("You approved")
        await expect(tab.answers.last.locator(".act-what")).to_contain_text("Ran echo once")
        await expect(tab.questions).to_have_count(1)
        await tab.page.reload()


async def test_a_denied_call_does_not_run_and_the_other_tab_learns_of_it(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("bash", {"command": "touch made"})))
    await tab.ask("Make it.")
    other = await seat.tab(f"#{await tab.session()}")
    await expect(_button(other, "Deny")).to_be_visible()
    await tab.front()
    seat.upstream.reply(answer("Then I leave it."))
    await _button(tab, "Deny").click()
    await expect(tab.text.last).to_contain_text("Then I leave it.")
    await other.front()
    for one in (tab, other):
        await expect(_card(one)).to_contain_text("You denied this.")
        await expect(_button(one, "Deny")).to_have_count(0)
        await expect(one.answers).to_have_count(2)
        await expect(one.answers.last.locator(".act-what")).to_contain_text("Ran touch made")
    assert not (tmp_path / "made").exists()


async def test_a_card_that_was_retired_elsewhere_says_so(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("bash", {"command": "true"})))
    await tab.ask("Do it.")
    await expect(_button(tab, "Approve")).to_be_visible()
    body = {"session": await tab.session(), "message": "Never mind."}
    assert (await seat.context.request.post(f"{seat.url}api/chat_stream", data=body)).ok
    await _button(tab, "Approve").click()
    await expect(_button(tab, "Approve")).to_have_count(0)
    await expect(_card(tab).locator(".card-end")).not_to_be_empty()
    await expect(tab.questions).to_have_count(2)


async def test_a_card_whose_time_is_over_says_so(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("bash", {"command": "true"})))
    await tab.ask("Do it.")
    await expect(_button(tab, "Approve")).to_be_visible()
    await tab.page.clock.install()
    await tab.page.reload()
    await expect(_card(tab)).to_contain_text("left to decide")
    await tab.page.clock.fast_forward("11:00")
    await expect(_card(tab)).to_contain_text("The time to decide is over.")
    await expect(_button(tab, "Approve")).to_have_count(0)


async def test_a_message_takes_the_place_of_a_decision(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("bash", {"command": "true"})))
    await tab.ask("Do it.")
    await expect(_card(tab)).to_be_focused()
    await tab.page.keyboard.type("No, wait.")
    await expect(tab.field).to_have_value("No, wait.")
    await tab.page.keyboard.press("Enter")
    await expect(tab.answers).to_have_count(2)
    await expect(_button(tab, "Approve")).to_have_count(0)


async def test_a_running_command_shows_its_last_lines_and_is_stopped(seat: Seat, tmp_path: Path) -> None:
    tab = await _agent(seat, tmp_path)
    command = (
        "printf 'one\\n\\033[31mtwo\\033[0m\\n<img src=x onerror=alert(1)>\\n'; while [ ! -e go ]; do sleep 0.05; done"
    )
    seat.upstream.reply(calls(("bash", {"command": command})))
    await tab.send("Wait for me.")
    await _button(tab, "Approve").click()
    row = tab.answers.last.locator(".act")
    await expect(row.locator(".tail")).to_have_text("one\ntwo\n<img src=x onerror=alert(1)>", use_inner_text=True)
    await expect(row.locator(".act-note")).to_contain_text(" s")
    await expect(tab.status).to_contain_text("Running printf")
    await tab.page.reload()
    await expect(row.locator(".tail")).to_contain_text("two")
    await tab.stop.click()
    await expect(row).to_have_attribute("data-state", "stopped")
    await expect(row.locator(".tail")).to_be_hidden()
    await tab.page.reload()
    await expect(row).to_have_attribute("data-state", "stopped")


async def test_an_edit_shows_its_lines_before_and_after_and_is_undone(seat: Seat, tmp_path: Path) -> None:
    file = tmp_path / "page.py"
    file.write_text("one\ntwo\n")
    tab = await _agent(seat, tmp_path)
    seat.upstream.reply(calls(("edit_file", {"path": "page.py", "old": "two", "new": "three"})))
    seat.upstream.reply(answer("Changed."))
    await tab.ask("Change it.")
    await expect(_card(tab).locator(".line.del")).to_have_text("-two\n")
    await expect(_card(tab).locator(".line.add")).to_have_text("+three\n")
    await _button(tab, "Approve").click()
    await expect(tab.text.last).to_contain_text("Changed.")
    row = tab.answers.last.locator(".act")
    await expect(row.locator(".act-note")).to_contain_text("+1 −1")
    await row.locator("summary").click()
    await expect(row.locator(".line.add")).to_have_text("+three\n")
    assert file.read_text() == "one\nthree\n"
    await tab.page.reload()
    await _button(tab, "Undo changes").click()
    await expect(_button(tab, "Keep")).to_be_focused()
    await _button(tab, "Undo").click()
    await expect(tab.page.locator(".undone:visible")).to_have_text("Undone: page.py.")
    assert file.read_text() == "one\ntwo\n"
    await expect(_button(tab, "Undo changes")).to_have_count(0)
    await tab.page.reload()
    await expect(_rows(tab)).to_have_count(2)  # what waited, and what was done
    await expect(_button(tab, "Undo changes")).to_have_count(0)


async def test_a_plan_can_be_edited_before_it_is_carried_out(seat: Seat) -> None:
    tab = await _agent(seat)
    await tab.page.get_by_role("button", name="Plan first").click()
    seat.upstream.reply(calls(("update_plan", {"plan": PLAN}))).reply(answer("This is the plan."))
    await tab.ask("Plan it.")
    draft = tab.page.get_by_role("textbox", name="The plan")
    await _button(tab, "Edit the plan").click()
    await expect(draft).to_be_focused()
    await draft.fill("thrown away")
    await draft.press("Escape")
    await expect(draft).to_be_hidden()
    await _button(tab, "Edit the plan").click()
    await expect(draft).to_have_value(PLAN.strip())
    await draft.fill("- [ ] Sell the boat")
    await tab.page.reload()
    await expect(draft).to_have_value("- [ ] Sell the boat")
    await tab.page.route("**/api/chat_stream*", lambda route: route.abort("connectionreset"))
    await _button(tab, "Carry out this plan").click()
    await expect(tab.page.locator("#alert")).to_contain_text("cannot be reached")
    await expect(draft).to_have_value("- [ ] Sell the boat")
    await tab.page.unroute("**/api/chat_stream*")
    await _button(tab, "Carry out this plan").click()
    await expect(tab.answers).to_have_count(2)
    await tab.is_done()
    system = seat.upstream.requests[-1].json["messages"][0]["content"]
    assert "Sell the boat" in system
    assert "Change **one**" not in system


async def test_a_plan_changes_in_place_and_is_carried_out(seat: Seat) -> None:
    tab = await _agent(seat)
    await tab.page.get_by_role("button", name="Plan first").click()
    seat.upstream.reply(calls(("update_plan", {"plan": PLAN.replace("x", " ")})))
    seat.upstream.reply(calls(("update_plan", {"plan": PLAN}), prefix="again"))
    seat.upstream.reply(answer("This is the plan."))
    await tab.ask("Plan it.")
    plan = tab.page.locator(".plan")
    for _ in range(2):
        await expect(plan.locator("summary")).to_contain_text("1 of 3 done")
        await expect(plan.locator("li").nth(1)).to_contain_text("Change one")
        await expect(plan).to_have_count(1)
        await tab.page.reload()
        await expect(plan).to_be_visible()
    await _button(tab, "Carry out this plan").click()
    await expect(tab.answers).to_have_count(2)
    await tab.is_done()
    sent = json.dumps(seat.upstream.requests[-1].json["messages"])
    assert "Change **one**" in sent
    assert "Carry out this plan." in sent
    await expect(_button(tab, "Carry out this plan")).to_have_count(0)
    await expect(tab.page.get_by_role("button", name="Plan first")).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("multi", [False, True])
async def test_a_question_is_answered_by_its_options(seat: Seat, multi: bool) -> None:
    tab = await _agent(seat)
    options = [{"label": "Red"}, {"label": f"Blue {MARKUP}", "description": "like the sea"}]
    question = {"question": "Which colour?", "options": options, "multi": multi}
    seat.upstream.reply(calls(("ask_user", question)))
    await tab.ask("Paint it.")
    await expect(tab.status).to_have_text("A question for you.")
    await tab.page.reload()
    card = tab.page.locator(".question-card")
    await expect(card).to_contain_text("Which colour?")
    if multi:
        await expect(_button(tab, "Send")).to_be_disabled()
        for box in await card.get_by_role("checkbox").all():
            await box.check()
        await _button(tab, "Send").click()
    else:
        await _button(tab, "Red").click()
    await expect(tab.questions.last).to_have_text(f"Red, Blue {MARKUP}" if multi else "Red")
    await expect(tab.answers).to_have_count(2)
    await tab.is_done()
    await expect(card.locator("button")).to_have_count(0)
    await expect(card.locator("input")).to_have_count(0)


async def test_rounds_that_are_used_up_can_be_continued(seat: Seat) -> None:
    tab = await _agent(seat)
    for number in range(3):
        seat.upstream.reply(calls(("calculate", {"expression": f"1 + {number}"}), prefix=f"sum{number}"))
    seat.upstream.reply(answer("I go on."))
    await tab.ask("Add up.")
    await expect(tab.page.locator(".remark")).to_contain_text("Paused after 3 rounds")
    await tab.page.reload()
    await expect(tab.page.locator(".remark")).to_contain_text("Paused after 3 rounds")
    await _button(tab, "Continue").click()
    await expect(tab.questions.last).to_have_text("Continue.")
    await expect(tab.answers).to_have_count(2)
    await expect(_button(tab, "Continue")).to_have_count(0)


async def test_the_agent_can_change_the_page_once(seat: Seat) -> None:
    tab = await _agent(seat)
    wishes = [
        {"action": "set_theme", "theme_name": "dark"},
        {"action": "highlight", "selector": "#title[", "label": "no selector"},
        {"action": "highlight", "selector": "#nowhere"},
        {"action": "open_panel", "panel": "something else"},
        {"action": "open_panel", "panel": "models"},
    ]
    seat.upstream.reply(calls(*[("ui_control", wish) for wish in wishes]))
    seat.upstream.reply(text_chunk("Done."), Hang())
    await tab.send("Make it dark.")
    await expect(tab.text).to_contain_text("Done.")
    await expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
    await expect(tab.page.locator("#picker-panel")).to_be_visible()
    await tab.page.reload()
    await expect(tab.text).to_contain_text("Done.")
    await expect(tab.page.locator("html")).to_have_attribute("data-theme", "dark")
    await expect(tab.page.locator("#picker-panel")).to_be_hidden()
    await tab.stop.click()
    await tab.is_done()


async def test_calls_side_by_side_each_get_their_own_end(seat: Seat) -> None:
    tab = await _agent(seat)
    gate = asyncio.Event()
    named = [("calculate", {"expression": text}) for text in ("1 + 1", "1 /", "2 * 3")]
    seat.upstream.reply(calls(*named))
    seat.upstream.reply(Pause(gate), answer("Three sums."))
    await tab.send("Add up.")
    for row, state in enumerate(("done", "failed", "done")):
        await expect(_rows(tab).nth(row)).to_have_attribute("data-state", state)
    await expect(tab.page.locator(".waiting")).to_be_visible()
    gate.set()
    await expect(tab.text).to_contain_text("Three sums.")
    await expect(tab.page.locator(".acts")).to_have_count(1)
    await expect(tab.page.locator(".waiting")).to_be_hidden()


async def test_frames_that_nobody_expected_do_not_break_the_page(seat: Seat) -> None:
    tab = await _agent(seat)
    start = {"type": "tool_start", "round": 1}
    end = {"type": "tool_output", "round": 1}
    await _play(
        tab,
        {**start, "tool": "constructor", "command": None, "full_command": None, "call_id": "a"},
        {**end, "tool": "constructor", "output": {"a": [MARKUP]}, "exit_code": 0, "call_id": "a"},
        {
            **end,
            "tool": "never_begun",
            "command": f"{ARABIC} \u202e abc",
            "output": "x" * 500_000,
            "exit_code": "?",
            "call_id": "b",
        },
        {"type": "tool_progress", "round": 1, "tool": "lost", "elapsed": "long", "tail": 7, "call_id": 9},
        {"type": "tool_output", "round": 1, "diff": "none", "elapsed": None},
        {**start, "tool": MARKUP, "command": ["no", "text"], "call_id": "c"},
        {"type": "plan_update", "data": None},
        {"type": "plan_update", "data": {"plan": "nothing to tick"}},
        {"type": "generated_image", "url": "https://elsewhere.example/a.png", "image_prompt": 3},
        {"type": "ui_control", "data": {"ui_event": "highlight", "selector": None}},
        {"type": "ui_control"},
        {"type": "budget_exceeded", "kind": "cost", "limit": 1, "used": 1.5},
        {"type": "loop_breaker_triggered", "message": MARKUP},
        {"type": "workspace_rejected", "data": {"path": "/gone", "reason": "It is not there."}},
        {"type": "ask_user", "data": {"options": [None, 3, {"label": 4}, "Yes"], "question": None}},
        {"type": "never_heard_of"},
    )
    await expect(_rows(tab)).to_have_count(5)
    await expect(_rows(tab).first.locator(".act-what")).to_have_text("Used constructor")
    await expect(tab.page.locator(".acts, .act").locator("[data-state=running]")).to_have_count(0)
    for summary in await _rows(tab).locator("summary").all():
        await summary.click()
    await expect(tab.page.locator("#log img")).to_have_count(0)
    await expect(tab.page.locator(".remark")).to_have_count(3)
    await expect(tab.page.locator(".remark").first).to_have_text("The folder /gone cannot be used. It is not there.")
    await expect(_button(tab, "Yes")).to_be_visible()
    await fits(tab)


async def test_only_pictures_of_this_server_are_shown(seat: Seat) -> None:
    tab = await _agent(seat)
    image = {"type": "generated_image", "image_prompt": "A ship"}
    urls = ["/api/upload/abc", "//elsewhere.example/api/upload/a", "/api/upload/../health", "javascript:alert(1)"]
    await _play(tab, *[{**image, "url": url} for url in urls])
    await expect(tab.page.locator("#log img")).to_have_count(1)
    await expect(tab.page.get_by_role("img", name="A ship")).to_have_attribute("src", "/api/upload/abc?thumb=1024")


@pytest.mark.parametrize("look", [(1280, "light"), (390, "dark")])
async def test_rows_and_cards_fit_and_can_be_read(
    browser: Browser, program: Program, upstream: Upstream, tmp_path: Path, look: tuple[int, Literal["light", "dark"]]
) -> None:
    width, scheme = look
    phone = width < 500
    size = {"width": width, "height": 844 if phone else 800}
    options = {"viewport": size, "color_scheme": scheme, "has_touch": phone, "is_mobile": phone}
    (tmp_path / "long.txt").write_text("word" * 400 + "\n" + "short\n" * 60)
    async with seated(browser, program.url, upstream, **options) as seat:
        tab = await _agent(seat, tmp_path)
        await tab.page.get_by_role("button", name="Plan first").click()
        await tab.page.get_by_role("button", name="Plan first").click()
        long = {"path": "long.txt", "old": "short\n" * 60, "new": "line" * 200 + "\n"}
        looks = [("read_file", {"path": "long.txt"}), ("update_plan", {"plan": PLAN}), ("ls", {"path": "no" * 90})]
        upstream.reply(calls(*looks, text="Look."))
        upstream.reply(call_chunk("edit_file", long), *calls()[1:])
        await tab.ask("Show me.")
        await expect(_card(tab)).to_be_visible()
        await fits(tab)
        for summary in await _rows(tab).locator("summary").all():
            await summary.click()
        await fits(tab)
        await tab.page.locator("#workspace-button").click()
        await fits(tab)
        if phone:
            assert await tab.js(SMALL) == []
