"""Two hundred labels and texts that want to be something else: markup, code, control sequences, turned writing."""

from __future__ import annotations

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
)
_OTHERS = (
    "../../etc/passwd",
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
)
_SEEDS = _MARKUP + _MARKDOWN + _CONTROLS + _WRITING + _OTHERS


def hostile_strings(count: int = 200) -> list[str]:
    """So many different ones: all above, then each of the short ones behind a word, and around one."""
    short = [text for text in _SEEDS if len(text) < 1000]
    found = [*_SEEDS, *(f"word {text}" for text in short), *(f"{text} fur {text}" for text in short)]
    assert len(set(found)) >= count
    return list(dict.fromkeys(found))[:count]
