"""What becomes of the page's files: smaller, the same program, one version in every address."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
from pathlib import Path

import brotli
import pytest

from odysseus.web.release import INDEX, SHEET, Release, make_release, read_sources

STATIC = Path(__file__).parents[2] / "static"
ALL_BYTES = 116_000
"""What all scripts and styles may weigh, views that load later among them; the start's 60,000 are a browser's test."""

PAGE = (
    b'<head>\n  <link rel="stylesheet" href="/static/css/a.css">\n  <link rel="stylesheet" href="/static/css/b.css">\n'
    b'  <script type="module" src="/static/app.js"></script>\n</head>'
)
START = (
    b'import { a } from "./core/a.js";\nimport * as b from "./core/b.js";\nimport { c as d } from "./core/c.js";\n'
    b'const later = () => import("./later.js");\n'
)
FILES = {
    "index.html": PAGE,
    "app.js": b'/** @import { A } from "./core/types.js" */\nimport { a } from "./core/a.js";\n// import "./no.js";\n'
    b'import * as b from "./core/b.js";\nexport { c } from "./core/c.js";\nconst later = () => import("./later.js");\n',
    "core/a.js": b'import { b } from "./b.js";\nexport const a = `it\'s // no comment`;\n',
    "core/b.js": b"export const b = /[/*]'/; // a comment\n",
    "core/c.js": b'export const c = 1;\nexport const far = () => import("../views/far.js");\n',
    "later.js": b'import "./core/a.js";\n',
    "css/a.css": b"/* why */ a { color : red }\n",
    "css/b.css": b"b { color: blue }\n",
}


@pytest.fixture(scope="module")
def real() -> Release:
    return make_release(read_sources(STATIC))


def test_comments_are_gone_and_what_looks_like_one_is_not() -> None:
    files = make_release(FILES).files
    assert files["core/a.js"].endswith(b"export const a=`it's // no comment`;")
    assert files["core/b.js"] == b"export const b=/[/*]'/;"


def test_the_page_has_one_sheet_in_the_order_of_its_links() -> None:
    release = make_release(FILES)
    assert release.files[SHEET] == b"a{color:red}\nb{color:blue}"
    page = release.files[INDEX].decode()
    assert page.count("stylesheet") == 1
    assert f'href="{release.prefix}page.css"' in page


def test_what_the_start_needs_is_one_script_and_the_rest_stays_apart() -> None:
    release = make_release({**FILES, "app.js": START})
    script = release.files["page.js"]
    assert all(part in script for part in (b"no comment", b"c=1", b'import("./later.js")'))
    assert b"from" not in script
    assert b'import("./views/far.js")' in script  # whose path is from the script, not from its module
    assert release.files["core/a.js"].startswith(b'import{$modules}from"../page.js";export const{a}=')
    assert release.files["later.js"].startswith(b'import"./core/a.js"')
    assert f'src="{release.prefix}page.js"' in release.files[INDEX].decode()


def test_modules_of_another_form_are_served_one_by_one(caplog: pytest.LogCaptureFixture) -> None:
    release = make_release(FILES)  # the start hands on what another module gives
    assert "served one by one: app.js has an import or an export of another form" in caplog.text
    assert "page.js" not in release.files
    assert f'src="{release.prefix}app.js"' in release.files[INDEX].decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('import { x } from "./core/a.js";', "takes what core/a.js does not give: x"),
        ('import { a } from "./core/none.js";', "core/none.js is not there"),
        ("export default 1;", "another form"),
    ],
)
def test_what_cannot_be_joined_says_why(caplog: pytest.LogCaptureFixture, text: str, why: str) -> None:
    assert "page.js" not in make_release({**FILES, "app.js": text.encode()}).files
    assert why in caplog.text


def test_the_version_is_of_the_bytes_and_stands_in_every_address() -> None:
    first, again = make_release(FILES), make_release(dict(reversed(FILES.items())))
    assert first == again
    other = make_release({**FILES, "core/c.js": b"export const c = 2;\n"})
    assert other.version != first.version
    assert b'"/static/' not in first.files[INDEX].replace(first.prefix.encode(), b"")


def test_spaces_in_a_template_within_a_template_stay() -> None:
    source = b'export const a = (b) => `${b ? `${b} : ` : ""}end`;\n'
    assert make_release({**FILES, "later.js": b"/** Why. */\n" + source}).files["later.js"] == source


def test_a_file_that_cannot_be_made_smaller_is_served_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert make_release({"old.js": b"// caf\xe9\n"}).files["old.js"] == b"// caf\xe9\n"
    assert caplog.text.count("old.js could not be made smaller") == 1


def test_every_file_of_the_page_is_made_smaller_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    sources = read_sources(STATIC)
    with caplog.at_level(logging.WARNING):
        made = make_release(sources)
    assert caplog.records == []
    assert {"page.js", "docs.page.js"} <= set(made.files)


def test_every_script_still_parses(real: Release, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        (pytest.fail if os.environ.get("ODYSSEUS_REQUIRE_ALL") else pytest.skip)("There is no Node.")
    scripts = {name: body for name, body in real.files.items() if name.endswith(".js")}
    # `new vm.SourceTextModule` parses without running; it hears all files in one process.
    code = (
        "const vm = require('vm'); let all = ''; process.stdin.on('data', (more) => (all += more));"
        "process.stdin.on('end', () => { for (const [name, text] of JSON.parse(all))"
        " new vm.SourceTextModule(text, { identifier: name }); });"
    )
    told = json.dumps([[name, body.decode()] for name, body in scripts.items()])
    command = [node, "--no-warnings", "--experimental-vm-modules", "-e", code]
    done = subprocess.run(command, input=told, text=True, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(scripts) > 50


def test_all_script_and_style_together_stay_small(real: Release) -> None:
    joined = set(real.files) - {name for name in real.files if name.startswith("css/")}
    sent = [real.files[name] for name in joined if name.endswith((".js", ".css"))]
    assert 40_000 < sum(len(brotli.compress(body)) for body in sent) <= ALL_BYTES


LATE = re.compile(r"(?<!typeof )(?<!@)\bimport\(")
TRIED = ("loadPart(", "try {", "load: () =>")
"""What a late import stands behind: the word to the user when it fails, or the caller that has it."""


def test_no_module_is_loaded_later_without_a_word_when_it_cannot_be_had() -> None:
    silent = []
    for path in sorted(STATIC.rglob("*.js")):
        text = re.sub(r"/\*\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        for late in LATE.finditer(text):
            before = text[max(0, late.start() - 200) : late.start()]
            if not any(way in before for way in TRIED):
                silent.append(f"{path.name}: {text[late.start() : late.start() + 40]}")
    assert silent == []
