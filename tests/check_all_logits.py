"""check_all_logits.py: every logit at every position of the five reference prompts, against a float64 pass of its own.

For a person with numpy (the automatic tests compare stored results):

    scripts/build && python3 tests/check_all_logits.py [--precision exact|fast] [--model FILE.gguf]

It reads the GGUF file by itself, dequantises with numpy and runs a plain Llama pass in float64; the engine's logits come
from the built package under Node. Only F32, Q8_0 and Q4_1 tensors are read, which is what the shipped weights hold.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PROMPTS = ["words", "trophy", "chat", "passage", "mixed"]


class Gguf:
    """The metadata and tensors of a GGUF v3 file (format: github.com/ggml-org/ggml/blob/master/docs/gguf.md)."""

    SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def __init__(self, path):
        self.data = np.memmap(path, dtype=np.uint8, mode="r")
        self.at = 4
        assert bytes(self.data[:4]) == b"GGUF" and self.scalar("I") == 3
        tensors, pairs = self.scalar("Q"), self.scalar("Q")
        self.metadata = {self.string(): self.value(self.scalar("I")) for _ in range(pairs)}
        entries = []
        for _ in range(tensors):
            name = self.string()
            shape = [self.scalar("Q") for _ in range(self.scalar("I"))][::-1]
            entries.append((name, shape, self.scalar("I"), self.scalar("Q")))
        alignment = self.metadata.get("general.alignment", 32)
        start = (self.at + alignment - 1) // alignment * alignment
        self.tensors = {name: (shape, kind, start + offset) for name, shape, kind, offset in entries}

    def scalar(self, code):
        size = struct.calcsize(code)
        value = struct.unpack("<" + code, bytes(self.data[self.at : self.at + size]))[0]
        self.at += size
        return value

    def string(self):
        size = self.scalar("Q")
        text = bytes(self.data[self.at : self.at + size]).decode()
        self.at += size
        return text

    def value(self, kind):
        if kind == 8:
            return self.string()
        if kind == 9:
            inner, count = self.scalar("I"), self.scalar("Q")
            return [self.value(inner) for _ in range(count)]
        return self.scalar(self.SCALARS[kind])

    def matrix(self, name):
        """A tensor as float64; the products are those of f32, as the formats define them."""
        shape, kind, offset = self.tensors[name]
        count = int(np.prod(shape))
        if kind == 0:
            flat = self.data[offset : offset + 4 * count].view(np.float32)
        elif kind == 8:  # Q8_0: f16 scale, 32 × i8
            blocks = self.data[offset : offset + count // 32 * 34].reshape(-1, 34)
            scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
            flat = blocks[:, 2:].copy().view(np.int8).astype(np.float32) * scale
        elif kind == 3:  # Q4_1: f16 scale, f16 minimum, 32 × 4 bits, low nibbles first
            blocks = self.data[offset : offset + count // 32 * 20].reshape(-1, 20)
            scale, minimum = blocks[:, :4].copy().view(np.float16).astype(np.float32).T[..., None]
            codes = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1).astype(np.float32)
            flat = codes * scale + minimum
        else:
            sys.exit(f"{name}: tensor type {kind} is not read here")
        return flat.reshape(shape).astype(np.float64)


class Llama64:
    """The Llama forward pass, float64 from end to end, written after the published architecture."""

    def __init__(self, gguf):
        meta = {key.removeprefix("llama."): value for key, value in gguf.metadata.items()}
        self.layers, self.heads, self.kv_heads = meta["block_count"], meta["attention.head_count"], meta["attention.head_count_kv"]
        self.width = meta["embedding_length"] // self.heads
        self.eps, self.base = meta["attention.layer_norm_rms_epsilon"], meta["rope.freq_base"]
        self.weight = {name.removesuffix(".weight"): gguf.matrix(name) for name in gguf.tensors}

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.weight[name]

    def rope(self, x):
        """Neighbouring pairs, as rows of a GGUF's q and k are stored."""
        angle = np.arange(len(x))[:, None] * self.base ** (-np.arange(0, self.width, 2) / self.width)
        cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
        even, odd = x[..., 0::2], x[..., 1::2]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)

    def logits(self, ids):
        n = len(ids)
        x = self.weight["token_embd"][ids]
        later = np.triu(np.full((n, n), -np.inf), 1)
        for layer in range(self.layers):
            w = {k.split(".", 2)[2]: v for k, v in self.weight.items() if k.startswith(f"blk.{layer}.")}
            h = self.norm(x, f"blk.{layer}.attn_norm")
            q = self.rope((h @ w["attn_q"].T).reshape(n, self.heads, self.width))
            k = self.rope((h @ w["attn_k"].T).reshape(n, self.kv_heads, self.width))
            v = (h @ w["attn_v"].T).reshape(n, self.kv_heads, self.width)
            k, v = (np.repeat(part, self.heads // self.kv_heads, axis=1) for part in (k, v))
            scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(self.width) + later
            share = np.exp(scores - scores.max(-1, keepdims=True))
            share /= share.sum(-1, keepdims=True)
            x = x + np.einsum("hqk,khd->qhd", share, v).reshape(n, -1) @ w["attn_output"].T
            h = self.norm(x, f"blk.{layer}.ffn_norm")
            gate = h @ w["ffn_gate"].T
            x = x + (gate / (1 + np.exp(-gate)) * (h @ w["ffn_up"].T)) @ w["ffn_down"].T
        head = self.weight.get("output", self.weight["token_embd"])
        return self.norm(x, "output_norm") @ head.T


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--precision", default="exact", choices=["exact", "fast"])
    parser.add_argument("--variant", default="auto")
    parser.add_argument("--model", default=str(ROOT / "models/SmolLM2-135M-Instruct.Q4_1.gguf"))
    options = parser.parse_args()
    model = Llama64(Gguf(options.model))
    limit = {"exact": 2e-4, "fast": 0.05}[options.precision]
    worst = 0.0
    for prompt in PROMPTS:
        ids = json.loads((ROOT / f"tests/data/reference/forward_{prompt}.json").read_text(encoding="utf-8"))["ids"]
        expected = model.logits(ids)
        with tempfile.NamedTemporaryFile(suffix=".f32") as out:
            node = ["node"]
            if options.variant.startswith("relaxed"):
                node.append("--experimental-wasm-relaxed-simd")
            subprocess.run(
                [*node, str(ROOT / "tests/support/dump_logits.mjs"), options.model, options.precision, options.variant, json.dumps(ids), out.name],
                check=True,
            )
            found = np.fromfile(out.name, dtype=np.float32).reshape(expected.shape)
        difference = np.abs(found - expected).max()
        agree = (found.argmax(-1) == expected.argmax(-1)).all()
        print(f"{prompt:8} {len(ids):4} tokens  largest logit difference {difference:.2e}  top tokens {'all equal' if agree else 'DIFFER'}")
        worst = max(worst, difference if agree or options.precision == "fast" else np.inf)
    print(f"limit {limit:g}: {'holds' if worst <= limit else 'EXCEEDED'}")
    sys.exit(int(worst > limit))


if __name__ == "__main__":
    main()
