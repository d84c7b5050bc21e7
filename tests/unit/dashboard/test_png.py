"""Pictures are written so that others read them."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from envwire.dashboard.png import png


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (134, 214)])
def test_pillow_reads_the_same_pixels(shape: tuple[int, int]) -> None:
    pixels = np.random.default_rng(1).integers(256, size=(*shape, 3), dtype=np.uint8)
    height, width = shape
    with Image.open(io.BytesIO(png(width, height, pixels.tobytes()))) as read:
        assert np.array_equal(np.asarray(read), pixels)
