"""The page of `taxolearn serve` in a browser: a text, a runner-up, a correction, a file; by mouse and by keyboard."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from browsing import Browser

from hostile_strings import HOSTILE, LABELS, hostile_model
from taxolearn.cli.uploads import upload_reader
from taxolearn.serving import Corrections, create_app

sys.path.insert(0, str(Path(__file__).parents[1] / "serving"))
from served_models import calibrated_pets, label_sets, points


class Served(NamedTuple):
    address: str
    corrections: Path

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.corrections.read_text().splitlines()]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Any]:
    """A function that serves a model from a thread of this process."""
    import uvicorn

    from taxolearn.serving.run import listening

    running = []

    def start(model: Any) -> Served:
        of_texts = hasattr(model, "features_")
        path = tmp_path / "corrections"
        kept = Corrections(path, libsvm=not of_texts)
        app = create_app(model, name="pets", corrections=kept, read_table=upload_reader(model))
        at = listening("127.0.0.1", 0)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]}, daemon=True)
        thread.start()
        running.append((server, thread, at))
        while not server.started:
            time.sleep(0.005)
        return Served(f"http://127.0.0.1:{at.getsockname()[1]}/", path)

    yield start
    for server, thread, at in running:
        server.should_exit = server.force_exit = True
        thread.join(20)
        at.close()


@pytest.fixture(scope="module")
def pets() -> Any:
    return calibrated_pets()


def opened(browser: Browser, served: Served) -> None:
    browser.open(served.address)
    browser.wait("document.getElementById('model-facts').textContent")


def classify(browser: Browser, text: str) -> None:
    browser.js("document.getElementById('text').value = arguments[0]", text)
    browser.js("document.getElementById('answer-title').textContent = ''")
    browser.one("#classify").click()
    browser.wait("document.getElementById('answer-title').textContent")


def shown(browser: Browser, selector: str) -> list[str]:
    """The whole text of all elements, as the page has it."""
    found: list[str] = browser.js(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
    )
    return found


def test_a_text_its_path_and_a_runner_up(browser: Browser, serve: Any, pets: Any) -> None:
    opened(browser, serve(pets))
    browser.one("#text").send_keys("purr meow")
    browser.one("#classify").click()
    browser.wait("document.getElementById('answer-title').textContent")
    assert browser.text("#answer-title") == "House cat A.1"
    assert shown(browser, "#path .title") == ["Life", "Animal", "House cat"]
    chances = pets.node_proba(["purr meow"], ["Life", "Animal", "Cat"])[0]
    assert [float(one.strip("<> %")) for one in shown(browser, "#path .meter b")] == pytest.approx(
        100 * chances[1:], abs=0.11
    )
    stop = pets.predict(["purr meow"], coverage=0.95)[0]
    place = ["Life", "Animal", "Cat"].index(stop)
    assert [bool(item.find_elements("css selector", ".cut")) for item in browser.all("#path > li")].index(
        True
    ) == place
    assert shown(browser, "#marked mark") == ["purr", "meow"]
    names = pets.top_k(["purr meow"], 4)[0][0].tolist()
    assert shown(browser, "#runners-up strong") == names[1:]
    browser.one("#runners-up button").click()
    browser.wait("document.getElementById('answer-kind').textContent === 'Runner-up, not the answer'")
    assert browser.text("#answer-title") == names[1]
    assert shown(browser, "#runners-up strong") == ["House cat", *names[2:]]
    assert browser.too_wide() <= 0
    assert browser.accessibility_problems() == []
    assert browser.complaints() == []


def test_a_correction_by_keyboard_alone(browser: Browser, serve: Any, pets: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    served = serve(pets)
    opened(browser, served)
    browser.wait("document.activeElement.id === 'text'")
    browser.press(*"purr", Keys.TAB)
    browser.wait("document.activeElement.id === 'classify'")
    browser.press(Keys.ENTER)
    browser.wait("document.activeElement.id === 'answer-title'")
    browser.press(Keys.TAB)
    browser.wait("document.activeElement.id === 'accept'")
    browser.press(Keys.TAB, Keys.ENTER)
    browser.wait("document.activeElement.id === 'search'")
    browser.press(*"o")
    browser.wait("document.querySelectorAll('#found [role=option]').length === 4")
    assert browser.accessibility_problems() == []
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_DOWN)
    assert (
        browser.js("return document.getElementById('search').getAttribute('aria-activedescendant')")
        == "found-2"
    )
    browser.press(Keys.ENTER)
    browser.wait("document.activeElement.id === 'save'")
    assert [one.strip("\u00d7") for one in shown(browser, "#chosen li")] == ["Dog"]
    browser.press(Keys.ENTER)
    browser.wait("document.getElementById('status').textContent === 'Saved as Dog.'")
    assert [(line["text"], line["label"], line["predicted"]) for line in served.lines()] == [
        ("purr", "Dog", ["Cat"])
    ]
    assert browser.complaints() == []


def test_accepted_and_runner_up_taken(browser: Browser, serve: Any, pets: Any) -> None:
    served = serve(pets)
    opened(browser, served)
    classify(browser, "woof fetch")
    browser.one("#accept").click()
    browser.wait("document.getElementById('status').textContent === 'Saved as Dog.'")
    [_, right] = browser.all("#runners-up li:first-child button")
    second = shown(browser, "#runners-up strong")[0]
    right.click()
    browser.wait(f"document.getElementById('status').textContent === 'Saved as {second}.'")
    assert [line["label"] for line in served.lines()] == ["Dog", "Cat" if second == "House cat" else second]


def test_a_dropped_file(browser: Browser, serve: Any, pets: Any, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    texts = ["purr meow", "=1+1 acorn", "<b>thorn</b>", "bark"] * 15
    rows.write_text("id,title\n" + "".join(f"{k},{text}\n" for k, text in enumerate(texts)))
    opened(browser, serve(pets))
    browser.one("#file").send_keys(str(rows))
    browser.wait("document.querySelectorAll('#batch-rows tr').length === 50")
    assert browser.text("#shown") == "Showing 1 to 50 of 60"
    assert shown(browser, "#batch-rows td.text")[:4] == texts[:4]
    titles = {"Cat": "House cat"}
    assert shown(browser, "#batch-rows strong")[:4] == [
        titles.get(name, name) for name in pets.predict(texts[:4])
    ]
    browser.one("#after").click()
    assert len(browser.all("#batch-rows tr")) == 10
    browser.one("#before").click()
    browser.js(
        "const o = document.getElementById('order'); o.value = 'doubt'; o.dispatchEvent(new Event('change'))"
    )
    assert (
        shown(browser, "#batch-rows td.text")[0]
        == texts[int(pets.predict_proba(texts[:4]).max(axis=1).argmin())]
    )
    browser.one("#batch-rows button").click()
    browser.wait("!document.getElementById('result').hidden")
    assert browser.accessibility_problems() == []
    assert browser.complaints() == []


def test_label_sets_and_numbers(browser: Browser, serve: Any) -> None:
    served = serve(label_sets())
    opened(browser, served)
    classify(browser, "purr meow acorn wood")
    assert sorted(shown(browser, "#labels .pick")) == ["House cat", "Oak"]
    browser.one("#correct").click()
    browser.one("#search").send_keys("rose")
    browser.wait("document.querySelectorAll('#found [role=option]').length")
    browser.one("#found li").click()
    browser.one("#chosen button").click()
    browser.one("#save").click()
    browser.wait("document.getElementById('status').textContent")
    assert len(served.lines()[0]["labels"]) == 2
    assert "Rose" in served.lines()[0]["labels"]
    served.corrections.unlink()
    opened(browser, serve(points()))
    assert "rows of 2 numbers" in browser.text("#hint")
    classify(browser, "-2, 0")
    assert browser.text("#answer-title") == "House cat A.1"
    browser.js("document.getElementById('text').value = '1'")
    browser.one("#classify").click()
    browser.wait("!document.getElementById('problem').hidden")
    assert "takes 2" in browser.text("#problem")


def test_nothing_of_a_label_or_text_runs(browser: Browser, serve: Any, tmp_path: Path) -> None:
    """All hostile texts through the page, in one file and one by one, against labels and titles that are as bad."""
    served = serve(hostile_model())
    opened(browser, served)
    title = browser.js("return document.title")
    rows = tmp_path / "<img src=x onerror=window.hacked=1>.jsonl"
    rows.write_text("\n".join(json.dumps({"text": text}) for text in HOSTILE if len(text) < 500_000))
    browser.one("#file").send_keys(str(rows))
    browser.wait("document.querySelectorAll('#batch-rows tr').length === 50", 60)
    while browser.one("#after").is_enabled():
        browser.js("document.getElementById('after').click()")
    browser.js("document.getElementById('close-batch').click()")
    for text in (text for text in HOSTILE[:60:3] if text.strip()):
        classify(browser, text)
        in_a_textarea = text.replace("\r\n", "\n").replace("\r", "\n")
        assert browser.js("return document.querySelector('#marked').textContent") == in_a_textarea
    classify(browser, HOSTILE[0])
    browser.one("#correct").click()
    browser.one("#search").send_keys("<script>")
    browser.wait("document.querySelectorAll('#found [role=option]').length === 20")
    longest = LABELS.index(max(LABELS, key=len))
    browser.js("document.getElementById('text').value = 'x'.repeat(1e6)")
    browser.js("document.getElementById('answer-title').textContent = ''")
    browser.one("#classify").click()
    browser.wait("document.getElementById('answer-title').textContent", 60)
    assert "of 1,000,0" in browser.text("#answer-title")  # cut, and said so
    browser.one("#accept").click()
    browser.wait("document.getElementById('status').textContent.startsWith('Saved as')")
    assert served.lines()[-1]["label"] == LABELS[longest]
    assert browser.js("return [document.body.scrollHeight < 1e5, window.hacked]") == [True, None]
    assert browser.js("return document.title") == title
    assert browser.all("main script, main img, main iframe, main svg, main style, main base, main meta") == []
    assert browser.complaints() == []
