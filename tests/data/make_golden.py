#!/usr/bin/env python3
"""Makes tests/data/golden/*.npy from tests/data/reference/forward_*.npz.

An .npz is a zip of .npy files; the C++ tests read the .npy format and no zip. With --check nothing is written and the
exit code says whether the files are up to date.
"""
import pathlib
import sys
import zipfile

DATA = pathlib.Path(__file__).resolve().parent
# What the tests read, and nothing more: rows per prompt.
ARRAYS = {
    "words": ["argmax", "logits_last", "residual_l2", "attn_last", "attn"],
    "trophy": ["argmax", "logits_last", "residual_l2", "attn_last", "attn"],
    "chat": ["argmax", "logits_last", "residual_l2", "attn_last"],
    "passage": ["argmax", "logits_last", "residual_l2", "attn_last"],
    "mixed": ["argmax", "logits_last", "residual_l2", "attn_last"],
}


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for prompt, names in ARRAYS.items():
        with zipfile.ZipFile(DATA / "reference" / f"forward_{prompt}.npz") as archive:
            for name in names:
                data = archive.read(f"{name}.npy")
                path = DATA / "golden" / f"{prompt}.{name}.npy"
                if check:
                    if not path.exists() or path.read_bytes() != data:
                        stale.append(path)
                else:
                    path.parent.mkdir(exist_ok=True)
                    path.write_bytes(data)
    for path in stale:
        print(f"{path} is stale: run {pathlib.Path(__file__).name}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
