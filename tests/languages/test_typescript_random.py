"""The numbers that the tests of the TypeScript library compare its generator with are NumPy's."""

from __future__ import annotations

import subprocess
import sys

from tests.languages.programs import CLIENT


def test_the_golden_numbers_are_numpys() -> None:
    data = CLIENT / "typescript" / "tests" / "data"
    script = "from write_numpy_random import document; print(document(), end='')"
    written = subprocess.run(
        [sys.executable, "-c", script], cwd=data, capture_output=True, text=True, check=True
    )
    assert (data / "numpy_random.json").read_text() == written.stdout
