"""Text to terms: how prompts, names and descriptions are cut into words. Knows nothing of tools.

Identifiers are split where people see words (``addPerson``, ``get-panel-image``, ``HTTPServer``,
``listS3Buckets``), scripts written without spaces become pairs of neighbouring characters, and only
ASCII words are stemmed, since the stemmer is an English one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from py_rust_stemmers import SnowballStemmer

# Vowel signs and accents are no word characters to ``re``: without these ranges a Hindi, Arabic or
# Thai word would fall apart at each of them.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0903"
    "\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7\u0a01-\u0a51\u0a70-\u0a75"
    "\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82-\u0bd7\u0c00-\u0c04\u0c3c-\u0c56"
    "\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0dca-\u0ddf\u0e31\u0e34-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3"
)
_WORD = re.compile(f"(?:[^\\W_]|[{_MARKS}])+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Han, kana, hangul, and the south-east Asian scripts that put no space between words.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)

_STOP = """
a able about after again ago all already also although always am among an and another any anyone
anything are around as ask asked at away back be because been before best better between bit
both but by came can come comes could curious did do does down during each either enjoy ever
every everyone everything feel few for from get give given go goes going good got great had has
have he hello help her here hey hi him his hope how however i if in instead interested into is
it its just keep kind know let lets like look looking lot love many may maybe me might more most
much my need neither never no not now of off ok okay on only onto or other our out over own
perhaps please possible quite rather really said same say says seem seems shall she should since
so some someone something sorry sort still stuff such sure tell than thank thanks that the their
them then there these they thing things think this those though to too try trying under
understand until up upon us use used using very via want was way ways we well were what when
where whether which while who whom whose why will wish with within without wonder wondering
would yes yet you your yours
"""
STOP = frozenset(_STOP.split())

PROMPT_CHARS = 8_000
REMEMBERED = 100
"""Longest word whose terms are remembered: longer ones, such as keys, don't come again."""

_stemmer = SnowballStemmer("english")


def words(text: str) -> list[str]:
    """The words of ``text`` in lower case, identifiers split; nothing is left out."""
    return [part.casefold() for word in _raw(text) for part in _parts(word)]


def spaced(identifier: str) -> str:
    """An identifier as words with spaces: ``listS3Buckets`` becomes ``list S3 Buckets``."""
    return " ".join(part for word in _raw(identifier) for part in _parts(word))


def squash(text: str) -> str:
    """Letters and digits only, in one case: the styles in which a name is written are equal."""
    return "".join(_raw(text)).casefold()


def clip(prompt: str) -> str:
    """The beginning and the end of a very long prompt, where people say what they want."""
    if len(prompt) <= PROMPT_CHARS:
        return prompt
    half = PROMPT_CHARS // 2
    return f"{prompt[:half]}\n{prompt[-half:]}"


def readable(text: str) -> str:
    """The text with halves of characters, which can't be sent or written, replaced."""
    return text.encode("utf-8", "replace").decode()


def tokens(text: str) -> list[str]:
    """Words in lower case without stop words, scripts without spaces in pairs; not stemmed."""
    return [token for word in _raw(text) for token in _tokens(word)]


def terms(text: str) -> list[str]:
    """What is indexed and searched: as ``tokens``, with English words stemmed."""
    found: list[str] = []
    for word in _raw(text):
        found += _remembered(word) if len(word) <= REMEMBERED else _terms(word)
    return found


def _raw(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


def _terms(word: str) -> tuple[str, ...]:
    return tuple(_stem(token) if token.isascii() else token for token in _tokens(word))


_remembered = lru_cache(maxsize=32_768)(_terms)


def _stem(token: str) -> str:
    stem: str = _stemmer.stem_word(token)
    return stem


def _tokens(word: str) -> list[str]:
    parts = _parts(word)
    found = [token for part in parts for token in _cut(part.casefold())]
    if len(parts) > 1:
        found += _cut(word.casefold())  # "GitHub" is also found as "github"
    return found


def _parts(word: str) -> list[str]:
    if word.islower() or word.isupper():
        return [word]
    if word.isascii():
        return _CAMEL.sub(" ", word).split()
    parts: list[str] = []
    start = 0
    for at in range(1, len(word)):
        before, here, after = word[at - 1], word[at], word[at + 1 : at + 2]
        if here.isupper() and (
            before.islower() or before.isdigit() or (before.isupper() and after.islower())
        ):
            parts.append(word[start:at])
            start = at
    return [*parts, word[start:]]


def _cut(word: str) -> list[str]:
    if word.isascii():
        if word in STOP or (len(word) < 2 and not word.isdigit()):
            return []
        return [word]
    if not _UNSPACED.search(word):
        return [_unaccented(word)]
    found: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        found += _cut(word[end : run.start()])
        found += _pairs(run.group())
        end = run.end()
    return found + _cut(word[end:])


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def _unaccented(word: str) -> str:
    """Latin letters without their accents, which people leave out; other scripts as they are."""
    plain = "".join(
        char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char)
    )
    return plain if plain.isascii() else word
