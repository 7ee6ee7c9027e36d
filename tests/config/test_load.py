"""What a right settings file means."""

from collections.abc import Callable
from pathlib import Path

import pytest

from toolpick.config.load import Loaded, load
from toolpick.config.settings import (
    GatewaySettings,
    SelectorSettings,
    ServerSettings,
    Settings,
)
from toolpick.errors import ConfigError, Problem

Read = Callable[..., Loaded]

EVERYTHING = """
[gateway]
surface = "turn"
threshold_tokens = 0
stability = "exact"
list_wait = 0
max_tools = 50
schemas = "flat"
max_sessions = 3
token = "${TOKEN}"
pass_env = ["SSH_AUTH_SOCK"]
[selector]
kind = "rewriting"
limit = 20
minimum = 2
always = ["time__get_current_time", "docs__read"]
timeout = 4
[selector.rewriting]
model = "m-${SIZE:-small}"
nested.list = ["${TOKEN}", 1]
[servers.time]
command = "mcp-server-time"
args = ["--local-timezone", "${TZ:-UTC}"]
env = { A = "pa$$word", B = "$${A}" }
cwd = "sub"
required = true
deny = ["x*", "[ab]?"]
start_timeout = 7.5
scope = "shared"
prefix = ""
era = "legacy"
[servers.docs]
url = "https://example.org/mcp"
headers = { Authorization = "Bearer ${TOKEN}" }
enabled = false
allow = ["read_*"]
timeout = 5
prefix = "d"
[servers.old]
url = "http://[::1]:8080/sse"
transport = "sse"
"""


def test_every_key_arrives(read: Read, tmp_path: Path) -> None:
    loaded = read(EVERYTHING, TOKEN="t0k", SIZE="")

    assert loaded.problems == loaded.remarks == ()
    assert loaded.settings == Settings(
        path="servers.toml",
        gateway=GatewaySettings(
            surface="turn",
            threshold_tokens=0,
            stability="exact",
            list_wait=0.0,
            max_tools=50,
            schemas="flat",
            max_sessions=3,
            token="t0k",
            pass_env=("SSH_AUTH_SOCK",),
        ),
        selector=SelectorSettings(
            kind="rewriting",
            limit=20,
            minimum=2,
            always=("time__get_current_time", "docs__read"),
            timeout=4.0,
            options={"rewriting": {"model": "m-small", "nested": {"list": ["t0k", 1]}}},
        ),
        servers=(
            ServerSettings(
                name="time",
                command="mcp-server-time",
                args=("--local-timezone", "UTC"),
                env={"A": "pa$$word", "B": "${A}"},
                cwd=str(tmp_path / "sub"),
                required=True,
                deny=("x*", "[ab]?"),
                start_timeout=7.5,
                scope="shared",
                prefix="",
                era="legacy",
            ),
            ServerSettings(
                name="docs",
                transport="http",
                url="https://example.org/mcp",
                headers={"Authorization": "Bearer t0k"},
                enabled=False,
                allow=("read_*",),
                timeout=5.0,
                prefix="d",
            ),
            ServerSettings(name="old", transport="sse", url="http://[::1]:8080/sse"),
        ),
    )


@pytest.mark.parametrize("text", ["", "\ufeff# only a comment\r\n", "[servers]\n[gateway]\n"])
def test_an_empty_file_means_the_defaults(read: Read, text: str) -> None:
    assert read(text) == Loaded(
        Settings("servers.toml"),
        places=read(text).places,
    )


def test_no_file_means_the_defaults() -> None:
    assert load(None, {}) == Loaded(Settings(""))


def test_paths_begin_at_the_folder_of_the_file_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "s.toml").write_text(
        '[servers.a]\ncommand = "./run"\ncwd = "."\n'
        '[servers.b]\ncommand = "~/bin/run"\ncwd = "~"\n'
        '[servers.c]\ncommand = "/bin/sh"\ncwd = "${X}/y"\n'
        '[servers.d]\ncommand = "sh"\n'
    )
    monkeypatch.chdir(tmp_path)

    loaded = load(Path("conf/s.toml"), {"HOME": "/home/kim", "X": "/tmp"})

    assert [(entry.command, entry.cwd) for entry in loaded.settings.servers] == [
        (str(tmp_path / "conf" / "run"), str(tmp_path / "conf")),
        (str(Path("/home/kim/bin/run")), str(Path("/home/kim"))),
        (str(Path("/bin/sh")), str(Path("/tmp/y"))),
        ("sh", ""),
    ]


def test_a_home_that_nobody_knows_is_a_problem_of_the_server_that_needs_it(read: Read) -> None:
    loaded = read('[servers.a]\ncommand = "~/run"\n')

    assert loaded.settings.servers[0].problem == (
        "servers.toml:2: servers.a.command: begins with ~ but HOME is not set; write the whole path"
    )


def test_a_limit_below_the_default_minimum_lowers_it(read: Read) -> None:
    assert read("[selector]\nlimit = 3\n").settings.selector.minimum == 3


def test_what_variables_gave_to_a_server_is_known_as_secret(read: Read) -> None:
    text = """
[servers.one]
command = "run"
args = ["--key=${KEY}", "--zone=${TZ}", "${HOME}/x", "${NONE:-plain}"]
env = { A = "${OTHER}" }
[servers.two]
command = "run"
"""
    variables = {"KEY": "k-1", "OTHER": "o-1", "TZ": "UTC", "HOME": "/home/me", "MORE": "m-1"}
    one, two = read(text, **variables).settings.servers

    assert (one.secrets, two.secrets) == (("k-1", "o-1"), ())


def test_secrets_are_in_no_representation(read: Read) -> None:
    shown = repr(read(EVERYTHING.replace('"--local-timezone"', '"--key=${TOKEN}"'), TOKEN="t0k"))

    assert "t0k" not in shown
    assert "pa$$word" not in shown


def test_keys_that_go_with_the_other_kind_of_server_are_only_remarked(read: Read) -> None:
    loaded = read(
        '[servers.a]\nurl = "http://h/"\nenv = { A = "1" }\nargs = []\ncwd = "."\n'
        '[servers.b]\ncommand = "c"\nheaders = { A = "1" }\n'
    )

    assert loaded.problems == ()
    assert [str(remark) for remark in loaded.remarks] == [
        "servers.toml:3: servers.a.env: has no effect beside a url",
        "servers.toml:5: servers.a.cwd: has no effect beside a url",
        "servers.toml:8: servers.b.headers: has no effect beside a command",
    ]


def test_a_broken_server_keeps_its_siblings(read: Read) -> None:
    loaded = read('[servers.a]\nenv = { B = "${NO}" }\ncommand = "x"\n[servers.b]\ncommand = "y"\n')

    what = "the variable NO is not set; set it, or write ${NO:-default}"
    assert loaded.problems == (Problem("servers.toml", 2, "servers.a.env.B", what),)
    assert loaded.settings.servers == (
        ServerSettings("a", command="x", problem=f"servers.toml:2: servers.a.env.B: {what}"),
        ServerSettings("b", command="y"),
    )


def test_the_problem_of_a_server_says_how_many_more_there_are(read: Read) -> None:
    (entry,) = read(
        '[servers.a]\ncommand = "x"\nargs = 1\nenabled = 2\ndeny = [1]\n'
    ).settings.servers

    assert entry.problem == (
        "servers.toml:3: servers.a.args: the value is not an array of strings; "
        'write args = ["one", "two"] (and 2 more)'
    )


def test_a_broken_server_that_is_required_stops_everything(read: Read) -> None:
    with pytest.raises(ConfigError) as caught:
        read('[servers.a]\nrequired = true\n[servers.b]\nurl = "x"\n')

    assert [problem.line for problem in caught.value.problems] == [1, 4]


def test_a_server_that_is_switched_off_needs_no_variables(read: Read) -> None:
    text = '[servers.a]\nenabled = false\nrequired = true\nurl = "https://h/${NO}"\n'
    loaded = read(text)

    assert loaded.problems == ()
    assert loaded.settings.servers[0].problem == ""


def test_a_selector_that_is_not_in_use_needs_no_variables(read: Read) -> None:
    text = '[selector.rewriting]\napi_key = "${NO}"\nmodel = "m"\n'
    loaded = read(text)

    assert loaded.settings.selector.options == {"rewriting": {"model": "m"}}
    assert [(remark.line, remark.key) for remark in loaded.remarks] == [
        (2, "selector.rewriting.api_key")
    ]


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("servers", "a", "deny", 1), "servers.toml:3: servers.a.deny[1]: is odd"),
        (("servers", "a", "allow"), "servers.toml:1: servers.a.allow: is odd"),
        (("selector", "always", 0), "servers.toml:5: selector.always[0]: is odd"),
        (("gateway", "surface"), "servers.toml:1: gateway.surface: is odd"),
        (("profiles", "x"), "servers.toml: profiles.x: is odd"),
    ],
)
def test_a_place_in_the_file_can_be_named_later(
    read: Read, path: tuple[str | int, ...], shown: str
) -> None:
    loaded = read('[servers.a]\ncommand = "c"\ndeny = ["a", "b"]\n[selector]\nalways = ["x"]\n')

    assert str(loaded.problem("is odd", *path)) == shown


def test_the_table_of_the_issue_that_shows_every_key_is_right(read: Read) -> None:
    text = """
        [servers.docs]
        url = "https://example.org/mcp"        # transport = "http" (default for a url) or "sse"
        headers = { Authorization = "Bearer ${DOCS_TOKEN}" }
        required = false
        enabled = true
        allow = ["read_*"]
        deny = []
        timeout = 60                # seconds a call may take;  start_timeout = 20
        scope = "session"           # or "shared"
        prefix = "docs"
        env = { }                   # added to a documented inherited set
        cwd = "."
    """

    assert read(text, DOCS_TOKEN="x").problems == ()
