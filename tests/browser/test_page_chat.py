"""Sending and reading: one message gives one request, the answer streams in blocks, and errors are told in words."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect
from upstream import DONE, Pause, chunk, finish, reasoning_chunk, text_chunk, usage

from browser.bench import Seat, Tab, words

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CODE = "Look:\n\n```python\nfor x in range(3):\n    print(x)\n```\n\nAnd **done**.\n"


async def test_a_message_is_sent_and_its_answer_streams_in(seat: Seat) -> None:
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("First half"), Pause(gate), text_chunk(" and second half."), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.send("Tell me.\nNow.")
    await expect(tab.text).to_have_text("First half")
    await expect(tab.field).to_have_value("")
    await expect(tab.status).to_have_text("Answering…")
    await expect(tab.page.locator("#log")).to_have_attribute("aria-busy", "true")
    gate.set()
    await tab.is_done()
    await expect(tab.text).to_have_text("First half and second half.")
    await expect(tab.questions).to_have_text("Tell me.\nNow.", use_inner_text=True)
    await expect(tab.answers.locator(".model")).to_have_text("fake-model")
    await expect(tab.answers.locator(".figures")).to_contain_text("12 tokens in · 34 out")
    await expect(tab.status).to_have_text("Answer finished.")


async def test_a_reload_shows_the_same_as_the_stream_did(seat: Seat) -> None:
    seat.upstream.reply(reasoning_chunk("Let me think."), text_chunk(CODE), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.ask("Show me code.")
    streamed = await tab.text.inner_html()
    await tab.page.reload()
    await expect(tab.text.locator(".block")).to_have_count(3)
    assert await tab.text.inner_html() == streamed
    await expect(tab.answers.locator("summary:visible")).to_have_text("Reasoning")
    await expect(tab.answers.locator(".reasoning-text")).to_have_text("Let me think.")


async def test_the_figures_are_the_same_after_a_reload(seat: Seat) -> None:
    gate = asyncio.Event()
    seat.upstream.reply(text_chunk("One two "), Pause(gate), text_chunk("three."), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.send("Count.")
    await expect(tab.text).to_have_text("One two")
    gate.set()
    await tab.is_done()
    figures = tab.answers.locator(".figures")
    await expect(figures).to_contain_text("tokens/s")
    live = await figures.inner_text()
    await figures.click()
    more = tab.answers.locator(".all-figures")
    await expect(more).to_contain_text("tokens in")
    await expect(more).to_contain_text("first words")
    whole = await more.inner_text()
    await tab.page.reload()
    await expect(figures).to_have_text(live)
    await expect(more).to_be_hidden()
    await figures.press("Enter")
    await expect(more).to_have_text(whole)


async def test_code_is_coloured_and_can_be_copied(seat: Seat) -> None:
    await seat.context.grant_permissions(["clipboard-read", "clipboard-write"])
    seat.upstream.reply(text_chunk(CODE), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.ask("Show me code.")
    await expect(tab.answers.locator("pre span").first).to_be_visible()
    plain = await tab.answers.locator("pre").evaluate("(node) => getComputedStyle(node).color")
    assert await tab.answers.locator("pre .k").first.evaluate("(node) => getComputedStyle(node).color") != plain
    await tab.answers.get_by_role("button", name="Copy code").click()
    await tab.until("navigator.clipboard.readText().then((text) => text.startsWith('for x in'))")
    assert await tab.js("navigator.clipboard.readText()") == "for x in range(3):\n    print(x)\n"
    await tab.answers.get_by_role("button", name="Copy answer").click()
    await tab.until("navigator.clipboard.readText().then((text) => text.startsWith('Look'))")
    assert await tab.js("navigator.clipboard.readText()") == CODE


async def test_finished_blocks_are_never_touched_again(seat: Seat) -> None:
    gates = [asyncio.Event() for _ in range(8)]
    steps = [step for number, gate in enumerate(gates) for step in (*words(1, number), Pause(gate))]
    seat.upstream.reply(text_chunk("```python\nx = 1\n```\n\n"), *steps, finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.send("Go on.")
    await expect(tab.answers.locator(".block")).to_have_count(2)
    await tab.js(
        """() => {
            window.touched = 0;
            window.first = document.querySelector(".answer .block");
            new MutationObserver((all) => (window.touched += all.length))
                .observe(window.first, { childList: true, subtree: true, characterData: true, attributes: true });
            new MutationObserver((all) => (window.touched += all.filter((one) => one.removedNodes.length).length))
                .observe(document.querySelector(".answer .blocks"), { childList: true });
        }"""
    )
    for gate in gates:
        gate.set()
    await tab.is_done()
    await expect(tab.answers.locator(".block")).to_have_count(9)
    assert await tab.js("window.touched") == 0
    assert await tab.js("document.querySelector('.answer .block') === window.first")


async def test_markup_in_an_answer_and_in_a_message_stays_text(seat: Seat) -> None:
    evil = '<img src=x onerror="window.hit = 1"><script>window.hit = 1</script> [x](javascript:window.hit=1)'
    seat.upstream.reply(reasoning_chunk(evil), text_chunk(evil), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.ask(evil)
    await expect(tab.questions).to_have_text(evil)
    await expect(tab.text).to_contain_text("<script>")
    assert await tab.page.locator("article img, article script, a[href^=javascript]").count() == 0
    assert await tab.js("window.hit === undefined")


async def test_two_quick_enters_send_once(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    tab = await seat.tab()
    await tab.field.fill("Only once")
    await tab.field.evaluate(
        """(node) => {
            for (let i = 0; i < 2; i += 1) {
                node.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
            }
        }"""
    )
    await expect(tab.answers).to_have_count(1)
    await tab.is_done()
    await tab.page.reload()
    await expect(tab.questions).to_have_count(1)
    assert len(seat.upstream.requests) == before + 1


async def _enter_of_an_input_method(tab: Tab, init: str) -> None:
    options = f"{{ key: 'Enter', bubbles: true, cancelable: true, {init} }}"
    await tab.field.evaluate(f"(node) => node.dispatchEvent(new KeyboardEvent('keydown', {options}))")


async def test_enter_that_ends_a_composition_does_not_send(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    tab = await seat.tab()
    await tab.field.fill("にほん")
    await tab.field.evaluate(
        """(node) => ["compositionstart", "compositionend"].forEach(
            (name) => node.dispatchEvent(new CompositionEvent(name, { bubbles: true, data: "にほん" })),
        )"""
    )
    await _enter_of_an_input_method(tab, "isComposing: true")
    await _enter_of_an_input_method(tab, "isComposing: false, keyCode: 229")
    await tab.field.press("Shift+Enter")
    await expect(tab.field).to_have_value("にほん\n")
    await expect(tab.questions).to_have_count(0)
    assert len(seat.upstream.requests) == before
    await tab.field.press("Enter")
    await expect(tab.questions).to_have_count(1)
    await tab.is_done()


async def test_an_error_before_the_text_is_told_under_the_question(seat: Seat) -> None:
    body = b'{"error": {"message": "The prompt is not allowed."}}'
    seat.upstream.reply(body, status=400, headers={"Content-Type": "application/json"})
    tab = await seat.tab()
    await tab.send("Are you there?")
    failed = tab.page.locator("article.question .outcome")
    await expect(failed).to_contain_text("not allowed")
    await expect(tab.answers).to_have_count(0)
    await expect(tab.status).to_have_text("No answer came.")
    words_now = await failed.inner_text()
    await tab.page.reload()
    await expect(failed).to_have_text(words_now)


async def test_an_error_after_some_text_keeps_the_text(seat: Seat) -> None:
    broken = b'data: {"error": {"message": "Out of memory.", "code": 500}}\n\n'
    seat.upstream.reply(text_chunk("The first half is here."), broken)
    tab = await seat.tab()
    await tab.send("Try.")
    failed = tab.answers.locator(".outcome")
    await expect(failed).to_contain_text("Out of memory")
    await expect(tab.text).to_have_text("The first half is here.")
    await tab.page.reload()
    await expect(failed).to_contain_text("Out of memory")
    await expect(tab.text).to_have_text("The first half is here.")


async def test_a_refused_message_stays_in_the_field_with_the_reason(seat: Seat) -> None:
    before = len(seat.upstream.requests)
    tab = await seat.tab()
    await tab.field.fill("x" * 50_001)
    await tab.field.press("Enter")
    await expect(tab.page.locator("#alert")).to_contain_text("50,000")
    assert len(await tab.field.input_value()) == 50_001
    await expect(tab.questions).to_have_count(0)
    await tab.page.reload()
    assert len(await tab.field.input_value()) == 50_001
    assert len(seat.upstream.requests) == before
    await tab.ask("A short one")
    await expect(tab.page.locator("#alert")).to_be_hidden()


async def test_a_cut_off_answer_says_so(seat: Seat) -> None:
    seat.upstream.reply(text_chunk("This is as far as"), chunk({}, "length"), usage(), DONE)
    tab = await seat.tab()
    await tab.ask("Tell me everything.")
    await expect(tab.answers.locator(".outcome")).to_contain_text("cut at the longest length")
    await tab.page.reload()
    await tab.answers.get_by_role("button", name="Continue").click()
    await expect(tab.questions.last).to_have_text("Continue.")
    await tab.is_done()
    await expect(tab.answers.get_by_role("button", name="Continue")).to_have_count(0)


async def test_a_link_says_where_it_leads_and_a_picture_is_never_loaded_by_itself(seat: Seat) -> None:
    text = (
        '[Home](https://example.org/a?b=c "Elsewhere") and ![a map](https://pictures.example/x.png?secret=1).\n\nEnd.'
    )
    seat.upstream.reply(text_chunk(text), finish(), usage(), DONE)
    tab = await seat.tab()
    await tab.ask("Show me.")
    for _ in range(2):
        link = tab.text.get_by_role("link", name="Home")
        await expect(link).to_have_attribute("title", "https://example.org/a?b=c")
        await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
        await expect(link).to_have_attribute("target", "_blank")
        await expect(tab.text.get_by_role("link", name="a map (picture at pictures.example)")).to_be_visible()
        await expect(tab.text.locator("img")).to_have_count(0)
        await tab.page.reload()


async def test_the_draft_is_kept_for_each_chat(seat: Seat) -> None:
    tab = await seat.tab()
    await tab.ask("First chat")
    first = await tab.session()
    await tab.field.fill("Draft of the first")
    await tab.page.get_by_role("link", name="New chat").first.click()
    await expect(tab.field).to_have_value("")
    await tab.field.fill("Draft of the new one")
    await tab.page.reload()
    await expect(tab.field).to_have_value("Draft of the new one")
    await tab.js("(id) => { location.hash = id; }", first)
    await expect(tab.field).to_have_value("Draft of the first")
