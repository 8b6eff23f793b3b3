"""Draw the page of `taxolearn serve` as a picture: python tools/draw_page.py MODEL TEXT OUT.png

Needs Chromium and Selenium, as the tests of pages do. The picture of docs/serve.md is that of the demo's model, fitted
with `probability=True` and calibrated on held-out texts.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
import browsing

_WIDTH, _HEIGHT = 1180, 1330


def main() -> int:
    """Serve the model, ask, and save what the browser shows."""
    model, text, picture = sys.argv[1:4]
    command = [sys.executable, "-m", "taxolearn.cli", "serve", model, "--port", "0"]
    server = subprocess.Popen([*command, "--corrections", "/dev/null"], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        address = re.search(r"served at (\S+)", server.stderr.readline())
        assert address is not None
        with browsing.started(_WIDTH, _HEIGHT) as browser:
            browser.open(address[1])
            browser.wait("document.getElementById('model-facts').textContent")
            browser.one("#text").send_keys(text)
            browser.one("#classify").click()
            browser.wait("!document.getElementById('result').hidden")
            browser.driver.save_screenshot(picture)
    finally:
        server.terminate()
        server.wait(30)
    print(f"drawn: {picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
