import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.programs import PATIENCE

from toolpick.hook.asking import LARGEST, ask
from toolpick.hook.beacons import Beacon


class Gateway:
    """A gateway of which only the socket is real."""

    def __init__(self, folder: Path, name: str, answer: bytes | None) -> None:
        self.beacon = Beacon(str(folder / f"{name}.json"), {"pid": 1})
        self.heard: list[Any] = []
        self._answer = answer
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(PATIENCE)
        self._listener.bind(self.beacon.socket)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        with connection, connection.makefile("rb") as lines:
            self.heard.append(json.loads(lines.readline()))
            if self._answer is None:
                connection.settimeout(PATIENCE)
                connection.recv(1)  # until the hook has given up
            else:
                try:
                    connection.sendall(self._answer)
                except OSError:
                    return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()
        self._thread.join(PATIENCE)


@contextmanager
def gateways(folder: Path, *answers: bytes | None) -> Iterator[list[Gateway]]:
    made = [Gateway(folder, f"{n}", answer) for n, answer in enumerate(answers)]
    try:
        yield made
    finally:
        for one in made:
            one.close()


def soon(seconds: float = PATIENCE) -> float:
    return time.monotonic() + seconds


def test_every_gateway_is_asked_and_heard(tmp_path: Path) -> None:
    with gateways(tmp_path, b'{"context":"one"}\n', b'{"context":"two"}\n') as made:
        answers = ask([one.beacon for one in made], {"command": "prompt"}, soon())

        assert sorted(answer["context"] for answer in answers) == ["one", "two"]
        assert [one.heard for one in made] == [[{"command": "prompt"}]] * 2


def test_a_gateway_that_hangs_costs_the_others_nothing(tmp_path: Path) -> None:
    with gateways(tmp_path, None, b'{"context":"two"}\n') as made:
        answers = ask([one.beacon for one in made], {}, soon(0.2))

        assert answers == [{"context": "two"}]


def test_answers_without_meaning_are_left_out(tmp_path: Path) -> None:
    with gateways(tmp_path, b"", b"no JSON\n", b"[1]\n", b"x" * (LARGEST + 2), b'{"a":1}') as made:
        assert ask([one.beacon for one in made], {}, soon()) == [{"a": 1}]


def test_what_a_dead_gateway_left_behind_is_removed(tmp_path: Path) -> None:
    beacon = Beacon(str(tmp_path / "a.json"), {"pid": 1})
    Path(beacon.path).write_text("{}")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(beacon.socket)
    lost = Beacon(str(tmp_path / "b.json"), {"pid": 1})
    Path(lost.path).write_text("{}")

    assert ask([beacon, lost], {}, soon()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_no_socket_stays(tmp_path: Path) -> None:
    beacon = Beacon(str(tmp_path / "a.json"), {"pid": 1})
    Path(beacon.socket).mkdir()

    assert ask([beacon], {}, soon()) in ([],)
    time_is_up = time.monotonic()
    assert ask([beacon], {}, time_is_up) == []


def test_where_there_are_no_unix_sockets_a_port_is_asked_with_the_secret(tmp_path: Path) -> None:
    heard: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                heard.append(json.loads(lines.readline()))
                connection.sendall(b'{"a":1}\n')

        thread = threading.Thread(target=serve)
        thread.start()
        said = {"pid": 1, "tcp": listener.getsockname()[1], "secret": "hush"}
        answers = ask([Beacon(str(tmp_path / "a.json"), said)], {"command": "status"}, soon())
        thread.join(PATIENCE)

    assert answers == [{"a": 1}]
    assert heard == [{"command": "status", "secret": "hush"}]
