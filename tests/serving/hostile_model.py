"""Labels and texts that try to get out of where they stand."""

from __future__ import annotations

from typing import Any

from taxolearn import OneVsRestSVM, Taxonomy, TextClassifier
from taxolearn.text import TextFeatures

_MARKUP = [
    "<script>window.hacked = 1</script>",
    '"><script>window.hacked = 1</script>',
    "</title><script>window.hacked = 1</script>",
    "</textarea><script>window.hacked = 1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<svg onload=window.hacked=1>",
    "<svg><script>window.hacked=1</script></svg>",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
    "<a href='javascript:window.hacked=1'>click</a>",
    "javascript:window.hacked=1",
    "' onmouseover='window.hacked=1",
    '" autofocus onfocus="window.hacked=1',
    "<style>* { display: none }</style>",
    "<base href='http://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=http://evil.example/'>",
    "<form action=http://evil.example/><input name=text>",
    "<!-- <b>",
    "]]><script>window.hacked=1</script>",
    "&lt;script&gt;window.hacked=1&lt;/script&gt;",
    "${window.hacked=1}",
    "{{constructor.constructor('window.hacked=1')()}}",
    "\\u003cscript\\u003ewindow.hacked=1\\u003c/script\\u003e",
    "<scr<script>ipt>window.hacked=1</script>",
    "<math><mi//xlink:href='data:x,<script>window.hacked=1</script>'>",
    "__proto__",
    "constructor",
    "toString",
]
_CONTROLS = [
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x00",
    "a\x00b",
    "\x08\x08\x08",
    "\r\nSet-Cookie: a=b",
    "line\nbreak",
    "\u202egnp.exe",
    "\u2066\u2069",
    "\u2028\u2029",
    "\ufeffmark",
    "\u200b\u200d",
    "e\u0301" * 50,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\ufffd\uffff",
]
_PLACES = [
    "../../etc/passwd",
    "..\\..\\windows",
    "%2e%2e%2f",
    "file:///etc/passwd",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1)",
    "'; DROP TABLE labels; --",
    "%s%s%s%n",
    "{0.__class__}",
    "null",
    "NaN",
    "-0",
    "1e999",
    '{"text": "a"}',
    "[",
    '"',
    "'",
    "\\",
    "`",
]
_LONG = ["x" * 1_000_000, "<b>" * 100_000, "word " * 100_000, "\x1b[31m" * 20_000, "\U0001f600" * 50_000]
_BASE = [*_MARKUP, *_CONTROLS, *_PLACES, *_LONG]
HOSTILE = [
    *_BASE,
    *(
        f"{text[:2000]} no. {number}"
        for number, text in zip(range(200 - len(_BASE)), _BASE * 2, strict=False)
    ),
]


def hostile_model() -> Any:
    """A model with a class for each of them, called by it, with titles as bad."""
    names = [f"{number} {text[:3000]}" for number, text in enumerate(HOSTILE)]
    edges = [("<i>root</i>", f"<b>{k}</b>") for k in range(4)]
    edges += [(f"<b>{number % 4}</b>", name) for number, name in enumerate(names)]
    model = TextClassifier(
        OneVsRestSVM(Taxonomy.from_edges(edges), tol=0.1), TextFeatures(word_ngrams=(1, 1))
    )
    model.titles = {name: HOSTILE[number][:3000] for number, name in enumerate(names) if number % 2}
    return model.fit([text[:3000] for text in HOSTILE], names)
