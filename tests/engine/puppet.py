"""A real stdio server that a test plays: what comes in goes to the test, what it says goes out.

`python puppet.py PORT NAME` connects to the test at PORT of the loopback interface and says its
name. A line from there that begins with `!` is an order: `!exit N`, `!stderr TEXT`.
"""

import os
import socket
import sys
import threading


def obey(test: socket.socket) -> None:
    """Write what the test says to stdout, until it hangs up."""
    for line in test.makefile("rb"):
        word, _, rest = line.partition(b" ")
        if word == b"!exit":
            os._exit(int(rest))
        elif word == b"!stderr":
            os.write(2, rest)
        else:
            while line:
                line = line[os.write(1, line) :]
    os._exit(0)


def main() -> None:
    """Carry stdin to the test until it ends."""
    test = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    test.sendall(sys.argv[2].encode() + b"\n")
    threading.Thread(target=obey, args=(test,), daemon=True).start()
    while data := os.read(0, 65_536):
        test.sendall(data)


main()
