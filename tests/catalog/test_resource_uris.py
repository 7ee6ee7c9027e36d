import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolpick.catalog.uris import is_uri, literal_length, matches, unwrap_uri, wrap_uri

URI = re.compile(r"[a-z][a-z0-9+.-]*:[!-~]*")


@given(st.text(max_size=20), st.from_regex(r"[a-z]{1,8}:[!-~]{0,30}", fullmatch=True))
def test_a_wrapped_uri_is_a_uri_and_leads_back(server, uri):
    wrapped = wrap_uri(server, uri)

    assert URI.fullmatch(wrapped)
    assert unwrap_uri(wrapped) == (
        server,
        re.sub(r'["<>\\^`|]', lambda m: f"%{ord(m[0]):02X}", uri),
    )


@pytest.mark.parametrize(
    ("server", "uri", "wrapped"),
    [
        ("alpha", "info://status", "toolpick+alpha:info://status"),
        ("My_shop", "a b", "toolpick+.4d.y.5f.shop:a%20b"),
        ("x", "info://{id}/é", "toolpick+x:info://{id}/%C3%A9"),
    ],
)
def test_the_wrapped_form_names_the_server_in_its_scheme(server, uri, wrapped):
    assert wrap_uri(server, uri) == wrapped


@pytest.mark.parametrize("uri", ["info://status", "toolpick+", "toolpick+.ffffff.:x", "toolpick:x"])
def test_other_uris_are_not_taken_for_wrapped_ones(uri):
    assert unwrap_uri(uri) is None


def test_a_scheme_in_capitals_is_read_too():
    assert unwrap_uri("TOOLPICK+Alpha:Info://A") == ("alpha", "Info://A")


@pytest.mark.parametrize(
    ("template", "uri", "expected"),
    [
        ("info://{id}", "info://42", True),
        ("info://{id}", "info://42/more", False),
        ("file:///{+path}", "file:///a/b/c.txt", True),
        ("mem://0/{x}", "mem://1/a", False),
        ("db://{table}/{id}.json", "db://users/7.json", True),
        ("db://{table}/{id}.json", "db://users/7.xml", False),
        ("q://s{?q,lang}", "q://s?q=a&lang=de", True),
        ("q://s{?q,lang}", "q://s", True),
        ("q://s?x=1{&q}", "q://s?x=1&q=2", True),
        ("p://a{/x,y}", "p://a/b/c", True),
        ("p://a{/x}", "p://a/b/c", False),
        ("p://a{/x*}", "p://a/b/c", True),
        ("p://a{.ext}", "p://a.tar", True),
        ("p://a{;x}", "p://a;x=1", True),
        ("p://a{#frag}", "p://a#b", True),
        ("p://a", "p://a", True),
        ("p://{x}", "p://" + "a" * 2000, False),
    ],
)
def test_a_uri_is_known_by_its_template(template, uri, expected):
    assert matches(template, uri) is expected


def test_a_hostile_template_takes_no_time():
    assert not matches("x:" + "{a}{b}" * 8, "x:" + "y" * 1900 + "/")
    assert not matches("{a}" * 17, "y")


def test_more_fixed_characters_tell_more():
    assert literal_length("info://{id}") == 7
    assert literal_length("{+any}") == 0


def test_a_uri_needs_a_scheme_and_printable_ascii():
    assert [is_uri(text) for text in ("info://a", "status", "a b:c", "info://é")] == [
        True,
        False,
        False,
        False,
    ]
