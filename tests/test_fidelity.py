"""What passes through the gateway stays as it was written: any JSON, both eras, pipes and HTTP.

One gateway process per way in, one scripted raw server behind it; hypothesis writes the JSON as
text, so that `1.0`, `1e2`, escapes and blanks are under test too, not only values.
"""

import json
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.programs import PATIENCE, SERVERS, end, free_port, mounting, serve, wait_for_port
from tests.raw_client import Client, Http, Pipes, read

ANY_TOOL = '{"name":"any_tool","inputSchema":{"type":"object"}}'
WAYS = ("stdio-legacy", "stdio-modern", "http-legacy", "http-modern")
QUICK = settings(
    max_examples=40,
    database=None,
    phases=(Phase.generate,),  # a way to shorten an example is a gateway's answer each step
    suppress_health_check=[HealthCheck.too_slow],
)

blanks = st.sampled_from(["", "", "", " ", "  ", "\t"])
numbers = st.one_of(
    st.integers().map(str),
    st.integers(min_value=10**18, max_value=10**40).map(str),
    st.sampled_from(["1.0", "-0", "-0.0", "1e2", "1E+2", "0.10", "1e-7", "123456789012345.678900"]),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A JSON string, its characters escaped or not."""
    return json.dumps(draw(st.text(max_size=12)), ensure_ascii=draw(st.booleans()))


@st.composite
def objects(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """A JSON object with blanks here and there and its keys in any order."""
    keys = draw(st.lists(texts(), max_size=4, unique_by=json.loads))
    members = [f"{key}{draw(blanks)}:{draw(blanks)}{draw(values)}" for key in keys]
    return "{" + draw(blanks) + f",{draw(blanks)}".join(members) + "}"


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    """A JSON array with blanks here and there."""
    return "[" + f"{draw(blanks)},".join(draw(st.lists(values, max_size=4))) + draw(blanks) + "]"


leaves = st.one_of(st.sampled_from(["null", "true", "false"]), numbers, texts())
anything = st.recursive(leaves, lambda inner: objects(inner) | arrays(inner), max_leaves=12)
arbitrary = objects(anything)


@st.composite
def with_members(draw: st.DrawFn, known: dict[str, st.SearchStrategy[str]], mark: str = "") -> str:
    """An object with these members and unknown ones of any value, in any order.

    Unknown keys begin with `mark`; none is a name that the protocol gives a meaning.
    """
    members = {json.dumps(key): draw(values) for key, values in known.items()}
    for key in draw(st.lists(st.text(max_size=8), max_size=3)):
        if mark + key not in RESERVED | known.keys():
            members[json.dumps(mark + key, ensure_ascii=draw(st.booleans()))] = draw(anything)
    order = draw(st.permutations(sorted(members)))
    return "{" + ",".join(f"{key}:{members[key]}" for key in order) + "}"


RESERVED = {
    *("name", "title", "description", "icons", "annotations", "execution", "_meta"),
    *("content", "structuredContent", "isError", "inputSchema", "outputSchema", "type", "text"),
    *("inputRequests", "requestState", "readOnlyHint", "destructiveHint", "idempotentHint"),
    "openWorldHint",
}
kinds = st.sampled_from(['"string"', '"integer"', '"array"', '["null","boolean"]'])
properties = objects(with_members({"type": kinds, "default": anything}, mark="x-"))
schemas = with_members({"type": st.just('"object"'), "properties": properties}, mark="x-")
definitions = with_members(
    {
        "name": st.just('"some_tool"'),
        "description": texts(),
        "inputSchema": schemas,
        "annotations": with_members({"readOnlyHint": st.sampled_from(["true", "false"])}),
        "_meta": arbitrary,
    }
)
blocks = with_members({"type": st.just('"text"'), "text": texts(), "_meta": arbitrary})
results = with_members(
    {
        "resultType": st.just('"complete"'),
        "content": arrays(blocks),
        "structuredContent": arbitrary,
        "isError": st.sampled_from(["true", "false"]),
        "_meta": arbitrary,
    }
)


@dataclass(slots=True)
class Server:
    """One replay process: what it is told goes out here, that it has heard comes in."""

    file: BinaryIO
    done: "queue.Queue[bytes]"

    def tell(self, line: bytes) -> None:
        """Tell, and return when it has heard; one that has ended is passed over."""
        try:
            self.file.write(line)
            self.file.flush()
            self.done.get(timeout=PATIENCE)
        except (OSError, ValueError):
            return


class Script:
    """The test's end of the replay servers: tells all of them, hears all of them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._servers: list[Server] = []
        self._said: dict[str, bytes] = {}
        self._calls: queue.Queue[bytes] = queue.Queue()
        self._ready = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def say(self, word: str, raw: str) -> None:
        """Script every server, and those that come later."""
        line = self._said[word] = f"{word} {raw}\n".encode()
        for server in self._servers:
            server.tell(line)

    def wait_until_heard(self) -> None:
        """Return when the gateway would hear of a change."""
        assert self._ready.wait(PATIENCE)

    def called(self) -> bytes:
        """The next call that arrived at a server, as a raw line."""
        return self._calls.get(timeout=PATIENCE)

    def close(self) -> None:
        """Hang up."""
        self._listener.close()
        for server in self._servers:
            server.file.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                server = Server(connection.makefile("rwb"), queue.Queue())
            threading.Thread(target=self._hear, args=(server,), daemon=True).start()
            for line in self._said.values():
                server.tell(line)
            self._servers.append(server)

    def _hear(self, server: Server) -> None:
        try:
            for line in server.file:
                told = line.rstrip(b"\n")
                if told == b"ready":
                    self._ready.set()
                else:
                    (server.done if told == b"done" else self._calls).put(told)
        except (OSError, ValueError):
            return


@dataclass(slots=True)
class Rig:
    """A client, the gateway between, and the script of the server behind."""

    client: Client
    script: Script
    changes: int = 0

    def call(self, arguments: str) -> tuple[bytes, bytes]:
        """Call the tool; the arguments that arrived, and the result that came back."""
        name = {"name": "any_tool"}
        answer = self.client.request("tools/call", name, arguments=arguments.encode())
        assert not bytes(answer.error), bytes(answer.error)
        arrived = member(bytes(read(self.script.called()).params), "arguments")
        return arrived, bytes(answer.result)

    def listed(self, definition: str) -> tuple[bytes, bytes]:
        """Let the server have this tool under a new name: what it wrote, what the client sees."""
        self.changes += 1
        written = definition.replace('"some_tool"', f'"tool_{self.changes}"')
        self.script.say("tools", f"[{written},{ANY_TOOL}]")
        self.client.wait_for_change()
        tools = member(bytes(self.client.request("tools/list", {}).result), "tools")
        listed = [bytes(tool) for tool in msgspec.json.decode(tools, type=list[msgspec.Raw])]
        by_name = {json.loads(tool)["name"]: tool for tool in listed}
        assert by_name.keys() == {"any_tool", f"tool_{self.changes}"}
        return written.encode(), by_name[f"tool_{self.changes}"]


def members(definition: bytes) -> dict[str, Any]:
    """A definition's members; their order means nothing, and a catalog keeps its own."""
    raw = msgspec.json.decode(definition, type=dict[str, msgspec.Raw])
    return {key: exactly(bytes(value)) for key, value in raw.items()}


def member(text: bytes, key: str) -> bytes:
    """One member of an object, as it was written."""
    return bytes(msgspec.json.decode(text, type=dict[str, msgspec.Raw])[key])


def exactly(text: bytes) -> Any:
    """Parsed so that the order of keys, `1.0` and big numbers make a difference."""
    return json.loads(
        text,
        object_pairs_hook=lambda pairs: ("object", tuple(pairs)),
        parse_int=lambda digits: ("number", digits),
        parse_float=lambda digits: ("number", digits),
    )


@pytest.fixture(scope="module", params=WAYS)
def rig(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    """A gateway for all examples of one way in."""
    transport, era = request.param.split("-")
    script = Script()
    folder = tmp_path_factory.mktemp("fidelity")
    replay = [sys.executable, str(SERVERS / "replay.py"), str(script.port)]
    command = serve(mounting(folder, {"replay": replay}, 'prefix = ""'))
    port = free_port() if transport == "http" else None
    if port is not None:
        command += ["--http", "--port", str(port)]
    pipe = subprocess.PIPE
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, cwd=folder)
    client = Pipes(process, era == "modern") if port is None else Http(port, era == "modern")
    try:
        if port is not None:
            wait_for_port(port, process)
        client.open()
        client.request("tools/list", {})
        script.wait_until_heard()
        yield Rig(client, script)
    finally:
        client.close()
        end(process)
        script.close()


def test_definitions_come_out_equal(rig: Rig) -> None:
    @settings(QUICK, max_examples=20)
    @given(definitions)
    def check(definition: str) -> None:
        written, seen = rig.listed(definition)
        assert members(seen) == members(written)

    check()


def test_arguments_and_results_come_out_byte_for_byte(rig: Rig) -> None:
    @QUICK
    @given(arbitrary, results)
    def check(arguments: str, result: str) -> None:
        rig.script.say("result", result)
        assert rig.call(arguments) == (arguments.encode(), result.encode())

    check()


def test_line_breaks_in_a_posted_body_do_not_break_the_line_behind(rig: Rig) -> None:
    if isinstance(rig.client, Pipes):
        pytest.skip("a line cannot hold a line break")
    arguments = '{\n  "b": [1.0,\r\n 12345678901234567890],\n  "a": null\n}'
    arrived, _ = rig.call(arguments)
    assert exactly(arrived) == exactly(arguments.encode())
