"""Text in pictures, by what is installed: rapidocr, else the program tesseract. Knows Pillow pictures, not files."""

from __future__ import annotations

import importlib.util
import io
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from typing import Any

MISSING = (
    "Text in pictures is read with the extra `ocr`, which is not installed: pip install 'odysseus[ocr]'. "
    "The program tesseract will do as well."
)
LONGEST_SIDE = 3000
"""Pixels; letters that are lost in a picture of this size would hardly be read in a larger one."""

_THREADS = 2

Reader = Callable[[Any], str]
"""From a Pillow picture to its text, line by line; empty without any."""


def is_offered() -> bool:
    """Whether pictures can be read here."""
    return _has_rapidocr() or shutil.which("tesseract") is not None


def find_reader() -> Reader | None:
    """The best reader there is."""
    if _has_rapidocr():
        return _by_rapidocr
    return _by_tesseract if shutil.which("tesseract") else None


def _has_rapidocr() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("rapidocr", "onnxruntime"))


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
    )


def _by_rapidocr(picture: Any) -> str:
    import numpy

    found = _engine()(numpy.asarray(_small(picture))[:, :, ::-1])
    if found.txts is None or found.boxes is None:
        return ""
    placed = []
    for box, text in zip(found.boxes.tolist(), found.txts, strict=True):
        xs, ys = [point[0] for point in box], [point[1] for point in box]
        placed.append((min(ys), max(ys), min(xs), text))
    return as_lines(placed)


def as_lines(placed: list[tuple[float, float, float, str]]) -> str:
    """Pieces of text by their top, bottom and left, as lines from the top; pieces side by side share a line."""
    lines: list[list[tuple[float, float, float, str]]] = []
    for piece in sorted(placed):
        middle = (piece[0] + piece[1]) / 2
        if lines and lines[-1][0][0] <= middle <= lines[-1][0][1]:
            lines[-1].append(piece)
        else:
            lines.append([piece])
    return "\n".join("  ".join(piece[3] for piece in sorted(line, key=lambda piece: piece[2])) for line in lines)


def _by_tesseract(picture: Any) -> str:
    packed = io.BytesIO()
    _small(picture).save(packed, "PNG", compress_level=1)
    program = shutil.which("tesseract") or "tesseract"
    ended = subprocess.run([program, "stdin", "stdout"], input=packed.getvalue(), capture_output=True, check=False)
    return ended.stdout.decode("utf-8", "replace").strip() if not ended.returncode else ""


def _small(picture: Any) -> Any:
    """A copy in plain colours, no larger than letters need."""
    if picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info:
        from PIL import Image

        seen = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen)
    copy = picture.convert("RGB")
    copy.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    return copy
