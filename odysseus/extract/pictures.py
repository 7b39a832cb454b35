"""Pictures: their size, whether they are whole, and the text in them. Knows Pillow."""

from __future__ import annotations

from typing import Any

from odysseus.extract import ocr
from odysseus.extract.result import Extracted, Missing, Unreadable
from odysseus.extract.source import Source

_FORMATS = {f"image/{name.lower()}": name for name in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")}
_SIDEWAYS = frozenset({5, 6, 7, 8})
_ORIENTATION = 0x0112
_DAMAGED = "The picture is damaged or was not sent whole. Open it in a picture program, save it again, and send that."


def read_picture(source: Source) -> Extracted:
    """A picture's size and its text, if any can be read. Raises Unreadable."""
    if source.mime not in _FORMATS:
        raise Unreadable("This kind of picture is not read. Save it as PNG or JPEG and send that.")
    try:
        from PIL import Image
    except ImportError as error:
        raise Missing("Reading pictures", "files") from error
    Image.MAX_IMAGE_PIXELS = None  # the limit here is ours, and looks at what is really decoded
    source.file.seek(0)
    try:
        with Image.open(source.file, formats=[_FORMATS[source.mime]]) as picture:
            width, height = picture.size
            picture.draft("RGB", (ocr.LONGEST_SIDE, ocr.LONGEST_SIDE))
            if picture.width * picture.height > source.limits.pixels:
                raise Unreadable(_too_large(width * height, source.limits.pixels))
            picture.load()
            turned = picture.getexif().get(_ORIENTATION) in _SIDEWAYS
            text, note = _text(picture)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise Unreadable(_DAMAGED) from error
    size = (height, width) if turned else (width, height)
    return Extracted("ocr" if text else "image", text, note, source.mime, *size)


def _text(picture: Any) -> tuple[str, str]:
    from PIL import ImageOps

    reader = ocr.find_reader()
    if reader is None:
        return "", ocr.MISSING
    picture.thumbnail((ocr.LONGEST_SIDE, ocr.LONGEST_SIDE))  # first of all, since every further step makes a copy
    return reader(ImageOps.exif_transpose(picture)).strip(), ""


def _too_large(pixels: int, most: int) -> str:
    return (
        f"The picture has {pixels:,} pixels, more than the {most:,} that are read. Make it smaller and send it again."
    )
