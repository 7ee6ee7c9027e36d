"""Builds real ONNX models of a few words, with their tokenizers, small enough to write in a test.

The embedder gives every word a direction of its own and averages; the cross-encoder counts the
words that query and text share. Both are run by onnxruntime through fastembed as any other model.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = [
    *("send", "email", "to", "my", "boss", "forecast", "rain", "weather", "city"),
    *("file", "read", "path", "delete", "stop"),
]
OPSET = 17


def write_embedder(folder: Path, graph: str = "model.onnx", window: int = 16) -> Path:
    """A folder with a sentence transformer that averages its words."""
    _write_tokenizer(folder, window)
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    inputs = [_input("input_ids"), _input("attention_mask")]
    output = helper.make_tensor_value_info("words", TensorProto.FLOAT, ["batch", "length", None])
    _write(folder / graph, nodes, inputs, output, {"table": _directions()})
    return folder


def write_cross_encoder(folder: Path, graph: str = "model.onnx") -> Path:
    """A folder with a cross-encoder whose score is the number of shared words."""
    _write_tokenizer(folder, 64)
    node = helper.make_node
    nodes = [
        node("Gather", ["table", "input_ids"], ["words"]),
        node("Cast", ["token_type_ids"], ["in_text"], to=TensorProto.FLOAT),
        node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        node("Sub", ["real", "in_text"], ["in_query"]),
        node("Unsqueeze", ["in_text", "last"], ["text_mask"]),
        node("Unsqueeze", ["in_query", "last"], ["query_mask"]),
        node("Mul", ["words", "text_mask"], ["text_words"]),
        node("Mul", ["words", "query_mask"], ["query_words"]),
        node("ReduceSum", ["text_words", "middle"], ["text"], keepdims=0),
        node("ReduceSum", ["query_words", "middle"], ["query"], keepdims=0),
        node("Mul", ["text", "query"], ["shared"]),
        node("ReduceSum", ["shared", "middle"], ["logits"], keepdims=1),
    ]
    inputs = [_input("input_ids"), _input("attention_mask"), _input("token_type_ids")]
    output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 1])
    constants = {"table": _directions(), "last": np.array([2]), "middle": np.array([1])}
    _write(folder / graph, nodes, inputs, output, constants)
    return folder


def _directions() -> np.ndarray:
    """One axis for each word; padding and unknown words point nowhere."""
    table = np.eye(len(WORDS) + 2, dtype=np.float32)
    table[:2] = 0
    return table


def _input(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])


def _write(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    output: onnx.ValueInfoProto,
    constants: dict[str, np.ndarray],
) -> None:
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", inputs, [output], held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())


def _write_tokenizer(folder: Path, window: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: at for at, word in enumerate(["[PAD]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0", pair="$A:0 $B:1", special_tokens=[]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    sides = {
        "tokenizer_config.json": {"model_max_length": window, "pad_token": "[PAD]"},
        "config.json": {"pad_token_id": 0},
        "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
    }
    for name, content in sides.items():
        (folder / name).write_text(json.dumps(content))
