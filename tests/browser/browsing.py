"""A headless browser for tests: pages are opened, keys pressed, and what the page complained about is read back."""

from __future__ import annotations

import contextlib
import importlib.resources
import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_HOW_TO_GET_IT = "apt-get install chromium chromium-driver; pip install selenium axe-core-python"
_BAD = ("serious", "critical")


def missing() -> str | None:
    """Why no browser can be started here, in one line; None where one can."""
    wanted = {"chromium": any(map(shutil.which, _BROWSERS)), "chromedriver": shutil.which("chromedriver")}
    lacking = [name for name, found in wanted.items() if not found]
    for package in ("selenium", "axe_core_python"):
        if importlib.util.find_spec(package) is None:
            lacking.append(package)
    return f"no {', '.join(lacking)}: {_HOW_TO_GET_IT}" if lacking else None


class Browser:
    """One headless Chromium without a network; `driver` is Selenium's."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: str | Path) -> None:
        """Open a file of this disk, or an address; complaints about earlier pages are forgotten."""
        self.driver.get("about:blank")
        self.complaints()
        self.driver.get(page.absolute().as_uri() if isinstance(page, Path) else page)

    def complaints(self) -> list[str]:
        """What the console says since the last time: errors and warnings, refused loads and scripts among them."""
        return [
            entry["message"]
            for entry in self.driver.get_log("browser")
            if entry["level"] in ("SEVERE", "WARNING")
        ]

    def one(self, selector: str) -> Any:
        """The first element of a CSS selector."""
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        """All elements of a CSS selector."""
        return list(self.driver.find_elements("css selector", selector))

    def text(self, selector: str) -> str:
        """The visible text of the first element of a CSS selector."""
        return str(self.one(selector).text)

    def js(self, code: str, *arguments: Any) -> Any:
        """What a piece of JavaScript returns."""
        return self.driver.execute_script(code, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys, one after another, wherever the focus is; Selenium's `Keys` for those without a letter."""
        from selenium.webdriver.common.action_chains import ActionChains

        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def wait(self, code: str, seconds: float = 10.0) -> Any:
        """Wait until a JavaScript expression is true, and return it."""
        from selenium.webdriver.support.wait import WebDriverWait

        return WebDriverWait(self.driver, seconds, poll_frequency=0.02).until(
            lambda _: self.js(f"return ({code});"), f"never came true: {code}"
        )

    def too_wide(self, width: int = 390) -> int:
        """By how many pixels the page is wider than a window as narrow as a telephone's."""
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        try:
            return int(self.js("return document.documentElement.scrollWidth - innerWidth"))
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def accessibility_problems(self, *rules: str) -> list[str]:
        """Serious and critical findings of axe-core, by all of its rules or by some, each in one line."""
        script = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
        self.js(script)
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "const wanted = arguments[0].length ? {runOnly: arguments[0]} : {};"
            "axe.run(document, {resultTypes: ['violations'], ...wanted}).then(done, e => done({error: String(e)}));",
            list(rules),
        )
        assert "error" not in found, found["error"]
        return [
            f"{finding['id']} ({finding['impact']}): {finding['help']}: {finding['nodes'][0]['html'][:200]}"
            for finding in found["violations"]
            if finding["impact"] in _BAD
        ]


@contextlib.contextmanager
def started(width: int = 1280, height: int = 900) -> Iterator[Browser]:
    """A browser, closed at the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, _BROWSERS)))
    for argument in (
        "--headless=new",
        f"--window-size={width},{height}",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--no-first-run",
        "--no-proxy-server",
        "--force-prefers-reduced-motion",
        # no name but this machine's is found, so that nothing can come from a network
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's sandbox refuses to start for the superuser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(60)
        driver.set_script_timeout(60)
        yield Browser(driver)
    finally:
        driver.quit()
