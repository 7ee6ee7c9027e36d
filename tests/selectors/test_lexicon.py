import gzip

import pytest

from toolpick_selectors.lexicon import Lexicon, folded, foreign


@pytest.fixture(scope="module")
def shipped():
    return Lexicon()


@pytest.fixture
def small(tmp_path):
    """A lexicon of a few words."""
    words = {"datei": "file", "ordner": "folder", "zweig": "branch", "entwicklung": "development"}
    words |= {"删除": "delete", "删": "remove", "文件": "file", "покажи": "show", "папка": "folder"}
    path = tmp_path / "lexicon.gz"
    lines = sorted(f"{word}\t{english}" for word, english in words.items())
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return Lexicon(str(path))


@pytest.mark.parametrize(
    ("prompt", "english"),
    [
        ("die Datei ist in dem Ordner", "file folder"),
        ("welche Dateien sind das?", "file"),
        ("der Entwicklungszweig, bitte", "development branch"),
        ("покажи папка", "show folder"),
        ("删除文件", "delete file"),
        ("请删掉README", "remove README"),
        ("der Unsinn ist hier", ""),
    ],
)
def test_words_are_translated_in_their_forms_and_as_compounds(small, prompt, english):
    assert small.english(prompt) == english
    assert small.expand(prompt) == (f"{prompt} {english}" if english else prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "list all files in the folder",
        "rename it",
        "What is the weather in Los Angeles and Rio de Janeiro?",
        "decode this: iVBORw0KGgoAAAANSUhEUgAAAgAAAAIACAYAAAD0eNT6AAAABHNCSVQICAgI",
    ],
)
def test_english_prompts_are_left_alone(small, prompt):
    assert not foreign(prompt)
    assert small.english(prompt) == ""
    assert small._lines is None


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("borra los archivos de la carpeta", {"delete", "file", "folder"}),
        ("schicke eine Nachricht an meinen Kunden", {"send", "message", "customer"}),
        ("найди статьи про погоду", {"search", "article", "weather"}),
        ("把图片转换成文档", {"image", "convert", "document"}),
        ("予定をカレンダーに追加してください", {"calendar", "add"}),
    ],
)
def test_the_shipped_list_knows_the_words_of_five_languages(shipped, prompt, words):
    assert words <= set(shipped.english(prompt).split())


def test_accents_and_case_do_not_matter():
    assert folded("ÉCRÍT") == "ecrit"
    assert folded("天气") == "天气"
