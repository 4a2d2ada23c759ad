"""Small models in the style of exporters."""

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

FLOAT, INT64, UINT8, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.UINT8, TensorProto.BOOL


class Builder:
    """Builds a graph with random weights, constants and numbered nodes."""

    def __init__(self, name, seed=0):
        self.name, self.nodes, self.constants = name, [], []
        self.rng = np.random.default_rng(seed)

    def weight(self, name, *shape):
        return self.constant(name, self.rng.normal(0, 0.5, shape).astype("f4"))

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, op_type, *inputs, to=None, **attributes):
        output = to or f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], name=f"/{self.name}/{output}", **attributes))
        return output

    def cast(self, value, dtype):
        output = self.node("Cast", value)
        self.nodes[-1].attribute.append(helper.make_attribute("to", dtype))
        return output

    def model(self, inputs, outputs, opset=17, ir_version=8):
        value_infos = lambda values: [helper.make_tensor_value_info(*value) for value in values]
        graph = helper.make_graph(self.nodes, self.name, value_infos(inputs), value_infos(outputs), self.constants)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version, producer_name="exporter"
        )
        checker.check_model(model, full_check=True)
        return model


def mlp():
    """Two linear layers with biases."""
    b = Builder("mlp")
    hidden = b.node("MatMul", "x", b.weight("fc1.weight", 6, 8))
    hidden = b.node("Relu", b.node("Add", hidden, b.weight("fc1.bias", 8)))
    out = b.node("MatMul", hidden, b.weight("fc2.weight", 8, 3))
    # Bias as the first input, as PyTorch exports some layers.
    b.node("Add", b.weight("fc2.bias", 3), out, to="y")
    return b.model([("x", FLOAT, ["batch", 6])], [("y", FLOAT, ["batch", 3])])


def layer_norm(b, x, name):
    """Layer normalization as exported before ONNX had an operator for it."""
    centred = b.node("Sub", x, b.node("ReduceMean", x, axes=[-1]))
    square = b.node("Pow", centred, b.constant(f"{name}.two", np.float32(2)))
    variance = b.node("ReduceMean", square, axes=[-1])
    deviation = b.node("Sqrt", b.node("Add", variance, b.constant(f"{name}.eps", np.float32(1e-5))))
    scaled = b.node("Mul", b.node("Div", centred, deviation), b.weight(f"{name}.weight", 8))
    return b.node("Add", scaled, b.weight(f"{name}.bias", 8))


def gelu(b, x, name):
    ratio = b.node("Div", x, b.constant(f"{name}.sqrt2", np.float32(2**0.5)))
    one = b.node("Add", b.node("Erf", ratio), b.constant(f"{name}.one", np.float32(1)))
    return b.node("Mul", b.node("Mul", x, one), b.constant(f"{name}.half", np.float32(0.5)))


def linear(b, x, name, rows, columns):
    product = b.node("MatMul", x, b.weight(f"{name}.weight", rows, columns))
    return b.node("Add", product, b.weight(f"{name}.bias", columns))


def heads(b, x, shape, order):
    return b.node("Transpose", b.node("Reshape", x, shape), perm=order)


def transformer_block():
    """Two-head attention with padding mask and causal mask, and a feed-forward part."""
    b = Builder("block")
    normed = layer_norm(b, "x", "ln1")
    split = b.constant("split", np.int64([0, 0, 2, 4]))
    query = heads(b, linear(b, normed, "q", 8, 8), split, [0, 2, 1, 3])
    key = heads(b, linear(b, normed, "k", 8, 8), split, [0, 2, 3, 1])
    value = heads(b, linear(b, normed, "v", 8, 8), split, [0, 2, 1, 3])
    scores = b.node("Div", b.node("MatMul", query, key), b.constant("sqrt_d", np.float32(2)))
    scores = b.node("Where", "causal", scores, b.constant("lowest", np.float32(-1e9)))
    padding = b.cast(b.node("Unsqueeze", "attention_mask", b.constant("axes", np.int64([1, 2]))), FLOAT)
    padding = b.node("Sub", b.constant("one", np.float32(1)), padding)
    padding = b.node("Mul", padding, b.constant("low", np.float32(-1e4)))
    weights = b.node("Softmax", b.node("Add", scores, padding), axis=-1)
    mixed = b.node("Transpose", b.node("MatMul", weights, value), perm=[0, 2, 1, 3])
    mixed = b.node("Reshape", mixed, b.constant("joined", np.int64([0, 0, 8])))
    x = b.node("Add", "x", linear(b, mixed, "out", 8, 8))
    inner = gelu(b, linear(b, layer_norm(b, x, "ln2"), "up", 8, 16), "gelu")
    b.node("Add", x, linear(b, inner, "down", 16, 8), to="y")
    return b.model(
        [
            ("x", FLOAT, ["batch", "seq", 8]),
            ("attention_mask", INT64, ["batch", "seq"]),
            ("causal", BOOL, ["seq", "seq"]),
        ],
        [("y", FLOAT, ["batch", "seq", 8])],
    )


def attention_weights():
    """Normalization, scores with a mask, softmax and pooling: reductions between element-wise nodes."""
    b = Builder("weights")
    normed = layer_norm(b, "x", "ln")
    scores = b.node("Mul", gelu(b, normed, "gelu"), b.constant("scale", np.float32(0.35)))
    scores = b.node("Where", "mask", scores, b.constant("lowest", np.float32(-1e9)))
    weights = b.node("Softmax", scores, axis=-1)
    again = b.node("LayerNormalization", b.node("Add", weights, "x"), b.weight("w", 8), b.weight("bias", 8))
    squares = b.node("ReduceSumSquare", again, axes=[1], keepdims=0)
    b.node("Div", squares, b.node("ReduceMax", squares, axes=[1]), to="y")
    # Not the axis -1, for which ONNX Runtime's result has a wrong shape if the batch is empty.
    b.node("ArgMax", weights, axis=2, to="best")
    return b.model(
        [("x", FLOAT, ["batch", "seq", 8]), ("mask", BOOL, ["batch", "seq", 8])],
        [("y", FLOAT, ["batch", 8]), ("best", INT64, ["batch", "seq", 1])],
    )


def image_normaliser():
    """Normalises the channels of an image; unishape can run all of it."""
    b = Builder("normalise")
    scaled = b.node("Div", b.cast("image", FLOAT), b.constant("255", np.float32(255)))
    centred = b.node("Sub", scaled, b.constant("mean", np.float32([0.485, 0.456, 0.406]).reshape(1, 3, 1, 1)))
    b.node("Div", centred, b.constant("std", np.float32([0.229, 0.224, 0.225]).reshape(1, 3, 1, 1)), to="y")
    shape = ["batch", 3, "height", "width"]
    return b.model([("image", UINT8, shape)], [("y", FLOAT, shape)])


def symbolic_batch():
    """Symbolic dimensions against each other: which inputs are stretched is known only at run time."""
    b = Builder("symbolic")
    outer = b.node("Mul", "rows", "columns")  # [n, 1] by [m]
    shifted = b.node("Add", outer, "any")  # [n, m] and [a, b]
    b.node("PRelu", b.node("Max", shifted, "rows", "one"), b.constant("slope", np.float32([0.25])), to="y")
    return b.model(
        [("rows", FLOAT, ["n", 1]), ("columns", FLOAT, ["m"]), ("any", FLOAT, ["a", "b"]), ("one", FLOAT, [])],
        [("y", FLOAT, [None, None])],
    )


def old():
    """Opset 9, IR version 3: initializers are also graph inputs."""
    b = Builder("old")
    b.node("Mul", b.node("Add", "x", b.weight("bias", 4)), b.weight("scale", 2, 1, 1), to="y")
    return b.model(
        [("x", FLOAT, ["batch", 2, 3, 4]), ("bias", FLOAT, [4]), ("scale", FLOAT, [2, 1, 1])],
        [("y", FLOAT, ["batch", 2, 3, 4])],
        opset=9,
        ir_version=3,
    )


def normal(rng, *shape):
    return np.asarray(rng.normal(size=shape), "f4")


#: Name: (model, inputs for a random generator and batch size, whether unishape can run the model).
MODELS = {
    "mlp": (mlp, lambda rng, n: {"x": normal(rng, n, 6)}, False),
    "transformer_block": (
        transformer_block,
        lambda rng, n: {
            "x": normal(rng, n, 5, 8),
            "attention_mask": (rng.random((n, 5)) < 0.7).astype("i8"),
            "causal": np.tril(np.ones((5, 5), bool)),
        },
        False,
    ),
    "image_normaliser": (
        image_normaliser,
        lambda rng, n: {"image": rng.integers(0, 256, (n, 3, 5, 4), dtype="u1")},
        True,
    ),
    "symbolic_batch": (
        symbolic_batch,
        lambda rng, n: {
            "rows": normal(rng, n, 1),
            "columns": normal(rng, 3),
            "any": normal(rng, 1, 3),
            "one": normal(rng),
        },
        True,
    ),
    "old": (old, lambda rng, n: {"x": normal(rng, n, 2, 3, 4)}, True),
}
