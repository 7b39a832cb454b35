"""Long outputs keep their head and tail for the model and their whole in a file."""

from __future__ import annotations

from pathlib import Path

from odysseus.tools.output import KEPT_LIMIT, Capture, cut, fit, output_name, output_path


def whole(outputs: Path) -> str:
    return output_path(outputs, output_name("call")).read_text("utf-8")


def test_a_short_output_is_left_alone_and_leaves_no_file(tmp_path: Path) -> None:
    capture = Capture(10, tmp_path / "outputs", "call")
    capture.add("12345")
    capture.add("67890")
    capture.close()
    assert capture.text() == "1234567890"
    assert not (tmp_path / "outputs").exists()


def test_pieces_come_to_the_same_as_the_whole(tmp_path: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(500))
    for size in (1, 7, 99, 100, 101, 5_000):
        capture = Capture(100, tmp_path, "call")
        for at in range(0, len(text), size):
            capture.add(text[at : at + size])
        capture.close()
        note = f"; read_file with the path {output_name('call')} has all of it"
        assert capture.text() == cut(text, 100, note)
        assert whole(tmp_path) == text


def test_the_file_ends_at_its_limit_and_the_note_says_so(tmp_path: Path) -> None:
    capture = Capture(100, tmp_path, "call")
    for _ in range(9):
        capture.add("é" * 1_000_000)
    capture.close()
    assert len(whole(tmp_path)) == KEPT_LIMIT
    assert f"has the first {KEPT_LIMIT:,} characters" in capture.text()
    assert capture.count == 9_000_000


def test_without_a_folder_the_rest_is_lost_and_nothing_is_promised(tmp_path: Path) -> None:
    capture = Capture(100, None, "call")
    capture.add("x" * 1_000)
    capture.close()
    assert "900 characters left out" in capture.text()
    assert "read_file" not in capture.text()


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    capture = Capture(100, tmp_path / "file" / "outputs", "call")
    capture.add("x" * 1_000)
    capture.add("y" * 1_000)
    capture.close()
    assert "1,900 characters left out" in capture.text()
    assert "read_file" not in capture.text()


def test_a_discarded_output_leaves_no_file_and_takes_no_more(tmp_path: Path) -> None:
    capture = Capture(100, tmp_path, "call")
    capture.add("x" * 1_000)
    capture.discard()
    capture.add("y" * 1_000)
    assert list(tmp_path.iterdir()) == []
    assert capture.count == 1_000


async def test_a_long_text_is_fitted_and_kept(tmp_path: Path) -> None:
    text = "x" * 50 + "y" * 100
    fitted = await fit(text, 100, tmp_path, "call")
    assert fitted.startswith("x" * 50 + "y" * 10 + "\n[… 50 characters left out here; read_file with")
    assert fitted.endswith("\n" + "y" * 40)
    assert whole(tmp_path) == text
    assert await fit("short", 100, tmp_path, "call") == "short"
