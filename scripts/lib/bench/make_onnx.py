"""make_onnx.py GGUF FOLDER: the ONNX models that onnxruntime-web is measured with, from the very weights that the page ships.

  f32.onnx        f32 weights and arithmetic, grouped-query attention as one fused node
  int8.onnx       the same with int8 weights, one scale a column, and activations rounded to 8 bits as they come (DynamicQuantizeLinear)
  attention.onnx  f32 without a cache, every layer's attention weights as outputs attentions.N

Inputs of the first two: input_ids [1, S], past.N.key and past.N.value [1, n_kv_head, P, head_dim], total (P + S). Outputs: logits of the last
position [1, n_vocab], present.N.key and present.N.value. Needs numpy and onnx.
"""

import os
import struct
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MAX_POSITIONS = 2048
QUERY_TAIL = ("attn_q.weight", "attn_k.weight")


class Gguf:
    """Metadata and dequantised tensors of a GGUF file of version 3."""

    SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    STRING, ARRAY = 8, 9
    # type → (values a block, bytes a block)
    BLOCKS = {0: (1, 4), 3: (32, 20), 8: (32, 34)}

    def __init__(self, path):
        self.bytes = np.memmap(path, dtype=np.uint8, mode="r")
        self.at = 0
        if bytes(self.bytes[:4]) != b"GGUF":
            sys.exit(f"{path} is not a GGUF file")
        self.at = 8
        n_tensors, n_keys = self.read("Q"), self.read("Q")
        self.metadata = {self.text(): self.value(self.read("I")) for _ in range(n_keys)}
        self.directory = {}
        for _ in range(n_tensors):
            name = self.text()
            dims = [self.read("Q") for _ in range(self.read("I"))]
            self.directory[name] = (tuple(reversed(dims)), self.read("I"), self.read("Q"))
        alignment = self.metadata.get("general.alignment", 32)
        self.data = -(-self.at // alignment) * alignment

    def read(self, code):
        size = struct.calcsize("<" + code)
        value = struct.unpack("<" + code, self.bytes[self.at : self.at + size].tobytes())[0]
        self.at += size
        return value

    def text(self):
        n = self.read("Q")
        self.at += n
        return bytes(self.bytes[self.at - n : self.at]).decode()

    def value(self, kind):
        if kind == self.STRING:
            return self.text()
        if kind == self.ARRAY:
            inner, n = self.read("I"), self.read("Q")
            return [self.value(inner) for _ in range(n)]
        return self.read(self.SCALARS[kind])

    def tensor(self, name):
        shape, kind, offset = self.directory[name]
        if kind not in self.BLOCKS:
            sys.exit(f"{name}: type {kind} is not read here, only F32, Q4_1 and Q8_0")
        values, size = self.BLOCKS[kind]
        n = int(np.prod(shape))
        start = self.data + offset
        raw = np.asarray(self.bytes[start : start + n // values * size])
        if kind == 0:
            return raw.view(np.float32).reshape(shape).copy()
        blocks = raw.reshape(-1, size)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        if kind == 8:
            return (scale * blocks[:, 2:].view(np.int8)).astype(np.float32).reshape(shape)
        least = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
        codes = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
        return (scale * codes + least).astype(np.float32).reshape(shape)


class Model:
    """Sizes of the network and its weights under the names of the file, query and key rows in halves as ONNX's rotary expects them."""

    def __init__(self, path):
        self.file = Gguf(path)
        get = lambda key: self.file.metadata["llama." + key]
        self.n_layer = get("block_count")
        self.n_embd = get("embedding_length")
        self.n_head = get("attention.head_count")
        self.n_kv_head = get("attention.head_count_kv")
        self.head_dim = self.n_embd // self.n_head
        self.eps = get("attention.layer_norm_rms_epsilon")
        self.rope_base = get("rope.freq_base")
        self.n_vocab = self.file.directory["token_embd.weight"][0][0]

    def weight(self, name):
        w = self.file.tensor(name)
        if name.endswith(QUERY_TAIL):
            # GGUF keeps the two numbers that rotate together side by side; undo it: [head, pair, 2] → [head, 2, pair].
            pairs = w.reshape(-1, self.head_dim // 2, 2, w.shape[1])
            w = pairs.transpose(0, 2, 1, 3).reshape(w.shape)
        return np.ascontiguousarray(w)

    def rotary_tables(self):
        frequency = self.rope_base ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        angle = np.outer(np.arange(MAX_POSITIONS), frequency)
        return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


class Graph:
    """Nodes and constants in the order they are made; each call returns the name of what it made."""

    def __init__(self):
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array), name))
        return name

    def input(self, name, kind, shape):
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name, kind, shape):
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def node(self, op, inputs, n_outputs=None, names=None, domain="", **attributes):
        outputs = names or [f"{op}_{len(self.nodes)}_{i}" for i in range(n_outputs or 1)]
        self.nodes.append(helper.make_node(op, inputs, outputs, name=f"n{len(self.nodes)}_{op}", domain=domain, **attributes))
        return outputs if n_outputs or len(outputs) > 1 else outputs[0]

    def contrib(self, op, inputs, n_outputs=None, names=None, **attributes):
        return self.node(op, inputs, n_outputs, names, domain="com.microsoft", **attributes)

    def save(self, path):
        graph = helper.make_graph(self.nodes, "lookback-bench", self.inputs, self.outputs, self.constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=opsets), path)


class Builder:
    """One network as a graph: `int8` for quantised matrices, `attention` for the export that gives attention weights."""

    def __init__(self, model, int8=False, attention=False):
        self.m, self.int8, self.attention = model, int8, attention
        self.g = Graph()

    def matmul(self, x, name):
        """y = x · wᵀ for the file's w [out, in]"""
        w = self.m.weight(name).T
        if not self.int8:
            return self.g.node("MatMul", [x, self.g.constant(name, w)])
        codes, scale = quantise_columns(w)
        return self.int8_matmul(x, name, codes, scale)

    def int8_matmul(self, x, name, codes, scale):
        g = self.g
        q, q_scale, q_zero = g.node("DynamicQuantizeLinear", [x], 3)
        product = g.node("MatMulInteger", [q, g.constant(name, codes), q_zero, "int8_zero"])
        both = g.node("Mul", [q_scale, g.constant(name + ".scale", scale)])
        return g.node("Mul", [g.node("Cast", [product], to=TensorProto.FLOAT), both])

    def norm(self, x, name):
        return self.g.node("SimplifiedLayerNormalization", [x, self.g.constant(name, self.m.weight(name))], axis=-1, epsilon=float(self.m.eps), stash_type=1)

    def fused_attention(self, layer, q, k, v):
        m, g = self.m, self.g
        past = [f"past.{layer}.{kind}" for kind in ("key", "value")]
        present = [f"present.{layer}.{kind}" for kind in ("key", "value")]
        for name in past:
            g.input(name, TensorProto.FLOAT, [1, m.n_kv_head, "P", m.head_dim])
        for name in present:
            g.output(name, TensorProto.FLOAT, [1, m.n_kv_head, "T", m.head_dim])
        return g.contrib(
            "GroupQueryAttention",
            [q, k, v, *past, "last_position", "total32", "cos", "sin"],
            names=[f"mixed.{layer}", *present],
            num_heads=m.n_head,
            kv_num_heads=m.n_kv_head,
            do_rotary=1,
        )[0]

    def open_attention(self, layer, q, k, v):
        """The same step by step over [1, n_kv_head, group, S, head_dim], so that the weights can be an output."""
        m, g = self.m, self.g
        q, k = (g.contrib("RotaryEmbedding", [x, "positions", "cos", "sin"], num_heads=heads, rotary_embedding_dim=m.head_dim) for x, heads in ((q, m.n_head), (k, m.n_kv_head)))
        heads = lambda x, shape: g.node("Transpose", [g.node("Reshape", [x, shape])], perm=[0, 2, 3, 1, 4])
        q, k, v = heads(q, "query_shape"), heads(k, "key_shape"), heads(v, "key_shape")
        scores = g.node("MatMul", [g.node("Mul", [q, "scale"]), g.node("Transpose", [k], perm=[0, 1, 2, 4, 3])])
        pattern = g.node("Softmax", [g.node("Add", [scores, "causal"])], axis=-1)
        g.node("Reshape", [pattern, "pattern_shape"], names=[f"attentions.{layer}"])
        g.output(f"attentions.{layer}", TensorProto.FLOAT, [1, m.n_head, "S", "S"])
        mixed = g.node("Transpose", [g.node("MatMul", [pattern, v])], perm=[0, 3, 1, 2, 4])
        return g.node("Reshape", [mixed, "joined_shape"])

    def shared_constants(self):
        m, g = self.m, self.g
        cos, sin = m.rotary_tables()
        g.constant("cos", cos), g.constant("sin", sin)
        if self.int8:
            g.constant("int8_zero", np.array(0, np.int8))
        if not self.attention:
            g.input("total", TensorProto.INT64, [1])
            one = g.constant("one_of_one", np.array([1], np.int64))
            g.node("Cast", [g.node("Sub", ["total", one])], names=["last_position"], to=TensorProto.INT32)
            g.node("Cast", [g.node("Squeeze", ["total"])], names=["total32"], to=TensorProto.INT32)
            return
        g.constant("zero", np.array(0, np.int64)), g.constant("one", np.array(1, np.int64))
        group = m.n_head // m.n_kv_head
        g.constant("query_shape", np.array([1, -1, m.n_kv_head, group, m.head_dim], np.int64))
        g.constant("key_shape", np.array([1, -1, m.n_kv_head, 1, m.head_dim], np.int64))
        g.constant("joined_shape", np.array([1, -1, m.n_embd], np.int64))
        g.constant("scale", np.array(m.head_dim**-0.5, np.float32))
        length = g.node("Gather", [g.node("Shape", ["input_ids"]), "one"])
        positions = g.node("Range", ["zero", length, "one"])
        first_axis = g.constant("first_axis", np.array([0], np.int64))
        g.node("Unsqueeze", [positions, first_axis], names=["positions"])
        later = g.node("Less", [g.node("Unsqueeze", [positions, g.constant("second_axis", np.array([1], np.int64))]), "positions"])
        g.node("Where", [later, g.constant("never", np.array(np.float32("-inf"))), g.constant("always", np.array(0, np.float32))], names=["causal"])
        one_length = g.node("Unsqueeze", [length, first_axis])
        n_head = g.constant("heads", np.array([1, m.n_head], np.int64))
        g.node("Concat", [n_head, one_length, one_length], names=["pattern_shape"], axis=0)

    def build(self):
        m, g = self.m, self.g
        g.input("input_ids", TensorProto.INT64, [1, "S"])
        g.output("logits", TensorProto.FLOAT, [1, m.n_vocab])
        self.shared_constants()
        embedding = m.weight("token_embd.weight")
        x = g.node("Gather", [g.constant("token_embd", embedding), "input_ids"])
        for layer in range(m.n_layer):
            block = f"blk.{layer}."
            y = self.norm(x, block + "attn_norm.weight")
            q, k, v = (self.matmul(y, f"{block}attn_{part}.weight") for part in "qkv")
            mixed = (self.open_attention if self.attention else self.fused_attention)(layer, q, k, v)
            x = g.node("Add", [x, self.matmul(mixed, block + "attn_output.weight")])
            y = self.norm(x, block + "ffn_norm.weight")
            gate = self.matmul(y, block + "ffn_gate.weight")
            silu = g.node("Mul", [gate, g.node("Sigmoid", [gate])])
            hidden = g.node("Mul", [silu, self.matmul(y, block + "ffn_up.weight")])
            x = g.node("Add", [x, self.matmul(hidden, block + "ffn_down.weight")])
        last = g.node("Gather", [x, g.constant("last", np.array(-1, np.int64))], axis=1)
        y = self.norm(last, "output_norm.weight")
        if self.int8:
            codes, scale = quantise_columns(embedding.T)
            logits = self.int8_matmul(y, "lm_head", codes, scale)
            g.node("Identity", [logits], names=["logits"])
        else:
            # The head is the embedding itself; transposing inside the product spares a copy of it.
            g.node("Gemm", [y, "token_embd"], names=["logits"], transB=1)
        return g


def quantise_columns(w):
    """w [in, out] → int8 codes and one scale a column, symmetric"""
    scale = np.abs(w).max(axis=0) / 127
    scale[scale == 0] = 1
    return np.rint(w / scale).astype(np.int8), scale.astype(np.float32)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_onnx.py GGUF FOLDER")
    model, folder = Model(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    for name, options in {"f32": {}, "int8": {"int8": True}, "attention": {"attention": True}}.items():
        path = os.path.join(folder, name + ".onnx")
        Builder(model, **options).build().save(path + ".part")
        os.replace(path + ".part", path)


if __name__ == "__main__":
    main()
