import pytest

from toolpick_selectors.literals import kinds_of_files, without_numbers, without_quoted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("meet at 10:30 on 2024-05-01, $3.50", "meet at on , $ "),
        ("convert the mp3 to h264 in s3", "convert the mp3 to h264 in s3"),
        ("v2", "v2"),
    ],
)
def test_numbers_go_and_digits_in_words_stay(text, wanted):
    assert " ".join(without_numbers(text).split()) == " ".join(wanted.split())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('rename "my old file" to `b`', "rename to"),
        ("play “Yesterday” by 'The Beatles' now", "play by now"),
        ("don't and can't stay", "don't and can't stay"),
        ('an open " quote stays', 'an open " quote stays'),
    ],
)
def test_quoted_values_go(text, wanted):
    assert " ".join(without_quoted(text).split()) == wanted


def test_endings_of_files_say_what_they_are():
    assert kinds_of_files("merge /a/CV.docx and b.PDF, then c.docx") == "word document pdf"
    assert kinds_of_files("Hello. World e.g. v1.2 example.com") == ""
