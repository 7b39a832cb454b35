"""The process that makes one picture smaller, so that a picture made to be huge can be killed with it.

Stdin: a line of JSON with `path`, `longest` (pixels) and `bytes`. Stdout: an object with `mime` and `data` in base64,
empty when the picture cannot be read. Runs as a script; is never imported.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from contextlib import suppress
from typing import Any

PIXELS = 100_000_000
MEMORY_BYTES = 1_500_000_000
CPU_SECONDS = 60
QUALITY = 85
SMALLER = 0.7
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")


def main() -> None:
    """Read, make small, answer."""
    _limit()
    request = json.loads(sys.stdin.buffer.readline())
    try:
        mime, data = shrunk(request["path"], request["longest"], request["bytes"])
        answer = {"mime": mime, "data": base64.b64encode(data).decode()}
    except (ImportError, OSError, SyntaxError, ValueError, MemoryError):
        answer = {}
    sys.stdout.buffer.write(json.dumps(answer).encode())


def shrunk(path: str, longest: int, most_bytes: int) -> tuple[str, bytes]:
    """Type and bytes of the picture within the limits. Raises OSError, ValueError and what Pillow raises."""
    from PIL import Image, ImageOps

    Image.MAX_IMAGE_PIXELS = None  # the limit here is ours, and looks at what is really decoded
    with Image.open(path, formats=_FORMATS) as opened:
        opened.draft("RGB", (longest, longest))
        if opened.width * opened.height > PIXELS:
            raise ValueError("too many pixels")
        opened.thumbnail((longest, longest))
        picture = ImageOps.exif_transpose(opened)
    see_through = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
    if see_through or picture.mode in {"P", "1"}:
        data = _packed(picture.convert("RGBA" if see_through else "RGB"), "PNG")
        if len(data) <= most_bytes:
            return "image/png", data
    picture = _flat(picture) if see_through else picture.convert("RGB")
    while len(data := _packed(picture, "JPEG")) > most_bytes:
        picture = picture.resize((max(1, int(picture.width * SMALLER)), max(1, int(picture.height * SMALLER))))
    return "image/jpeg", data


def _flat(picture: Any) -> Any:
    """On white, since JPEG has no transparency."""
    from PIL import Image

    seen = picture.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", seen.size, "white"), seen).convert("RGB")


def _packed(picture: Any, kind: str) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **({"quality": QUALITY} if kind == "JPEG" else {"optimize": False}))
    return out.getvalue()


def _limit() -> None:
    """Hold the process to its memory and time, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


if __name__ == "__main__":
    main()
