import pytest

from toolpick_selectors import registry
from toolpick_selectors.contract import Pick, Selection, SelectionError, Selector
from toolpick_selectors.registry import Parts, build, nearest


class Longest:
    """A third party's selector."""

    def __init__(self, *, start: str = "", parts: Parts) -> None:
        self.start, self.parts = start, parts
        if start == "bad":
            raise ValueError("start must be good")

    def select(self, context, tools):
        return Selection(tuple(Pick(tool.id, 1.0) for tool in tools[: context.limit]), "all")


@pytest.fixture
def offered(monkeypatch):
    """Offer entry points as an installed package would."""

    def offer(*pairs):
        points = [registry.EntryPoint(name, value, registry.GROUP) for name, value in pairs]

        def entry_points(group, name=None):
            assert group == registry.GROUP
            return [point for point in points if name in (None, point.name)]

        monkeypatch.setattr(registry, "entry_points", entry_points)

    return offer


def test_built_in_selectors_are_found_through_entry_points():
    assert {"static", "lexical"} <= set(registry.kinds())
    assert isinstance(build("lexical", {"ratio": 0, "minimum": 3}), Selector)


def test_a_third_party_selector_gets_its_options_and_the_hosts_parts(offered):
    offered(("longest", f"{__name__}:Longest"))
    parts = Parts(options={"longest": {}})
    made = build("longest", {"start": "x"}, parts)
    assert isinstance(made, Longest)
    assert (made.start, made.parts) == ("x", parts)
    assert isinstance(build("longest"), Longest)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("lexicl", {}, "there is no selector 'lexicl'; did you mean 'lexical'?"),
        (
            "lexical",
            {"ration": 1},
            "selector 'lexical' has no option 'ration'; did you mean 'ratio'?",
        ),
        ("lexical", {"zzz": 1}, "selector 'lexical' has no option 'zzz'; options: minimum, ratio"),
        ("lexical", {"ratio": "x"}, "selector 'lexical': option 'ratio': 'x' is not a number"),
        (
            "lexical",
            {"minimum": 1.5},
            "selector 'lexical': option 'minimum': 1.5 is not a whole number",
        ),
        (
            "lexical",
            {"minimum": True},
            "selector 'lexical': option 'minimum': True is not a whole number",
        ),
        (
            "rewriting",
            {"api_key": ["sk-secret"]},
            "selector 'rewriting': option 'api_key': the value is not a text",
        ),
        ("static", {"names": "x"}, "selector 'static': option 'names': 'x' is not a list"),
    ],
)
def test_a_wrong_kind_or_option_is_one_clear_error(kind, options, message):
    with pytest.raises(SelectionError) as caught:
        build(kind, options)
    assert str(caught.value) == message


def test_a_value_that_the_selector_refuses_names_the_selector(offered):
    offered(("longest", f"{__name__}:Longest"))
    with pytest.raises(
        SelectionError, match="selector 'longest' can't be built: start must be good"
    ):
        build("longest", {"start": "bad"})


def test_a_selector_that_can_not_be_loaded_names_its_entry_point(offered):
    offered(("gone", "no_such_package:Gone"))
    with pytest.raises(
        SelectionError, match="selector 'gone' can't be loaded from 'no_such_package:Gone'"
    ):
        build("gone")


def test_two_packages_offering_one_name_is_an_error(offered):
    offered(("x", "one:A"), ("x", "two:B"))
    with pytest.raises(SelectionError, match="offered twice, by one:A and two:B"):
        build("x")


def test_options_stand_under_the_names_of_selectors_and_embedders():
    assert {"hybrid", "rerank", "bundled", "fastembed"} < set(registry.tables())


def test_a_selector_without_options_says_so():
    assert nearest("x", (), "options") == "; it has no options"
