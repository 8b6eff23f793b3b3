"""Labels of SKOS concepts in many languages, of which people read one."""

from __future__ import annotations

from collections import Counter
from typing import Any

from taxolearn.errors import FileFormatError
from taxolearn.opening import PathLike
from taxolearn.structure.names import show
from taxolearn.structure.terms import Term

_WORDS = ("prefLabel", "altLabel", "definition", "notation")


class Labels:
    """Collects what a vocabulary says about its concepts, and chooses by language.

    A language is written as in the file, `en` or `en-GB`; "" is text without one.
    """

    def __init__(self, language: str | None) -> None:
        self.language = None if language is None else language.lower()
        self.tags: Counter[str] = Counter()
        # (concept, word) -> language -> texts in the order of the file
        self._texts: dict[tuple[str, str], dict[str, list[str]]] = {}

    def add(self, concept: str, word: str, literal: Any) -> None:
        """One text of a concept; words that are not labels are passed over."""
        if word not in _WORDS or not literal.value:
            return
        tag = (literal.language or "").lower()
        self.tags[tag] += 1
        texts = self._texts.setdefault((concept, word), {}).setdefault(tag, [])
        if literal.value not in texts:
            texts.append(literal.value)

    def check_language(self, path: PathLike) -> None:
        """A language that no text of the file has is a mistake."""
        if self.language is None or any(self._rank(tag)[0] < 2 for tag in self.tags):
            return
        there = ", ".join(f"{tag or 'none'} ({count:,})" for tag, count in self.tags.most_common(8))
        raise FileFormatError(
            path, None, f"expected labels in the language {show(self.language)}, found {there or 'no labels'}"
        )

    def has(self, concept: str) -> bool:
        """Whether the file calls a concept anything."""
        return any((concept, word) in self._texts for word in _WORDS)

    def _rank(self, tag: str) -> tuple[int, str]:
        """How much a language is wanted, least first: as asked, its variants, none, English, the others."""
        if self.language is not None:
            if tag == self.language:
                return 0, ""
            if tag.startswith(f"{self.language}-"):
                return 1, tag
        if not tag:
            return 2, ""
        if tag.split("-")[0] == "en":
            return 3, tag
        return 4, tag

    def _best(self, concept: str, word: str) -> tuple[str | None, str]:
        """The text in the language most wanted, and that language."""
        texts = self._texts.get((concept, word))
        if not texts:
            return None, ""
        tag = min(texts, key=self._rank)
        return texts[tag][0], tag

    def term(self, concept: str) -> Term:
        """All that a concept is called; synonyms are in the language of its label, or without one."""
        label, tag = self._best(concept, "prefLabel")
        others = self._texts.get((concept, "altLabel"), {})
        if label is None and others:
            tag = min(others, key=self._rank)
        synonyms = [text for known, texts in others.items() if known in (tag, "") for text in texts]
        return Term(
            label,
            self._best(concept, "notation")[0],
            tuple(dict.fromkeys(synonyms)),
            self._best(concept, "definition")[0],
        )
