import pytest

from toolpick_selectors.wordpiece import CACHED, WordPiece, split

VOCABULARY = ("[PAD]", "send", "##ing", "e", "##mail", "mail", ",", "天", "气", "cafe", "x", "the")


@pytest.fixture
def pieces():
    return WordPiece(VOCABULARY)


def named(pieces, text):
    return [VOCABULARY[number] for number in pieces.pieces(text)]


def test_words_are_cut_into_the_longest_pieces_first(pieces):
    assert named(pieces, "Sending, email") == ["send", "##ing", "e", "##mail"]


def test_a_word_that_can_not_be_put_together_has_no_pieces(pieces):
    assert named(pieces, "send zzz mail") == ["send", "mail"]
    assert named(pieces, "x" * 101) == []


def test_accents_and_punctuation_are_dropped_and_ideographs_stand_alone(pieces):
    assert named(pieces, "Café天气\ud800\x00") == ["cafe", "天", "气"]


def test_splitting_takes_any_string():
    assert split("a_b\u3000C！\u200b") == ["a", "b", "c"]


def test_only_whole_words_that_say_something_are_known(pieces):
    assert pieces.knows("please send it")
    assert pieces.knows("天")
    assert not pieces.knows("the x sendx")


def test_the_cache_of_words_is_bounded(pieces):
    for number in range(CACHED + 10):
        pieces.pieces(f"x{number}")
    assert named(pieces, "send") == ["send"]
    assert len(pieces._known) <= CACHED
