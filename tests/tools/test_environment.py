"""Programs get a clean environment, and the server's own keys are out of their reach."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odysseus.tools.environment import clean_environment, is_secret

ROOT = Path(__file__).parent.parent.parent
SEALED = """
import os, subprocess, sys
from odysseus.tools.environment import seal_process
seal_process(["BRAVE"])
print(os.environ["OPENAI_API_KEY"], os.environ["BRAVE"])
look = 'tr "\\\\0" "\\\\n" <"/proc/$PPID/environ"; echo "child $OPENAI_API_KEY"'
print(subprocess.run(["sh", "-c", look], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout)
"""
DUMPABLE = """
import ctypes
from odysseus.tools.environment import seal_process
seal_process()
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""


def test_only_what_is_on_the_list_is_passed_on() -> None:
    environ = {"PATH": "/bin", "LANG": "nb_NO.UTF-8", "TZ": "Europe/Oslo", "HOME": "/home/me", "EDITOR": "vi"}
    assert clean_environment(Path("/t"), (), environ) == {
        "PATH": "/bin",
        "LANG": "nb_NO.UTF-8",
        "TZ": "Europe/Oslo",
        "HOME": "/t",
        "TMPDIR": "/t",
        "TERM": "dumb",
    }
    kept = clean_environment(Path("/t"), ("EDITOR", "HOME", "MISSING"), environ)
    assert (kept["EDITOR"], kept["HOME"]) == ("vi", "/home/me")
    assert "MISSING" not in kept


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY",
        "openai_apikey",
        "GH_TOKEN",
        "PGPASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_PAT",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "ODYSSEUS_SERVER_PORT",
    ],
)
def test_a_secret_is_not_passed_on_even_when_it_is_wished(name: str) -> None:
    assert is_secret(name)
    assert "hidden" not in clean_environment(Path("/t"), (name,), {name: "hidden"}).values()


def test_an_empty_environment_still_finds_programs_and_speaks_utf_8() -> None:
    given = clean_environment(Path("/t"), (), {})
    assert given["PATH"] == os.defpath
    assert given["LANG"].endswith("UTF-8")


def sealed(code: str) -> str:
    environ = {**os.environ, "OPENAI_API_KEY": "sk-secret", "BRAVE": "bsa-secret", "HARMLESS": "seen"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no /proc")
def test_a_sealed_process_keeps_its_keys_and_shows_them_to_nobody() -> None:
    own, _, others = sealed(SEALED).partition("\n")
    assert own == "sk-secret bsa-secret"
    assert "secret" not in others
    assert "child \n" in others
    assert ("HARMLESS=seen" in others) == (os.geteuid() == 0)  # only root may look at all


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such flag")
def test_the_memory_of_a_sealed_process_cannot_be_dumped() -> None:
    assert sealed(DUMPABLE) == "0\n"
