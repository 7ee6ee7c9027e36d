from toolpick_selectors.contract import SelectionContext, Tool
from toolpick_selectors.static import Static
from toolpick_selectors.testing import check_selector

TOOLS = (Tool("a__x", "x", "a"), Tool("a__y", "y", "a"), Tool("b__x", "x", "b"))


def ask(selector, limit=16):
    return [pick.id for pick in selector.select(SelectionContext("t", "q", (), limit), TOOLS).picks]


def test_the_contract_holds():
    check_selector(Static)
    check_selector(lambda: Static(names=["same", "*mail*"]))


def test_everything_is_picked_in_the_order_given_up_to_the_limit():
    assert ask(Static()) == ["a__x", "a__y", "b__x"]
    assert ask(Static(), limit=2) == ["a__x", "a__y"]


def test_names_are_picked_in_the_order_named_by_id_name_or_server():
    assert ask(Static(names=["b/x", "y"])) == ["b__x", "a__y"]
    assert ask(Static(names=["*x"])) == ["a__x", "b__x"]
    assert ask(Static(names=["missing"])) == []
