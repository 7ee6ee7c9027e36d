"""Profiles in the settings: what they say, and every mistake by its line."""

import json
from collections.abc import Callable

import pytest

from toolpick.config.load import Loaded
from toolpick.config.settings import ProfileSettings
from toolpick.errors import ConfigError, GatewayError

Mistakes = Callable[..., list[str]]

SERVERS = '[servers.docs]\ncommand = "d"\n[servers.git]\ncommand = "g"\n'


def test_a_profile_says_what_differs_from_the_rest(read: Callable[..., Loaded]) -> None:
    text = f"""{SERVERS}
[profiles.writing]
servers = ["docs"]
allow = ["docs__*"]
deny = ["*__delete_*"]
always = ["docs__search"]
surface = "turn"
query = "documentation"
token = "${{TOKEN}}"

[profiles.rest]
"""

    settings = read(text, TOKEN="abc").settings

    assert settings.profiles == (
        ProfileSettings(
            "writing",
            ("docs",),
            ("docs__*",),
            ("*__delete_*",),
            ("docs__search",),
            "turn",
            "documentation",
            "abc",
        ),
        ProfileSettings("rest"),
    )
    assert settings.profile("rest") is settings.profiles[1]
    assert settings.profile("") == ProfileSettings("")
    assert "abc" not in repr(settings)


def test_a_profile_that_there_is_not_is_an_error_that_names_those_there_are(
    read: Callable[..., Loaded],
) -> None:
    settings = read("[profiles.a]\n[profiles.b]\n").settings

    with pytest.raises(GatewayError) as caught:
        settings.profile("c")
    assert str(caught.value) == "servers.toml: there is no profile 'c'; there are: a, b"
    with pytest.raises(GatewayError, match=r"servers.toml: .* there are: none"):
        read("").settings.profile("c")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'server = ["docs"]',
            "server: is not a key of [profiles.NAME]; write servers",
        ),
        (
            'servers = ["dosc"]',
            'servers[0]: "dosc" is no server of this file; write docs',
        ),
        (
            'servers = ["zzz"]',
            'servers[0]: "zzz" is no server of this file; there are docs, git',
        ),
        (
            "servers = []",
            "servers: is empty, so nothing is left; leave it out for all servers",
        ),
        (
            'allow = ["a[b"]',
            'allow[0]: "a[b" has a [ that is never closed; write [[] for the character itself',
        ),
        (
            'deny = ["x", ""]',
            'deny[1]: "" is empty or has blanks around it, so it matches nothing; write a name or '
            "a pattern",
        ),
        (
            'always = ["a b"]',
            'always[0]: "a b" is no name of a tool; write it as `toolpick tools` prints it, such '
            "as time__get_current_time",
        ),
        (
            'surface = "ful"',
            'surface: "ful" is not one of auto, full, turn, search, stubs, provider; write "full"',
        ),
        ("query = 5", "query: 5 is not a string; write it in double quotes"),
        ('token = "${NO}"', "token: the variable NO is not set; set it, or write ${NO:-default}"),
        (
            'token = "a b"',
            "token: the value holds a blank or another character that no token has; take it out",
        ),
    ],
)
def test_a_mistake_in_a_profile(mistakes: Mistakes, lines: str, message: str) -> None:
    assert mistakes(f"{SERVERS}[profiles.p]\n{lines}\n") == [
        f"servers.toml:6: profiles.p.{message}"
    ]


def test_a_token_is_of_one_profile_alone_and_shown_nowhere(mistakes: Mistakes) -> None:
    text = """[gateway]
token = "s3cret"
[profiles.a]
token = "s3cret"
[profiles.b]
token = "other"
[profiles.c]
token = "other"
"""

    assert mistakes(text) == [
        "servers.toml:4: profiles.a.token: the value is the token of gateway, too; give each its "
        "own",
        "servers.toml:8: profiles.c.token: the value is the token of profiles.b, too; give each "
        "its own",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[profiles."a b"]\n',
            '1: profiles."a b": the name "a b" is not allowed; write letters, digits, _ and - '
            "only, a letter or digit first, at most 32",
        ),
        ("[profiles]\na = 1\n", "2: profiles.a: 1 is not a table; write [profiles.a]"),
        ("profiles = 1\n", "1: profiles: 1 is not a table; write [profiles]"),
        (
            '[profiles.a]\nservers = ["x"]\n',
            '2: profiles.a.servers[0]: "x" is no server of this file; there are none',
        ),
    ],
)
def test_tables_of_profiles_that_are_none(mistakes: Mistakes, text: str, message: str) -> None:
    assert mistakes(text) == [f"servers.toml:{message}"]


def test_a_mistake_in_a_profile_stops_the_start(read: Callable[..., Loaded]) -> None:
    with pytest.raises(ConfigError):
        read('[profiles.a]\nallow = "x"\n')


def test_profiles_may_stand_in_a_json_file(read: Callable[..., Loaded]) -> None:
    tree = {
        "mcpServers": {"Brave Search": {"command": "b"}},
        "profiles": {"web": {"servers": ["Brave-Search"]}},
    }

    settings = read(json.dumps(tree), file="mcp.json").settings

    assert settings.profiles == (ProfileSettings("web", servers=("Brave-Search",)),)


def test_a_problem_found_later_is_placed_in_the_profile(read: Callable[..., Loaded]) -> None:
    loaded = read('[profiles.a]\n\nallow = ["x*"]\n')

    problem = loaded.problem("matches no tool", "profiles", "a", "allow", 0)

    assert str(problem) == "servers.toml:3: profiles.a.allow[0]: matches no tool"
