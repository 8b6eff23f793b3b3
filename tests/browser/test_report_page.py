"""A report in a browser, from disk: zoomed, searched, filtered; by mouse and by keyboard; large and hostile ones."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import Browser

from hostile_strings import HOSTILE, LABELS, hostile_model
from taxolearn.report import Report

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from report_cases import case

pytestmark = pytest.mark.filterwarnings("ignore::taxolearn.errors.EmptyClassWarning")
READY = "document.documentElement.classList.contains('ready')"
DOWN, UP, LEFT, RIGHT, HOME = "\ue015", "\ue013", "\ue012", "\ue014", "\ue011"
ENTER, ESCAPE, TAB = "\ue007", "\ue00c", "\ue004"


def opened(browser: Browser, report: Report, folder: Path) -> None:
    report.save(folder / "report.html")
    browser.open(folder / "report.html")
    browser.wait(READY)


@pytest.fixture(scope="module")
def report() -> Report:
    one = case("texts")
    made: Report = one.model.report(one.X, one.y, n_examples=20)
    return made


def shown_cells(browser: Browser) -> list[str]:
    found: list[str] = browser.js(
        "return [...document.querySelectorAll('.cell')].map(c => c.getAttribute('aria-label').split(':')[0])"
    )
    return found


def focused(browser: Browser) -> str:
    return str(
        browser.js("return document.activeElement.getAttribute('aria-label') || document.activeElement.id")
    )


def test_the_taxonomy_is_zoomed_and_searched_by_mouse(
    browser: Browser, report: Report, tmp_path: Path
) -> None:
    opened(browser, report, tmp_path)
    assert {"<root>", "Animal", "Cat", "Lion", "Plant", "Oak"} <= set(shown_cells(browser))
    browser.one(".cell[aria-label^='Animal']").click()
    assert set(shown_cells(browser)) == {"Animal", "Cat", "Wolf", "Lion", "Lynx"}
    assert browser.text(".panel h3") == "Animal"
    assert "Strongest words" in browser.text(".panel")
    rows, f1 = (report.data["taxonomy"][name][1] for name in ("rows", "hierarchical_f1"))
    assert report.data["taxonomy"]["label"][1] == "Animal"
    assert f"held-out rows\n{rows}\n" in browser.text(".panel dl")
    assert f"hierarchical F1\n{f1:.3f}\n" in browser.text(".panel dl")
    browser.one(".trail button").click()
    assert "Plant" in shown_cells(browser)
    browser.one("#search").send_keys("ros")
    browser.one("#matches li").click()
    assert browser.text(".panel h3") == "Rose"
    assert (
        browser.one(".cell[aria-selected='true']")
        .get_attribute("aria-label")
        .startswith("Rose: hierarchical F1")
    )
    link = browser.one("#confusions td a[data-node]")
    name = link.text
    browser.js("arguments[0].click()", link)
    assert browser.text(".panel h3") == name
    assert browser.too_wide() <= 0
    assert browser.complaints() == []


def test_everything_works_without_a_mouse(browser: Browser, report: Report, tmp_path: Path) -> None:
    opened(browser, report, tmp_path)
    browser.js("document.getElementById('search').focus()")
    browser.press("l", "y", "n", DOWN, UP, ENTER)
    assert focused(browser).startswith("Lynx")
    browser.press(LEFT)
    assert focused(browser).startswith("Cat")
    browser.press(LEFT, ESCAPE)
    browser.press(HOME)
    assert focused(browser).startswith("<root>")
    browser.press(RIGHT)
    first = focused(browser)
    browser.press(DOWN)
    second = focused(browser)
    assert {first.split(":")[0], second.split(":")[0]} == {"Animal", "Plant"}
    browser.press(UP)
    assert focused(browser) == first
    browser.press(ENTER)  # zooms in: the other branch is gone
    assert second.split(":")[0] not in shown_cells(browser)
    assert focused(browser) == first
    browser.press(ESCAPE)
    assert second.split(":")[0] in shown_cells(browser)
    browser.press(TAB)  # one stop for the whole drawing, then the panel
    assert browser.js("return document.querySelector('.panel').contains(document.activeElement)")
    browser.js("document.querySelector('.example summary').focus()")
    browser.press(ENTER)
    assert browser.one(".example").get_attribute("open")
    assert browser.complaints() == []


def test_examples_are_filtered(browser: Browser, report: Report, tmp_path: Path) -> None:
    opened(browser, report, tmp_path)
    entries = report.data["examples"]["entries"]
    visible = "return [...document.querySelectorAll('.example')].filter(e => !e.hidden).length"
    assert browser.js(visible) == len(entries)
    browser.js(
        "const s = document.querySelector('#examples select'); s.value = '0'; "
        "s.dispatchEvent(new Event('change'))"
    )
    assert browser.js(visible) == sum(not entry["right"] for entry in entries)
    browser.js(
        "const s = document.querySelector('#examples select'); s.value = 'all'; "
        "s.dispatchEvent(new Event('change'))"
    )
    browser.js("document.querySelector('.cell[aria-label^=Animal]').click()")
    browser.js("[...document.querySelectorAll('.panel button')].at(-1).click()")
    animal = report.data["taxonomy"]["label"].index("Animal")
    paths = [
        [step["node"] for path in [*entry["true_paths"], entry["path"]] for step in path] for entry in entries
    ]
    assert browser.js(visible) == sum(animal in path for path in paths) < len(entries)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_people_who_use_other_means_can_use_it(
    browser: Browser, report: Report, tmp_path: Path, scheme: str
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        opened(browser, report, tmp_path)
        browser.js("document.querySelectorAll('details').forEach(d => d.open = true)")
        browser.js(
            "document.getElementById('search').value = 'a'; "
            "document.getElementById('search').dispatchEvent(new Event('input'))"
        )
        # in the dark only colours differ
        assert browser.accessibility_problems(*(["color-contrast"] if scheme == "dark" else [])) == []
        assert browser.js("return getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)" if scheme == "light" else "rgb(15, 20, 25)"
        )
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_it_prints(browser: Browser, report: Report, tmp_path: Path) -> None:
    opened(browser, report, tmp_path)
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        for hidden in ("nav", ".search", ".panel", ".trail"):
            assert not browser.one(hidden).is_displayed()
        for kept in ("#summary p", ".legend", ".icicle", "#levels table", "#certificate p"):
            assert browser.one(kept).is_displayed()
        cells = "[...document.querySelectorAll('.cell')].map(c => c.getBoundingClientRect().bottom)"
        home = "document.querySelector('.icicle').getBoundingClientRect().bottom"
        assert browser.js(f"return Math.max(...{cells}) <= {home} + 1")  # nothing of the taxonomy is cut off
        assert browser.driver.print_page().startswith("JVBER")  # %PDF
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def large(report: Report, n_nodes: int) -> Report:
    """The same report over a tree of so many nodes, each with twenty children."""
    parent = [-1, *((node - 1) // 20 for node in range(1, n_nodes))]
    own = np.random.default_rng(0).integers(0, 4, n_nodes)
    rows = own.copy()
    depth = np.zeros(n_nodes, dtype=int)
    for node in range(n_nodes - 1, 0, -1):
        rows[parent[node]] += rows[node]
    for node in range(1, n_nodes):
        depth[node] = depth[parent[node]] + 1
    columns: dict[str, Any] = {
        "label": [f"node number {node}" for node in range(n_nodes)],
        "parent": parent,
        "others": {},
        "depth": depth.tolist(),
        "rows": rows.tolist(),
        "own": own.tolist(),
        "trained": rows.tolist(),
        "answered": rows.tolist(),
        "found": (rows // 2).tolist(),
        "hierarchical_f1": [round((node % 11) / 10, 2) for node in range(n_nodes)],
        "loss": [1.0] * n_nodes,
        "is_class": [1] * n_nodes,
    }
    words = {**report.data["words"], "nodes": [[[0, 1.5], [1, -0.5]]] * n_nodes}
    return Report({**report.data, "taxonomy": columns, "words": words})


def test_twenty_thousand_nodes_stay_usable(browser: Browser, report: Report, tmp_path: Path) -> None:
    opened(browser, large(report, 20_000), tmp_path)
    assert "of 20,000 nodes" in browser.text("#taxonomy > .widget > p.quiet")
    assert len(browser.all(".cell")) < 1500  # only what can be seen is drawn
    browser.one("#search").send_keys("number 19999")
    browser.press(ENTER)
    assert browser.text(".panel h3") == "node number 19999"
    assert focused(browser).startswith("node number 19999")
    browser.press(LEFT, LEFT, LEFT)
    assert focused(browser).startswith("node number 2:")  # 19,999, 999, 49, 2
    assert browser.complaints() == []


def test_hostile_names_and_texts_do_nothing(browser: Browser, tmp_path: Path) -> None:
    report = hostile_model().report(HOSTILE, LABELS[1:] + LABELS[:1], n_examples=40, title="hostile")
    opened(browser, report, tmp_path)
    browser.js("document.querySelectorAll('details').forEach(d => d.open = true)")
    browser.js(
        "for (let k = 0; k < arguments[0]; k += 5) { const a = document.createElement('a');"
        "a.dataset.node = k; document.body.append(a); a.click(); a.remove() }",
        len(report.data["taxonomy"]["label"]),
    )
    browser.one("#search").send_keys("<script>")
    assert browser.all("#matches li")
    assert browser.js("return document.title") == "hostile"
    assert browser.js("return window.hacked") is None
    assert browser.js("return document.scripts.length") == 2
    assert browser.js("return document.querySelectorAll('img, iframe, form, base, link, i').length") == 0
    assert browser.js("return getComputedStyle(document.body).display") == "block"
    shown = browser.js("return document.body.innerText")
    assert not any(mark in shown for mark in "\x1b\x9b\x00\u202e\u2066")
    assert browser.complaints() == []
