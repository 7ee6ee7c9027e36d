"""What a prompt holds besides words of the language: quoted values, numbers, names of files.

Values say little about which tool is meant and much that misleads; the ending of a file name says
what kind of thing the prompt is about.
"""

from __future__ import annotations

import re

_QUOTED = re.compile(
    r"\"[^\"]{1,200}\"|\u201c[^\u201d]{1,200}\u201d|`[^`]{1,200}`|(?<!\w)'[^']{1,200}'(?!\w)"
)
_NUMBER = re.compile(r"\b[\d.,:/-]*\d[\d.,:/-]*\b")
_ENDING = re.compile(r"\.([A-Za-z0-9]{2,6})\b")

_KINDS = """
excel spreadsheet: xlsx xls xlsm ods
csv table data: csv tsv parquet
word document: docx doc odt rtf
powerpoint presentation: pptx ppt odp
pdf document: pdf
image picture: png jpg jpeg gif webp bmp tiff heic
svg image: svg
audio music: mp3 wav flac ogg m4a
video: mp4 mov avi mkv webm
html page: html htm
markdown file: md
text file: txt log
json file: json jsonl
yaml file: yaml yml
python code: py
notebook: ipynb
sql database: sql db sqlite
archive: zip tar gz rar
calendar event: ics
email: eml
book: epub
"""
_WORDS = {
    ending: kind.split(":")[0]
    for kind in _KINDS.strip().splitlines()
    for ending in kind.split(":")[1].split()
}


def without_numbers(text: str) -> str:
    """``text`` with numbers, dates and times left out; digits within words stay."""
    return _NUMBER.sub(" ", text)


def without_quoted(text: str) -> str:
    """``text`` with what stands between quotation marks left out."""
    return _QUOTED.sub(" ", text)


def kinds_of_files(text: str) -> str:
    """Words for the kinds of files that ``text`` names by their endings, "" if none."""
    endings = (ending.lower() for ending in _ENDING.findall(text))
    words = (word for ending in endings for word in _WORDS.get(ending, "").split())
    return " ".join(dict.fromkeys(words))
