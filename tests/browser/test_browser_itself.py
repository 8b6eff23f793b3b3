"""The browser of the tests sees what it is there to see: errors, loads from a network, what screen readers miss."""

from __future__ import annotations

from pathlib import Path

from browsing import Browser


def test_complaints_and_accessibility_problems_are_found(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<img src='https://example.org/a.png'><script>throw new Error('no')</script>")
    browser.open(page)
    browser.wait("document.images[0].complete")
    said = " ".join(browser.complaints())
    assert "Uncaught Error: no" in said
    assert "ERR_NAME_NOT_RESOLVED" in said
    assert any(problem.startswith("image-alt") for problem in browser.accessibility_problems())


def test_a_good_page_is_not_complained_about(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<html lang='en'><title>good</title><main><h1>good</h1><input aria-label='a'></main></html>"
    )
    browser.open(page)
    browser.one("input").click()
    browser.press("b", "c")
    assert browser.js("return document.querySelector('input').value") == "bc"
    assert browser.complaints() == []
    assert browser.accessibility_problems() == []
