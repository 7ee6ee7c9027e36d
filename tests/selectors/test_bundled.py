import numpy as np
import pytest

from toolpick_selectors.contract import Parameter, SelectionError, Tool
from toolpick_selectors.embedders import Embedder, cut, describe
from toolpick_selectors.embedders.bundled import Bundled

MAIL = Tool("m", "send_message", "gmail", "", "Delivers a mail to somebody.", (Parameter("to"),))
RAIN = Tool("r", "forecast", "", "", "Says whether it will rain.", (Parameter("city", "Where."),))


@pytest.fixture(scope="module")
def bundled():
    return Bundled()


def test_it_is_an_embedder(bundled):
    assert isinstance(bundled, Embedder)


def test_what_means_the_same_is_closer_than_what_does_not(bundled):
    prompts = bundled.embed_queries(["write an email to my boss", "do I need an umbrella today?"])
    fits = prompts @ bundled.embed_tools([MAIL, RAIN]).T
    assert fits.argmax(axis=1).tolist() == [0, 1]


def test_vectors_have_length_one_or_none(bundled):
    vectors = np.concatenate(
        [
            bundled.embed_queries(["send", "", "qqqq zzzz", "\ud800"]),
            bundled.embed_tools([MAIL, Tool("e", "")]),
        ]
    )
    assert np.linalg.norm(vectors, axis=1).round(3).tolist() == [1, 0, 0, 0, 1, 0]


def test_many_texts_give_the_same_vectors_as_one_by_one(bundled):
    tools = [
        Tool(str(n), f"tool_{n}", "", "", "read a file and send it by mail " * n) for n in range(60)
    ]
    together = bundled.embed_tools(tools)
    alone = np.concatenate([bundled.embed_tools([tool]) for tool in tools])
    assert np.allclose(together, alone, atol=1e-5)


def test_the_end_of_a_long_description_counts(bundled):
    long = Tool("l", "x", "", "", "lorem ipsum " * 500 + "weather forecast rain " * 50)
    short = Tool("s", "x", "", "", "lorem ipsum " * 500)
    prompt = bundled.embed_queries(["weather forecast"])[0]
    fit = bundled.embed_tools([long, short]) @ prompt
    assert fit[0] > fit[1]


def test_a_very_long_prompt_is_read_at_both_ends(bundled):
    filler = "lorem ipsum " * 2_000
    near, far = bundled.embed_queries([f"weather forecast {filler} rain in Paris", filler])
    prompt = bundled.embed_queries(["weather forecast rain"])[0]
    assert near @ prompt > far @ prompt


def test_a_table_that_is_missing_or_damaged_is_a_clear_error(tmp_path, bundled):
    with pytest.raises(SelectionError, match="can't be read"):
        Bundled(folder=str(tmp_path)).embed_queries(["x"])
    (tmp_path / "vocabulary.txt").write_text("a\nb", encoding="utf-8")
    np.save(tmp_path / "rows.npy", np.zeros((3, 4), np.int8))
    np.save(tmp_path / "scales.npy", np.ones(3, np.float32))
    with pytest.raises(SelectionError, match="is not whole"):
        Bundled(folder=str(tmp_path)).embed_queries(["x"])


def test_the_description_of_a_tool_names_everything():
    tool = Tool("i", "getRain", "sky", "Rain now", "Says\n whether.", (Parameter("cityName", "x"),))
    assert describe(tool) == "sky get Rain (Rain now): Says whether.. Arguments: city Name"
    assert describe(Tool("i", "x")) == "x: "


def test_long_texts_are_cut_at_spaces():
    assert cut("aa bb cc", 5) == ["aa bb", "cc"]
    assert cut("a" * 7, 3) == ["aaa", "aaa", "a"]
    assert cut("", 3) == [""]
    assert cut("abc ", 3) == ["abc"]
