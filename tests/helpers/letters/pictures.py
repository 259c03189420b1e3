"""A small picture, as a letterhead has it."""

import io

from PIL import Image, ImageDraw


def logo(kind: int) -> bytes:
    """A PNG of a disc in one of nine colours."""
    picture = Image.new("RGB", (64, 64), "white")
    colour = (40 + 20 * kind, 110, 200 - 15 * kind)
    ImageDraw.Draw(picture).ellipse((4, 4, 60, 60), fill=colour)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()
