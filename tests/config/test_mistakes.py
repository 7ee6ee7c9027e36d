"""What is wrong with a settings file: every mistake, where it stands, and what to write instead."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolpick.config.load import Loaded, load
from toolpick.errors import ConfigError

Mistakes = Callable[..., list[str]]

NAMES = "write letters, digits, _ and - only, a letter or digit first, at most 32"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("surfce = 1", "surfce: is not a key of [gateway]; write surface"),
        (
            "zzz = 1",
            "zzz: is not a key of [gateway]; the keys are surface, threshold_tokens, stability, "
            "list_changes, enforce, list_wait, max_tools, schemas, max_sessions, token, pass_env",
        ),
        (
            'surface = "ful"',
            'surface: "ful" is not one of auto, full, turn, search, stubs, provider; write "full"',
        ),
        ("surface = 3", "surface: 3 is not a string; write it in double quotes"),
        ('schemas = "?"', 'schemas: "?" is not one of asis, flat; write "asis"'),
        (
            'max_tools = "12"',
            'max_tools: "12" is not a whole number; write one, such as 20',
        ),
        ("max_tools = true", "max_tools: true is not a whole number; write one, such as 20"),
        ("max_tools = 1.5", "max_tools: 1.5 is not a whole number; write one, such as 20"),
        (
            "max_tools = 0",
            "max_tools: 0 is out of bounds; write more than 0, at most 1000000000",
        ),
        (
            f"max_tools = 0x{'f' * 9000}",
            "max_tools: the number is out of bounds; write more than 0, at most 1000000000",
        ),
        (
            "list_wait = nan",
            "list_wait: nan is out of bounds; write 0 or more, at most 1000000000",
        ),
        (
            "list_wait = 1979-05-27",
            "list_wait: a date or time is not a number of seconds; write one, such as 2.5",
        ),
        (
            "token = 12345",
            "token: the value is not a string; write it in double quotes",
        ),
        (
            'token = "a b"',
            "token: the value holds a blank or another character that no token has; take it out",
        ),
        ('token = "${NO}"', "token: the variable NO is not set; set it, or write ${NO:-default}"),
        (
            'token = "${A:-${B}}"',
            "token: the default of A holds another ${; write one without variables",
        ),
        ('token = "\\u0000"', "token: holds a NUL or half a character; take it out"),
        (
            'pass_env = ["AWS_*"]',
            'pass_env[0]: "AWS_*" is no name of a variable; write each name in full',
        ),
        (
            'pass_env = "A"',
            'pass_env: "A" is not an array of strings; write pass_env = ["one", "two"]',
        ),
    ],
)
def test_a_mistake_in_the_gateway_table(mistakes: Mistakes, line: str, message: str) -> None:
    assert mistakes(f"[gateway]\n\n{line}\n") == [f"servers.toml:3: gateway.{message}"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            'always = ["a",\n"b", "a"]',
            'always[2]: "a" is given twice, first in line 2; keep one',
        ),
        (
            'always = [\n"a b"]',
            'always[0]: "a b" is no name of a tool; '
            "write it as `toolpick tools` prints it, such as time__get_current_time",
        ),
        (
            "limit = 3\nminimum = 4",
            "minimum: 4 is more than the limit, which is 3; write at most 3",
        ),
        (
            "\nlmit = 3",
            "lmit: is not a key of [selector]; write limit",
        ),
        (
            "\nlexical = 3",
            "lexical: is not a key of [selector]; the keys are "
            "kind, limit, minimum, per_server, always, timeout",
        ),
        (
            '\nhybrid.x = ["${NO}"]',
            "hybrid.x[0]: the variable NO is not set; set it, or write ${NO:-default}",
        ),
    ],
)
def test_a_mistake_in_the_selector_table(mistakes: Mistakes, lines: str, message: str) -> None:
    assert mistakes(f"[selector]\n{lines}\n") == [f"servers.toml:3: selector.{message}"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", ': has neither a command nor a url; write command = "program"'),
        ('command = "c"\nurl = "http://h"', ": has both a command and a url; keep one of them"),
        ('comand = "c"', ".comand: is not a key of [servers.NAME]; write command"),
        (
            'command = "npx -y x"',
            ".command: holds blanks; name the program alone and put the rest into args",
        ),
        ('command = " "', ".command: is empty; name a program"),
        (
            'command = "c"\ntransport = "http"',
            '.transport: "http" does not go with a command; write "stdio" or leave it out',
        ),
        (
            'url = "http://h"\ntransport = "stdio"',
            '.transport: "stdio" does not go with a url; write "http" or leave it out',
        ),
        (
            'url = "http://h"\ntransport = "htttp"',
            '.transport: "htttp" is not one of stdio, http, sse; write "http"',
        ),
        *(
            (f'url = "{url}"', '.url: is not an address; write it as "https://host/path"')
            for url in (
                "",
                "h/mcp",
                "ftp://h",
                "http://",
                "http://h:0",
                "http://h:x",
                "http://[",
                "http://h/a b",
            )
        ),
        (
            'command = "c"\nprefix = "a.b"',
            f'.prefix: "a.b" is not allowed; {NAMES}',
        ),
        (
            'command = "c"\nenv = { "A=B" = "x" }',
            '.env."A=B": is no name of a variable; write letters, digits and _',
        ),
        (
            'command = "c"\nenv = { A = 1234 }',
            ".env.A: the value is not a string; write it in double quotes",
        ),
        (
            'command = "c"\nenv = ["A=1234"]',
            '.env: the value is not a table of strings; write env = { NAME = "value" }',
        ),
        (
            'url = "http://h"\nheaders = { "X Y" = "x" }',
            '.headers."X Y": is no name of a header; write letters, digits and -',
        ),
        (
            'url = "http://h"\nheaders = { "X" = "x\\ny" }',
            ".headers.X: the value holds a line break or another character that no header can "
            "carry; take it out",
        ),
        (
            'command = "c"\ndeny = ["a", "b ["]',
            '.deny[1]: "b [" has a [ that is never closed; write [[] for the character itself',
        ),
        (
            'command = "c"\nallow = [" a"]',
            '.allow[0]: " a" is empty or has blanks around it, so it matches nothing; '
            "write a name or a pattern",
        ),
        ('command = "c"\nenabled = "no"', '.enabled: "no" is not a flag; write true or false'),
        (
            f'command = "c"\nenabled = "{"n" * 70}"',
            f'.enabled: "{"n" * 59}…" is not a flag; write true or false',
        ),
    ],
)
def test_a_mistake_in_a_server(mistakes: Mistakes, line: str, message: str) -> None:
    (found,) = mistakes(f"[servers.x]\n{line}\n")

    place, _, what = found.partition(": servers.x")
    assert what == message
    begin = 1 if message.startswith(":") else 1 + len(line.splitlines())
    assert place == f"servers.toml:{begin}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[server.a]", "server: is not known here; write servers"),
        ("[zzz]", "zzz: is not known here; the keys are gateway, selector, servers"),
        ("gateway = 3", "gateway: 3 is not a table; write [gateway]"),
        ("servers = []", "servers: an array is not a table; write [servers]"),
        ("servers.a = 3", "servers.a: 3 is not a table; write one with a command or a url"),
        (
            '[servers."my shop.é"]',
            f'servers."my shop.é": the name "my shop.é" is not allowed; {NAMES}, such as my-shop-e',
        ),
        ('[servers."名"]', f'servers."名": the name "名" is not allowed; {NAMES}'),
        (
            '[servers."a\\nb"]',
            f'servers."a\\nb": the name "a\\nb" is not allowed; {NAMES}, such as a-b',
        ),
        ("a = 1\na = 2", "is not valid TOML: "),
        ("a = 'b", "is not valid TOML: "),
    ],
)
def test_a_mistake_in_the_file(mistakes: Mistakes, text: str, message: str) -> None:
    (found,) = mistakes(text)

    assert found.partition(": ")[2].startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "x = 1\n[a]\n[a]",
            "3: is not valid TOML: cannot declare ('a',) twice in column 3; "
            "this table was begun before; put its keys together",
        ),
        (
            '\nx = "C:\\Users"',
            "2: is not valid TOML: invalid hex value in column 10; "
            "in double quotes write \\\\ for a backslash, or put the text in single quotes",
        ),
        (
            "x = [1,\n\n\n",
            "1: is not valid TOML: invalid value at the end of the file; "
            "a string stands in quotes, a flag is true or false",
        ),
        (
            "x = yes",
            "1: is not valid TOML: invalid value in column 5; "
            "a string stands in quotes, a flag is true or false",
        ),
        ("x = " + "9" * 5000, " a whole number has too many digits; no setting needs that"),
        ("x = " + "[" * 5000, " tables or arrays are nested too deeply; no setting needs that"),
        (
            "[selector]\n" + ".".join("a" * 5000) + " = 1",
            " tables or arrays are nested too deeply; no setting needs that",
        ),
        (b"# fine\n\nx = '\xff'", "3: is not UTF-8; save it in that encoding"),
    ],
)
def test_a_file_that_is_no_toml(mistakes: Mistakes, text: str | bytes, message: str) -> None:
    assert mistakes(text) == [f"servers.toml:{message}"]


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("nowhere.toml", "nowhere.toml: there is no such file; name one with --config"),
        (".", ".: can't be read: is a directory"),
        ("a\0b", "a\0b: can't be read: embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_read(
    path: str, what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load(Path(path), {})

    assert str(caught.value) == what


def test_all_mistakes_are_told_at_once_in_the_order_of_the_lines(mistakes: Mistakes) -> None:
    text = '[servers.a]\nurl = "x"\n[selector]\nlimit = 0\n'
    text += "[servers.b]\ncommand = 1\n[gateway]\nx = 1\n"

    assert [
        message.split(": ")[0] + " " + message.split(": ")[1] for message in mistakes(text)
    ] == [
        "servers.toml:2 servers.a.url",
        "servers.toml:4 selector.limit",
        "servers.toml:6 servers.b.command",
        "servers.toml:8 gateway.x",
    ]


def test_no_message_shows_a_secret(mistakes: Mistakes) -> None:
    text = """
        gateway.token = ["s3cret"]
        [servers.a]
        command = "c"
        args = "--key=s3cret"
        env = { A = ["s3cret"], B = "s3cret\\u0000" }
        [servers.b]
        url = "ftp://kim:s3cret@host/"
        headers = { A = "s3cret\\n", B = "${S}" }
        [servers.c]
        url = ["s3cret"]
        headers = { A = 5 }
    """

    found = mistakes(text, S="s3cret\n")

    assert len(found) == 9
    assert "s3cret" not in "\n".join(found)


NOISE = st.sampled_from(
    [
        "# a comment with [brackets] and = signs\n",
        "\n\r\n",
        '[servers.sNUM]\ncommand = """\nc"""\n',
        "[servers.sNUM]\ncommand = 'c'\nargs = [\n  # none\n  'x',\n]\n",
        '[servers.sNUM.env]\nA = """\\\n  b"""\n[servers.sNUM]\ncommand = "c"\n',
        "servers.sNUM = { command = 'c', args = ['a',\n 'b'] }\n",
        "[selector.kNUM]\nx = [[1],\n[2]]\n[[selector.kNUM.y]]\n[[selector.kNUM.y]]\n",
    ]
)


def document(parts: list[str], mistake: str, place: int) -> str:
    """Join parts, those that stand for the root table first, with a mistake planted in between."""
    parts = [*parts[:place], mistake, *parts[place:]]
    parts.sort(key=lambda part: part.startswith(("[", mistake)))
    return "".join(part.replace("NUM", str(number)) for number, part in enumerate(parts))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(NOISE, max_size=8),
    st.sampled_from(
        [
            ("[servers.planted]\nx1x = 5\ncommand = 'c'\n", "servers.planted.x1x"),
            (
                "[servers.planted]\ncommand = 'c'\nargs = ['''\n''',\n'${X1X}']\n",
                "servers.planted.args[1]",
            ),
            (
                "[servers.planted]\ncommand = 'c'\n[servers.planted.env]\nX1X = 1\n",
                "servers.planted.env.X1X",
            ),
            ("[gateway]\nlist_wait = 2\nx1x = 'a'\n", "gateway.x1x"),
            ("[x1x]\n", "x1x"),
        ]
    ),
    st.integers(0, 8),
)
def test_a_planted_mistake_is_found_on_its_line(
    mistakes: Mistakes, parts: list[str], planted: tuple[str, str], place: int
) -> None:
    text = document(parts, planted[0], place)

    (found,) = mistakes(text)

    line = text.count("\n", 0, text.lower().index("x1x")) + 1
    assert found.startswith(f"servers.toml:{line}: {planted[1]}: ")


WORDS = st.sampled_from(
    [
        *("[", "]", "[[", "{", "}", "=", ".", ",", "\n", '"', "'", '"""', "#", "\\", " ", "\r"),
        *("gateway", "selector", "servers", "mcpServers", "command", "url", "args", "env", "a"),
        *("always", "limit", "[servers.a]\n", "[gateway]\n", "0x", "1", "true", "nan", "${A}", ":"),
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.binary(), st.text(), st.lists(WORDS).map("".join)),
    st.sampled_from(["servers.toml", "servers.json"]),
)
def test_any_file_is_read_or_refused(
    read: Callable[..., Loaded], content: str | bytes, file: str
) -> None:
    data = content if isinstance(content, bytes) else content.encode(errors="surrogatepass")
    try:
        loaded = read(data, file)
    except ConfigError:
        pass
    else:
        assert loaded.settings.path == file


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.text(max_size=2), st.sampled_from(["a", "env"])), inner, max_size=3
        ),
    ),
    max_leaves=5,
)
KEYS = st.sampled_from(
    [
        *("command", "args", "env", "cwd", "url", "transport", "headers", "required", "enabled"),
        *("allow", "deny", "timeout", "prefix", "scope", "type", "disabled", "includeTools", "zz"),
        *("surface", "token", "pass_env", "kind", "limit", "minimum", "always", "list_wait"),
    ]
)
TABLES = st.one_of(VALUES, st.dictionaries(KEYS, VALUES, max_size=4))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.sampled_from(["gateway", "selector", "servers", "mcpServers", "else"]),
        st.one_of(TABLES, st.dictionaries(st.text(max_size=3), TABLES, max_size=3)),
    )
)
def test_any_values_are_read_or_refused(read: Callable[..., Loaded], tree: object) -> None:
    try:
        loaded = read(json.dumps(tree), "servers.json")
    except ConfigError as error:
        str(error).encode()
    else:
        broken = [entry for entry in loaded.settings.servers if entry.problem]
        assert bool(loaded.problems) == bool(broken)
