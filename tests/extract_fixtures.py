"""What the tests of reading share: one call from bytes to what is in them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from sample_files import Read, ReadHere

from odysseus.extract.extract import extract
from odysseus.extract.reading import read_file
from odysseus.extract.result import Extracted, ExtractLimits


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read bytes as a file of that name; further arguments are limits."""

    async def call(data: bytes, name: str, declared: str = "", **limits: Any) -> Extracted:
        path = tmp_path / "bytes"
        path.write_bytes(data)
        return await extract(path, name, ExtractLimits(**limits), declared)

    return call


@pytest.fixture
def read_here(tmp_path: Path) -> ReadHere:
    """The same in this process, for tests that take a library away."""

    def call(data: bytes, name: str, declared: str = "", **limits: Any) -> Extracted:
        path = tmp_path / "bytes"
        path.write_bytes(data)
        return read_file(path, name, ExtractLimits(**limits), declared)

    return call


@pytest.fixture
def no_ocr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if nothing were installed that reads pictures, here and in the processes started from here."""
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text('import sys\n\nsys.modules["rapidocr"] = None\n')
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("PATH", "")
