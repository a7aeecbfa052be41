"""A row of captioned panels as one PNG."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

_MARGIN = 8
_CAPTION = 22
# Colours of increasing heat, from the coldest to the hottest value: dark blue, violet, red, orange, pale yellow.
_HEAT = np.array([[10, 15, 70], [110, 20, 120], [205, 45, 60], [245, 150, 40], [255, 245, 190]], dtype=np.float64)


def heat_colours(values: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    """`values`, (h, w), as colours (h, w, 3) in [0, 1]."""
    place = np.clip((values - lowest) / (highest - lowest), 0.0, 1.0)
    steps = np.linspace(0.0, 1.0, len(_HEAT))
    return np.stack([np.interp(place, steps, _HEAT[:, channel]) for channel in range(3)], axis=-1) / 255.0


def write(path: Path, panels: Mapping[str, np.ndarray], scale: int = 1) -> None:
    """Write the panels, caption -> (h, w, 3) in [0, 1], side by side to `path`; each pixel becomes scale x scale."""
    from PIL import Image, ImageDraw

    pictures = [Image.fromarray(np.rint(255 * np.clip(panel, 0, 1)).astype(np.uint8)) for panel in panels.values()]
    pictures = [picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
                for picture in pictures]
    width = sum(picture.width + _MARGIN for picture in pictures) + _MARGIN
    height = max(picture.height for picture in pictures) + _CAPTION + _MARGIN
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    left = _MARGIN
    for caption, picture in zip(panels, pictures, strict=True):
        draw.text((left, 5), caption, fill="black")
        sheet.paste(picture, (left, _CAPTION))
        left += picture.width + _MARGIN
    sheet.save(path)
