"""Take the picture of docs/report.md: a report on the demo's model, in a headless Chromium.

    python tools/draw_report.py docs/images/report.png [--model FOLDER]

Without --model it learns the ICD-10-CM texts of the package first, as `taxolearn demo` does (about a minute).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import taxolearn
from taxolearn.datasets import load_icd10cm

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
from browsing import missing, started

_READY = "document.documentElement.classList.contains('ready')"


def main() -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--model", type=Path)
    given = parser.parse_args()
    if missing() is not None:
        print(missing(), file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = given.model or Path(name, "model")
        if given.model is None:
            command = [sys.executable, "-m", "taxolearn.cli", "demo", "--text", "fracture", "-o", str(folder)]
            subprocess.run(command, check=True)
        test = load_icd10cm().test
        report = taxolearn.load(folder).report(
            test.texts, test.y, title="ICD-10-CM: how well the model answers"
        )
        page = Path(name, "report.html")
        report.save(page)
        with started(1200, 1000) as browser:
            browser.open(page)
            browser.wait(_READY)
            browser.js("document.documentElement.style.scrollBehavior = 'auto'")
            browser.one(".cell[aria-label^='Q00']").click()
            browser.js("document.getElementById('taxonomy').scrollIntoView()")
            browser.js("document.activeElement.blur()")
            browser.driver.save_screenshot(str(given.picture))
    return 0


if __name__ == "__main__":
    sys.exit(main())
