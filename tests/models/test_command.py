"""The command line of the models folder."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest
from sources import file_server, gguf, sha256

from odysseus.models import catalogue
from odysseus.models.command import add_parser, run

DATA = gguf(200_000)

PROGRAM = """
import argparse, sys
from pathlib import Path
from odysseus.models.command import add_parser, run
parser = argparse.ArgumentParser()
add_parser(parser.add_subparsers())
sys.exit(run(parser.parse_args(sys.argv[2:]), Path(sys.argv[1]), "smollm2-135m"))
"""


def call(folder: Path, *arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return run(parser.parse_args(["model", *arguments]), folder, "smollm2-135m")


def test_an_address_is_installed_by_a_real_process_that_prints_lines(tmp_path: Path) -> None:
    with file_server(DATA) as server:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "models"), "model", "install", server.url]
        done = subprocess.run(
            [*command, "--sha256", sha256(DATA).upper(), "--name", "mine"], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stdout[:15]) == (0, "Installed mine ")
    assert "mine: Downloading" in done.stderr
    assert (tmp_path / "models" / "mine.gguf").read_bytes() == DATA


def test_an_own_file_is_installed_listed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.gguf").write_bytes(DATA)
    own, folder = str(tmp_path / "own.gguf"), tmp_path / "models"
    assert call(folder, "install", own, "--sha256", sha256(DATA)) == 0
    assert call(folder, "install", own, "--sha256", sha256(DATA)) == 0
    assert "own is installed already, and its hash is right." in capsys.readouterr().out
    assert call(folder, "list") == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == ["NAME", *catalogue.KNOWN, "own"]
    assert listed[-1].split()[-2:] == ["4096", "installed"]
    assert call(folder, "remove", "own") == 0
    assert catalogue.names(folder) == ()
    assert call(folder, "remove", "own") == 2
    assert capsys.readouterr().err == "The model own is not installed.\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["{own}"], "Give the file's hash with --sha256"),
        (["{own}", "--sha256", "abc"], "is not a SHA-256"),
        (["{own}", "--sha256", "0" * 64], "its hash is not the expected one"),
        (["{own}", "--sha256", "0" * 64, "--name", "../up"], "Choose a name with --name"),
        (["no-such-model"], "neither a file nor a known model"),
        (["https://models.invalid/x.gguf"], "Give the file's hash with --sha256"),
        (["smollm2-135m", "--sha256", "0" * 64], "for a file of your own"),
    ],
)
def test_a_wrong_install_is_one_clear_line_and_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    (tmp_path / "own.gguf").write_bytes(DATA)
    folder = tmp_path / "models"
    assert call(folder, "install", *(part.format(own=tmp_path / "own.gguf") for part in arguments)) == 2
    (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("own: ")]
    assert words in line
    assert catalogue.names(folder) == ()
