"""Two hundred labels and texts that want to be something else: markup, code, control sequences, turned writing.

What they would do if they ran is seen: the title of the page becomes "owned", or `window.hacked` is set. Some have a
million characters. There is a class for each of them in the model that all tests share.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from taxolearn import OneVsRestLogistic, Taxonomy, TextClassifier
from taxolearn.text import TextFeatures

_MARKUP = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<svg onload=\"document.title='owned'\">",
    "<iframe srcdoc=\"<script>parent.document.title='owned'</script>\"></iframe>",
    "<style>body{display:none}</style>",
    "<link rel=stylesheet href=https://example.org/a.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org'>",
    "<base href=https://example.org/>",
    "<a href=\"javascript:document.title='owned'\">click</a>",
    "<!-- <script>",
    "--><script>document.title='owned'</script>",
    "]]><script>document.title='owned'</script>",
    "\"><script>document.title='owned'</script>",
    "' onmouseover='document.title=1' x='",
    '" autofocus onfocus="document.title=\'owned\'" x="',
    "&lt;b&gt; &amp; &#60;script&#62;",
    "{{constructor.constructor('document.title=1')()}}",
    "${document.title='owned'}",
    "`document.title='owned'`",
    "\\u003cscript\\u003e",
    "\\\";document.title='owned';//",
    "</title><script>document.title='owned'</script>",
    "</style><script>document.title='owned'</script>",
    "</textarea><script>document.title='owned'</script>",
    "<details open ontoggle=\"document.title='owned'\">",
    "<form action=https://example.org><button>go</button></form>",
    "<math><mtext></mtext><script>document.title='owned'</script></math>",
    "<svg><script>window.hacked=1</script></svg>",
    "javascript:window.hacked=1",
    "<scr<script>ipt>window.hacked=1</script>",
    "<math><mi//xlink:href='data:x,<script>window.hacked=1</script>'>",
    "\\u003cscript\\u003ewindow.hacked=1\\u003c/script\\u003e",
    "' onmouseover='window.hacked=1",
)
_MARKDOWN = (
    "| a | b |",
    "# heading",
    "**bold** _it_ `code`",
    "[link](javascript:alert(1))",
    "![picture](https://example.org/a.png)",
    "\n\n---\n\n# new part",
    "<details>",
    "a\n| --- |\n| cell |",
    "$$x$$ ~~gone~~",
)
_CONTROLS = (
    "\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x9b31m",
    "\x9d0;owned\x9c",
    "\x1bP1$r\x1b\\",
    "\x00nul",
    "bell\x07",
    "back\x08\x08\x08",
    "over\rwritten",
    "line\nbreak",
    "tab\tstop",
    "delete\x7f",
    "next\x85line",
    "form\x0cfeed",
    "vertical\x0btab",
    "\ud800 half",
    "half \udfff",
    "\r\nSet-Cookie: a=b",
    "a\x00b",
    "\x1b[2J\x1b[31mred",
)
_WRITING = (
    "\u202eevil\u202c",
    "\u202dforced",
    "\u2066isolated\u2069",
    "\u2067turned",
    "\u200fmark",
    "\u2028line\u2029paragraph",
    "\u200bnothing",
    "\ufeffmark",
    "שלום עולם",
    "مرحبا",
    "日本語 😀 👩\u200d👩\u200d👧",
    "e\u0301" * 30,
    "\U000e0001tag",
    "\ufff9anchor",
    "\u2066\u2069",
    "\u200b\u200d",
    "\ufffd\uffff",
)
_OTHERS = (
    "../../etc/passwd",
    "..\\..\\windows",
    "%2e%2e%2f",
    "file:///etc/passwd",
    "+1+1",
    "@SUM(1)",
    "'; DROP TABLE labels; --",
    "%s%s%s%n",
    "{0.__class__}",
    "-0",
    "1e999",
    '{"text": "a"}',
    "[",
    "=cmd|' /C calc'!A0",
    "null",
    "undefined",
    "NaN",
    "-1",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "%00%3Cscript%3E",
    "\\",
    "'",
    '"',
    "`",
    ";",
    "a" * 5000,
    "x" * 1_000_000,
    "y z " * 250_000,
    "<b>" * 100_000,
    "\x1b[31m" * 20_000,
    "\U0001f600" * 50_000,
)
_SEEDS = _MARKUP + _MARKDOWN + _CONTROLS + _WRITING + _OTHERS
_COUNT = 200
_LEARNED = 3000  # so many characters of each are learned from


def _hostile() -> list[str]:
    """All above, then each of the short ones behind a word."""
    found = [*_SEEDS, *(f"word {text}" for text in _SEEDS if len(text) < 1000)]
    return list(dict.fromkeys(found))[:_COUNT]


HOSTILE = _hostile()
# what files of UTF-8 can hold, models among them: no half characters
WRITABLE = [text.encode("utf-8", "ignore").decode() for text in HOSTILE]
LABELS = [f"{number} {text}" for number, text in enumerate(WRITABLE)]


@cache
def hostile_model() -> Any:
    """A model with a class for each of them, called by it; titles and branches are as bad."""
    branches = [f"<i>branch {k}</i> \x9b31m" for k in range(9)]
    edges = [("<b>all</b> \x1b[31m", branch) for branch in branches]
    edges += [(branches[number % 9], label) for number, label in enumerate(LABELS)]
    titled = [k for k in range(1, _COUNT, 2) if len(LABELS[k]) < 10_000]  # long ones are shown as they are
    titles = {LABELS[k]: f"title {WRITABLE[k]}" for k in titled}
    features = TextFeatures(analyzer="char", char_ngrams=(1, 2))
    model = TextClassifier(OneVsRestLogistic(Taxonomy.from_edges(edges), tol=0.1), features, titles=titles)
    return model.fit([text[:_LEARNED] for text in WRITABLE], LABELS)
