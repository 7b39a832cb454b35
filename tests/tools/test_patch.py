"""Patches are read in both forms and put in exactly, or refused with the reason."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odysseus.tools.base import ToolError
from odysseus.tools.diffs import diff_of
from odysseus.tools.patch import parse_patch
from odysseus.tools.patching import apply_hunks, new_text

TEXT = "".join(f"line {n}\n" for n in range(1, 21))


def applied(patch: str, text: str = TEXT) -> str:
    (file,) = parse_patch(patch)
    return apply_hunks(file.path, text, file.hunks)


def refusal(patch: str, text: str = TEXT) -> str:
    with pytest.raises(ToolError) as caught:
        applied(patch, text)
    return caught.value.message


# Unified diffs


def test_a_unified_diff_of_several_files_is_read() -> None:
    files = parse_patch(
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\t2026-01-01\n+++ b/x.py\t2026-01-02\n"
        "@@ -1,2 +1,2 @@ def f():\n-a\n+b\n c\n"
        "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
        "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        "diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n"
        "diff --git a/m b/n\nsimilarity index 90%\nrename from m\nrename to n\nindex 1..2\n"
        "--- a/m\n+++ b/n\n@@ -1 +1 @@\n-a\n+b\n"
    )
    assert [(file.action, file.path, file.new_path, len(file.hunks)) for file in files] == [
        ("update", "x.py", "", 1),
        ("add", "new", "", 1),
        ("delete", "old", "", 1),
        ("update", "from", "to", 0),
        ("update", "m", "n", 1),
    ]


def test_names_without_prefix_are_taken_as_they_are() -> None:
    (file,) = parse_patch("--- src/a.txt\n+++ src/a.txt\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.path, file.new_path) == ("src/a.txt", "")


def test_a_removed_line_that_looks_like_a_head_is_a_line() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n c\n"
    assert applied(patch, "a\n-- old\nc\n") == "a\n++ new\nc\n"


@pytest.mark.parametrize(
    "numbers", ["@@ -4,3 +4,3 @@", "@@ -4,9 +4,7 @@", "@@ -1,3 +1,3 @@", "@@ -99,1 +4 @@", "@@", "@@ ... @@"]
)
def test_wrong_numbers_do_not_matter_when_the_place_is_clear(numbers: str) -> None:
    patch = f"--- a/x\n+++ b/x\n{numbers}\n line 4\n-line 5\n+new 5\n line 6\n"
    assert applied(patch) == TEXT.replace("line 5\n", "new 5\n")


def test_right_numbers_choose_between_equal_places() -> None:
    text = "a\nb\n" * 10
    patch = "--- a/x\n+++ b/x\n@@ -{0},2 +{0},2 @@\n a\n-b\n+c\n"
    assert applied(patch.format(7), text) == "a\nb\n" * 3 + "a\nc\n" + "a\nb\n" * 6
    assert "several places (lines 1, 3, 5" in refusal(patch.format(8), text)


def test_lines_are_put_in_where_the_numbers_say() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -{} +1,1 @@\n+new\n"
    assert applied(patch.format("0,0"), "a\nb\n") == "new\na\nb\n"
    assert applied(patch.format("1,0"), "a\nb\n") == "a\nnew\nb\n"
    assert applied(patch.format("2,0"), "a\nb\n") == "a\nb\nnew\n"
    assert applied(patch.format("0,0"), "") == "new\n"


@pytest.mark.parametrize(
    ("text", "patch", "after"),
    [
        ("a\nb", "-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n", "a\nc"),
        ("a\nb", "-b\n\\ No newline at end of file\n+b\n", "a\nb\n"),
        ("a\nb\n", "-b\n+b\n\\ No newline at end of file\n", "a\nb"),
        ("a\nb", "-b\n+c\n", "a\nc"),
        ("a\r\nb", "-b\n+c\n+d\n", "a\r\nc\r\nd"),
    ],
)
def test_the_last_line_end_is_kept_or_changed_as_the_patch_says(text: str, patch: str, after: str) -> None:
    assert applied(f"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n{patch}", text) == after


def test_line_endings_of_the_file_are_kept() -> None:
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n+BB\n c\n"
    assert applied(patch, "a\r\nb\r\nc\r\n") == "a\r\nB\r\nBB\r\nc\r\n"
    assert applied(patch.replace("\n", "\r\n"), "a\nb\nc\n") == "a\nB\nBB\nc\n"
    assert applied(patch, "a  \nb\t\nc\n") == "a  \nB\nBB\nc\n"


def test_a_hunk_that_does_not_fit_shows_what_is_there() -> None:
    said = refusal("--- a/x\n+++ b/x\n@@ -5,2 +5,2 @@\n     line 5\n-line 66\n+x\n")
    assert "Hunk 1 for x does not fit" in said
    assert "5\tline 5\n6\tline 6" in said
    assert "not in the file" in refusal("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-something else entirely ÄÖÜ\n+x\n")


# The `*** Begin Patch` form


def test_the_begin_form_is_read() -> None:
    files = parse_patch(
        "*** Begin Patch\n*** Add File: new.txt\n+one\n+\n+two\n*** Update File: a.py\n*** Move to: b.py\n"
        "@@ class A\n@@ def f\n x\n-y\n+z\n\n@@\n q\n+r\n*** End of File\n*** Delete File: c d.txt\n*** End Patch\n"
    )
    assert [(file.action, file.path, file.new_path) for file in files] == [
        ("add", "new.txt", ""),
        ("update", "a.py", "b.py"),
        ("delete", "c d.txt", ""),
    ]
    assert new_text(files[0].hunks) == "one\n\ntwo\n"
    assert [(hunk.anchors, hunk.at_end) for hunk in files[1].hunks] == [(("class A", "def f"), False), ((), True)]


def test_anchors_choose_the_place() -> None:
    text = "class A:\n    def f(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n"
    patch = "*** Begin Patch\n*** Update File: x\n{}-        return 1\n+        return 2\n*** End Patch"
    assert applied(patch.format("@@ class B:\n"), text) == text[:-2] + "2\n"
    assert "several places" in refusal(patch.format("@@\n"), text)
    assert "no line 'class C:'" in refusal(patch.format("@@ class C:\n"), text)
    assert applied(patch.format("@@ -7,1 +7,1 @@\n"), text) == text[:-2] + "2\n"


def test_the_end_of_the_file_chooses_the_place() -> None:
    patch = "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n*** End of File\n*** End Patch"
    assert applied(patch, "a\na\n") == "a\nb\n"
    added = "*** Begin Patch\n*** Update File: x\n@@\n+b\n*** End Patch"
    assert applied(added, "a\n") == "a\nb\n"


@pytest.mark.parametrize("wrap", ["```diff\n{}\n```", "```\n{}\n```\n", "apply_patch <<'EOF'\n{}\nEOF\n", "\n\n{}\n\n"])
def test_what_models_wrap_around_a_patch_does_not_matter(wrap: str) -> None:
    begin = "*** Begin Patch\n*** Update File: x\n-line 5\n+new\n*** End Patch"
    unified = "--- a/x\n+++ b/x\n@@ -5 +5 @@\n-line 5\n+new"
    for patch in (begin, unified):
        assert applied(wrap.format(patch)) == TEXT.replace("line 5\n", "new\n")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "changes no file"),
        ("hello", "changes no file"),
        ("*** Begin Patch\n*** Update File: x\n-a\n+b\n", "cut off"),
        ("*** Begin Patch\nhello\n*** End Patch", "Line 2 of the patch"),
        ("*** Begin Patch\n*** Add File: x\nno sign\n*** End Patch", "must begin with +"),
        ("*** Begin Patch\n*** Update File: x\n*** End Patch", "changes nothing"),
        ("*** Begin Patch\n*** Update File: x\n-a\nb\n*** End Patch", "begins with neither"),
        ("@@ -1 +1 @@\n-a\n+b\n", "belongs to no file"),
        ("--- a/x\n+++ b/x\n", "changes nothing"),
        ("--- \n+++ b/x\n@@ -1 +1 @@\n+a\n", "without a name"),
        ("rename from \nrename to x\n", "without a name"),
        ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n", "without a name"),
        ("--- /dev/null\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "begin with +"),
        ("diff --git a/x b/x\nGIT binary patch\nliteral 1", "binary"),
        ('--- "a/\\303"\n+++ "b/\\303"\n@@ -1 +1 @@\n-a\n+b\n', "quoted name"),
    ],
)
def test_what_is_no_patch_is_refused_with_the_reason(patch: str, said: str) -> None:
    with pytest.raises(ToolError, match=said.replace("+", r"\+")):
        parse_patch(patch)


# There and back

LINES = st.lists(st.sampled_from(["a", "b", "c", "-- a", "++ b", "", " ", "@@ x", "\\ y"]), max_size=12)
TEXTS = st.builds(lambda lines, end: "\n".join(lines) + end, LINES, st.sampled_from(["", "\n"]))


@given(TEXTS, TEXTS)
def test_the_diff_that_is_shown_makes_the_new_text_of_the_old(old: str, new: str) -> None:
    diff = diff_of("x", old.encode(), new.encode())
    assert ("@@" in diff.text) is (old != new)
    if old != new:
        assert applied(diff.text, old) == new


def test_the_diff_of_a_long_text_has_the_right_lines(tmp_path: Path) -> None:
    old = [f"line {n}\n" for n in range(50_000)]
    new = [*old[:30_000], "more\n", *old[30_001:40_000], *old[40_003:], "last"]
    diff = diff_of("x", "".join(old).encode(), "".join(new).encode())
    assert (diff.added, diff.removed) == (2, 4)
    assert "@@ -29998,7 +29998,7 @@\n line 29997\n" in diff.text
    assert applied(diff.text, "".join(old)) == "".join(new)
    if shutil.which("patch") is None:
        return
    (tmp_path / "x").write_text("".join(old), "utf-8")
    subprocess.run(["patch", "-p1"], input=diff.text.encode(), cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "x").read_text("utf-8") == "".join(new)


def test_texts_that_have_nothing_in_common_are_shown_whole_and_soon() -> None:
    old, new = ("".join(f"{kind} {n}\n" for n in range(20_000)) for kind in "ab")
    diff = diff_of("x", f"first\n{old}last\n".encode(), f"first\n{new}last\n".encode())
    assert (diff.added, diff.removed) == (20_000, 20_000)
    assert applied(diff.text, f"first\n{old}last\n") == f"first\n{new}last\n"


def test_what_is_no_text_has_no_lines_in_its_diff() -> None:
    diff = diff_of("x", b"\x00\x01", b"text\n")
    assert (diff.added, diff.removed) == (0, 0)
    assert "not text" in diff.text


@pytest.mark.parametrize("many", [["same\n"] * 3000, [f"{n % 7}\n" for n in range(60_000)]])
def test_no_text_takes_long_to_compare(many: list[str]) -> None:
    old, new = "".join(many), "x\n" + "".join(many[::-1]) + "y\n"
    begun = time.process_time()
    diff = diff_of("x", old.encode(), new.encode())
    assert applied(diff.text, old) == new
    assert time.process_time() - begun < 5
