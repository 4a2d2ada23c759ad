"""The NumPy side of numpy.rs: `write FOLDER` or `check FOLDER`."""

import itertools
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np

# dtype name -> dtypes to write, in both byte orders where they differ.
NUMBERS = {
    "float16": "<f2 >f2",
    "float32": "<f4 >f4",
    "float64": "<f8 >f8",
    "int8": "|i1",
    "int16": "<i2 >i2",
    "int32": "<i4 >i4",
    "int64": "<i8 >i8",
    "uint8": "|u1",
    "uint16": "<u2 >u2",
    "uint32": "<u4 >u4",
    "uint64": "<u8 >u8",
    "complex64": "<c8 >c8",
    "complex128": "<c16 >c16",
}
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 0, 3), (2, 3, 1, 2, 4)]
WORDS = ["", "a", "größe", "\U0001f600\U0001f601", "日本語", "nul\0inside", "\ufffd", "last"]


def random_bits(dtype, shape, random):
    """Elements of any bits, so among them NaNs with payloads, infinities, -0.0 and denormals."""
    count = int(np.prod(shape, dtype=int))
    array = np.frombuffer(random.bytes(count * dtype.itemsize), dtype).copy()
    if dtype.kind == "f" and count > 2:
        array[:3] = [-0.0, np.nan, np.inf]
    return array.reshape(shape)


def arrays():
    """Every array to be read, with the name of its type."""
    random = np.random.default_rng(8)
    for shape in SHAPES:
        count = int(np.prod(shape, dtype=int))
        for name, codes in NUMBERS.items():
            for code in codes.split():
                yield name, random_bits(np.dtype(code), shape, random)
        yield "bool", random.integers(0, 2, shape).astype(bool)
        bits = random.integers(0, 1 << 16, shape).astype(np.uint16)
        yield "bfloat16", np.asarray(bits).view(ml_dtypes.bfloat16)
        swapped = np.dtype(ml_dtypes.bfloat16).newbyteorder(">")
        yield "bfloat16", random.random(shape).astype(ml_dtypes.bfloat16).astype(swapped)
        words = list(itertools.islice(itertools.cycle(WORDS), count))
        for code in ("<U10", ">U10"):
            yield "string", np.array(words, code).reshape(shape)
        yield "string", np.array([word.encode() for word in words], "S20").reshape(shape)


def expected(name, array):
    """The elements in C order as little-endian bytes; strings as UTF-8 in hex, one to a line."""
    if name == "string":
        texts = (item if isinstance(item, bytes) else item.encode() for item in array.ravel().tolist())
        return "\n".join(text.hex() for text in texts)
    array = np.ascontiguousarray(array)
    if array.dtype.byteorder == ">":
        array = array.byteswap()
    return array.tobytes().hex()


def write(folder):
    lines, members = [], {}
    for number, (name, array) in enumerate(arrays()):
        for order in "CF":
            file = f"{number}{order}"
            np.save(folder / f"{file}.npy", np.array(array, order=order))
            shape = "x".join(map(str, array.shape))
            (folder / f"{file}.txt").write_text(expected(name, array))
            lines.append(f"{file} {name} {shape}")
        if name != "bfloat16" or array.dtype.byteorder != ">":
            members[f"{number}C"] = array
    (folder / "list").write_text("\n".join(lines))
    np.savez(folder / "stored.npz", **members)
    np.savez_compressed(folder / "compressed.npz", **members)
    # Dtypes that can only be copied.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opaque = [
            np.zeros(3, np.longdouble),
            np.zeros(3, np.clongdouble),
            np.zeros((2, 2), "<M8[ns]"),
            np.zeros(2, ">m8[25us]"),
            np.zeros(2, "V7"),
            np.zeros(2, [("x", "<f4"), ("y", "<i2", (3,)), ("z", [("u", ">U3"), ("v", "?")], (2, 2))]),
            np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
            np.zeros(2, [(("title", "name"), "S3")]),
            np.zeros(2, [("日本", "f4")]),
            np.zeros(2, [(f"field{number}", "f4") for number in range(4000)]),
        ]
        for number, array in enumerate(opaque):
            np.save(folder / f"opaque{number}.npy", array)
        (folder / "opaque").write_text("\n".join(str(array.dtype.itemsize) for array in opaque))
        np.save(folder / "objects.npy", np.array([None, "x"], object))


def check(folder):
    for line in (folder / "list").read_text().splitlines():
        file, name, shape = (line.split(" ") + [""])[:3]
        array = np.load(folder / f"{file}.npy")
        if name == "bfloat16":
            assert array.dtype.str in ("<V2", "|V2"), array.dtype
            array = array.view(ml_dtypes.bfloat16)
        elif name == "string":
            assert array.dtype.kind == "U", array.dtype
        else:
            assert array.dtype == np.dtype(name), (line, array.dtype)
        assert array.shape == tuple(int(size) for size in shape.split("x") if size), (line, array.shape)
        assert expected(name, array) == (folder / f"{file}.txt").read_text(), line
        # NumPy writes the same file.
        if name not in ("bfloat16", "string"):
            np.save(folder / "again.npy", np.ascontiguousarray(array).reshape(array.shape))
            assert (folder / "again.npy").read_bytes() == (folder / f"{file}.npy").read_bytes(), line
    with np.load(folder / "all.npz") as archive:
        names = (folder / "list").read_text().splitlines()
        assert archive.files == [line.split(" ")[0] for line in names]
        for file in archive.files:
            member, single = archive[file], np.load(folder / f"{file}.npy")
            assert member.dtype == single.dtype and member.shape == single.shape
            assert member.tobytes() == single.tobytes(), file


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
