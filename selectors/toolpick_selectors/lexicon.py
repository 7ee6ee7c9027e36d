"""English words for those of other languages, so that an English model can rank a foreign prompt.

Reads a sorted list that ships with the package, and only once a prompt looks foreign. A stop-gap:
it translates words, not sentences, and only prompts, never what tools say. Written for Spanish,
German, Russian, Chinese and Japanese; other languages are covered thinly.
"""

from __future__ import annotations

import gzip
import re
import threading
import unicodedata
from array import array
from bisect import bisect_left
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from toolpick_selectors.words import STOP

LONGEST_RUN = 8
"""Most characters of a word in a script without spaces."""
SHORTEST, KEPT_SHARE = 4, 0.7
"""Words are forms of one when they share a beginning: so many letters, so much of the longer."""
COMPOUND = 8
"""Words this long may be two words written as one."""
LONGEST = 80
"""No word is longer: what is, such as a key or an encoded file, is not looked up."""
PROMPT_CHARS = 4_000
RECENT = 32
"""Prompts whose English words are remembered, since several ask for them within a turn."""

_WORD = re.compile(r"[^\W\d_]+")
_WHOLE_WORD = re.compile(r"(?<!\w)[^\W\d_]+(?!\w)")
_UNSPACED = re.compile("[\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_FOREIGN = """
el la los las un una unos del al por para con sin sobre esta este estos estas ese qué que
cómo como mi tu su y o de en necesito quiero puedes hay tiene tengo cuál cuáles cuándo dónde
quién nadie nada muy más lo se le ya también entre hasta desde porque der den dem das ein
eine einen einem einer und oder mit ohne für auf im ist sind wo bitte nach zu zum zur von
vom bei mein meine meiner meinem mir ich nicht aus dieser diese dieses diesem welche welcher
alle gibt es sich zwischen uns wir ihr sie er haben kann kannst können muss soll wenn dass
noch nur auch wann warum wieviel viele hier alles etwas jede jeder jeden les une des dans
avec sans pour est sont et ou où mon ma mes ce cette ces quel quelle sur je elle nous vous
qui quoi leur très peux donne moi aux au du chez gli uno dei della di che tra non mio questo
questa nel sul sono ho voglio puoi dove quando quanto chi cosa alla dal dalla nella sulla
più molto um uma os dos das da na em com sem meu minha isso não você eu ele ela essa esse
seu sua muito onde quem qual quais preciso quero pode são está pelo pela het een van voor
met zonder niet dit dat deze mijn naar ik jij mij wat waar hoe wanneer graag bij uit ook
"""
_SHARED = """
a all am an as can come do he her i in is me no of on over per so such use was we will
"""
_ENGLISH = STOP - frozenset(_SHARED.split())
_FUNCTION_WORDS = frozenset(_FOREIGN.split()) - STOP
_EMPTY = _FUNCTION_WORDS | STOP | {"die"}  # which is an English verb, too


class Lexicon:
    """Looks words up in the list at ``path``, by default the one in the package."""

    def __init__(self, path: str = "") -> None:
        """Remember where; the list is read at the first foreign prompt."""
        self._path = path
        self._lock = threading.Lock()
        self._lines: _Lines | None = None
        self._recent = lru_cache(RECENT)(self._translated)

    def expand(self, text: str) -> str:
        """``text`` with English words added when it is in another language."""
        english = self.english(text)
        return f"{text} {english}" if english else text

    def english(self, text: str) -> str:
        """What ``text`` says in English words, "" when it is English or nothing is known.

        Words that English shares, such as names, are kept.
        """
        return self._recent(text[:PROMPT_CHARS])

    def _translated(self, text: str) -> str:
        text = unicodedata.normalize("NFKC", text)
        if not foreign(text):
            return ""
        found: list[str] = []
        translated = 0
        for word in _WORD.findall(text):
            for part in _parts(word):
                if len(part) > LONGEST and not unspaced(part):
                    continue
                key = folded(part[:LONGEST])
                if key in _EMPTY:
                    continue
                english = self._run(part) if unspaced(part) else self._spaced(key)
                translated += len(english)
                found += english or ([part] if part.isascii() and len(part) > 2 else [])
        return " ".join(dict.fromkeys(" ".join(found).split())) if translated else ""

    def _spaced(self, word: str) -> list[str]:
        """The English words for one word: as it is, in another form, or as a compound."""
        english = self._exact(word) or self._form(word)
        if english or len(word) < COMPOUND:
            return [english] if english else []
        for cut in range(len(word) - 4, 3, -1):
            head, tail = word[:cut], word[cut:]
            first = self._exact(head) or self._exact(head.removesuffix("s"))
            second = self._exact(tail) or self._form(tail)
            if first and second:
                return [first, second]
        return []

    def _run(self, run: str) -> list[str]:
        """The English words for text without spaces: the longest known word first."""
        lines = self._loaded()
        found: list[str] = []
        at = 0
        while at < len(run):
            word, english = lines.longest(run[at : at + LONGEST_RUN])
            if english:
                found.append(english)
            at += len(word) or 1
        return found

    def _exact(self, word: str) -> str:
        lines = self._loaded()
        at = lines.place(word)
        found, english = lines.pair(at) if at < len(lines) else ("", "")
        return english if found == word else ""

    def _form(self, word: str) -> str:
        """The English words for the known word that begins most like ``word``.

        In a sorted list, that word is a neighbour.
        """
        lines = self._loaded()
        at = lines.place(word)
        best, english = 0, ""
        for near in range(max(0, at - 3), min(len(lines), at + 3)):
            known, meaning = lines.pair(near)
            alike = _alike(word, known)
            if alike > best and same_word(word, known):
                best, english = alike, meaning
        return english

    def _loaded(self) -> _Lines:
        with self._lock:
            if self._lines is None:
                place = Path(self._path or str(files("toolpick_selectors") / "model/lexicon.gz"))
                self._lines = _Lines(gzip.decompress(place.read_bytes()))
            return self._lines


class _Lines:
    """Sorted lines: word, tab, English words. Kept as bytes: objects take ten times the room."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._starts = array("I", [0, *(match.end() for match in re.finditer(b"\n", raw))])

    def __len__(self) -> int:
        return len(self._starts)

    def pair(self, at: int) -> tuple[str, str]:
        start = self._starts[at]
        end = self._starts[at + 1] - 1 if at + 1 < len(self._starts) else len(self._raw)
        word, _, english = self._raw[start:end].decode().partition("\t")
        return word, english

    def place(self, word: str) -> int:
        """Where ``word`` is, or would be: the order of bytes is that of characters."""
        raw, starts = self._raw, self._starts
        return bisect_left(starts, word.encode(), key=lambda at: raw[at : raw.find(b"\t", at)])

    def longest(self, text: str) -> tuple[str, str]:
        """The longest word that ``text`` begins with, and its English words; "" if there is none.

        What comes just before a text in sorted order is such a word, or shows how much of the text
        any word can begin with.
        """
        word = ""
        while text:
            at = self.place(text)
            for near in (at, at - 1):
                word, english = self.pair(near) if 0 <= near < len(self) else ("", "")
                if word and text.startswith(word):
                    return word, english
            text = text[: _alike(text, word)]
        return "", ""


def foreign(text: str) -> bool:
    """Whether ``text`` is more likely in another language than in English."""
    words = [word.casefold() for word in _WHOLE_WORD.findall(text)]
    english = sum(word in _ENGLISH for word in words)
    other = sum(word in _FUNCTION_WORDS or not word.isascii() for word in words)
    return other > english


@lru_cache(maxsize=4_096)
def folded(word: str) -> str:
    """``word`` in lower case and without accents, unless its script has no such thing."""
    word = word.casefold()
    if word.isascii() or unspaced(word):
        return word
    plain = unicodedata.normalize("NFD", word)
    return "".join(char for char in plain if not unicodedata.combining(char))


def unspaced(word: str) -> bool:
    """Whether ``word`` begins in a script that puts no spaces between words."""
    return bool(_UNSPACED.match(word))


def _parts(word: str) -> list[str]:
    """A word cut where its script changes."""
    cut = _UNSPACED.sub(lambda run: f" {run.group()} ", word)
    return cut.split()


def same_word(one: str, other: str) -> bool:
    """Whether two words are likely forms of one."""
    return _alike(one, other) >= max(SHORTEST, KEPT_SHARE * max(len(one), len(other)))


def _alike(one: str, other: str) -> int:
    """How many letters two words have in common from the start."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count
