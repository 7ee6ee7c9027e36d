"""What an embedder is: it turns prompts and tools into vectors whose cosine says how well they fit.

Embedders are made by name through the entry-point group ``toolpick.embedders`` (see ``registry``),
with the options of the settings' table of the same name. Their calls block, and whoever is not
``quick`` is called from a worker thread; one thread calls ``embed_tools`` while another may call
``embed_queries``. Loading a model belongs into the first call, not into the constructor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from toolpick_selectors.words import spaced

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from toolpick_selectors.contract import Tool

TEXT_CHARS = 20_000
"""A tool's text is read up to here; longer ones are only ever sent by hostile or broken servers."""
PARAMETERS = 100


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors.

    ``model`` is the model's identity, its version included: vectors of two models never mix.
    ``quick`` says that a query takes well under a millisecond and no I/O, so that no thread is
    needed.
    """

    model: str
    quick: bool

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row a prompt, each of length 1, or all zeros where the model knows no word.

        Raises:
            SelectionError: the model can't be loaded or reached; the message is shown to people.
        """
        ...

    def embed_tools(self, tools: Sequence[Tool]) -> NDArray[np.float32]:
        """One row a tool, each of length 1 or 0, from the whole of ``describe(tool)``.

        A text that is longer than the model's window is ``cut``, and the mean of its parts taken.

        Raises:
            SelectionError: the model can't be loaded or reached.
        """
        ...


def describe(tool: Tool) -> str:
    """All that is said about a tool, as one text: what is embedded, and the key of its vector."""
    title = f" ({tool.title})" if tool.title and tool.title != tool.name else ""
    named = f"{spaced(tool.server)} {spaced(tool.name)}".strip() + title
    arguments = ", ".join(spaced(parameter.name) for parameter in tool.parameters[:PARAMETERS])
    text = f"{named}: {' '.join(tool.description[:TEXT_CHARS].split())}"
    return (f"{text}. Arguments: {arguments}" if arguments else text)[:TEXT_CHARS]


def cut(text: str, size: int) -> list[str]:
    """``text`` cut into pieces of at most ``size`` characters, at spaces where there are any."""
    pieces: list[str] = []
    while len(text) > size:
        space = text.rfind(" ", size // 2, size + 1)
        end = space if space > 0 else size
        pieces.append(text[:end])
        text = text[end:].lstrip()
    return [*pieces, text] if text or not pieces else pieces
