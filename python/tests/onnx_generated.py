"""Generated models: one operator with random attributes and shapes, or a chain of operators that computes shapes."""

import random
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

#: Element types by NumPy's name.
TYPES = {
    "f4": TensorProto.FLOAT,
    "i8": TensorProto.INT64,
    "u1": TensorProto.UINT8,
    "i1": TensorProto.INT8,
    "?": TensorProto.BOOL,
}


class Draft:
    """A model that grows, with arrays for its inputs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.arrays, self.nodes, self.initializers = {}, [], []
        self.opset = 21

    def input(self, shape, dtype="f4"):
        name = f"x{len(self.arrays)}"
        self.arrays[name] = self.numbers.integers(0, 2, tuple(shape)).astype(dtype)
        return name

    def constant(self, values, dtype="i8"):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(values, dtype), name))
        return name

    def node(self, op_type, inputs, outputs=1, domain="", **attributes):
        names = [f"{op_type}{len(self.nodes)}_{index}" for index in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(op_type, inputs, names, domain=domain, **given))
        return names[0] if outputs == 1 else names

    def model(self, symbolic):
        """The model, and the sizes of its symbols. Without `symbolic`, all sizes are declared."""
        sizes, inputs = {}, []
        for name, array in self.arrays.items():
            dims = list(array.shape)
            for index, size in enumerate(dims):
                # The same symbol for the same size, symbols of their own, or a number.
                way = self.random.randrange(3) if symbolic else 2
                if way < 2:
                    dims[index] = f"s{size}" if way == 0 else f"{name}_{index}"
                    sizes[dims[index]] = size
            inputs.append(helper.make_tensor_value_info(name, TYPES[array.dtype.str[1:].replace("b1", "?")], dims))
        outputs = [onnx.ValueInfoProto(name=name) for node in self.nodes for name in node.output]
        graph = helper.make_graph(self.nodes, "generated", inputs, outputs, initializer=self.initializers)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, ir_version=10), sizes

    # Random choices.

    def size(self, low=1, high=4):
        return self.random.randint(low, high)

    def sizes(self, low, high, largest=4):
        return [self.size(high=largest) for _ in range(self.size(low, high))]

    def stretchable(self, shape):
        """A shape that can be stretched to another one."""
        shape = [self.random.choice([size, size, 1]) for size in shape]
        return shape[self.size(0, len(shape)) :] if self.random.random() < 0.4 else shape

    def choose(self, *values):
        return self.random.choice(values)

    def axis(self, shape):
        return self.size(-len(shape), len(shape) - 1)


def element_wise(d):
    shape = d.sizes(0, 4)
    op_type = d.choose("Add", "Sub", "Mul", "Pow", "Max", "Sum", "Mean", "Where", "PRelu")
    if op_type == "PRelu":
        d.node(op_type, [d.input(shape), d.input(d.stretchable(shape))])
    elif op_type == "Where":
        d.node(op_type, [d.input(d.stretchable(shape), dtype) for dtype in ("?", "f4", "f4")])
    else:
        count = d.size(1, 3) if op_type in ("Max", "Sum", "Mean") else 2
        d.node(op_type, [d.input(d.stretchable(shape)) for _ in range(count)])


def windows(d, count, kernel, extents):
    """Attributes of sliding windows that fit into their inputs."""
    rule = d.choose(None, None, "VALID", "SAME_UPPER", "SAME_LOWER")
    strides = [d.size() for _ in range(count)]
    dilations = [d.choose(1, 1, 2) for _ in range(count)]
    pads = None
    if rule is None:
        pads = [d.size(0, max(0, kernel[index % count] - 1)) for index in range(2 * count)]
    for axis in range(count):
        if (kernel[axis] - 1) * dilations[axis] + 1 > extents[axis]:
            dilations[axis] = 1
    return dict(auto_pad=rule, strides=strides, dilations=dilations, pads=pads)


def convolution(d):
    count, groups = d.size(1, 2), d.choose(1, 2)
    extents, kernel = d.sizes(count, count, 11), d.sizes(count, count, 3)
    extents = [max(pair) for pair in zip(extents, kernel)]
    op_type = d.choose("Conv", "Conv", "ConvInteger", "ConvTranspose")
    attributes = windows(d, count, kernel, extents)
    if op_type == "ConvTranspose":
        weights = d.constant(np.ones([2 * groups, 3, *kernel]), "f4")
        if d.random.random() < 0.4:
            attributes["output_padding"] = [d.size(0, stride - 1) for stride in attributes["strides"]]
        elif d.random.random() < 0.3:
            attributes.update(output_shape=[d.size(3, 20) for _ in range(count)], pads=None)
        d.node(op_type, [d.input([d.size(), 2 * groups, *extents]), weights], group=groups, **attributes)
        return
    dtype = "u1" if op_type == "ConvInteger" else "f4"
    weights = d.constant(np.ones([2 * groups, 2, *kernel]), dtype)
    d.node(op_type, [d.input([d.size(), 2 * groups, *extents], dtype), weights], group=groups, **attributes)


def pooling(d):
    count = d.size(1, 3)
    extents, kernel = d.sizes(count, count, 11), d.sizes(count, count, 4)
    extents = [max(pair) for pair in zip(extents, kernel)]
    op_type = d.choose("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool")
    x = d.input([d.size(), d.size(), *extents])
    if op_type == "GlobalAveragePool":
        d.node(op_type, [x])
        return
    attributes = dict(kernel_shape=kernel, ceil_mode=d.choose(0, 1), **windows(d, count, kernel, extents))
    d.node(op_type, [x], d.choose(1, 2) if op_type == "MaxPool" else 1, **attributes)


def slicing(d):
    shape = d.sizes(1, 4, 9)
    axes = d.random.sample(range(len(shape)), d.size(1, len(shape)))
    far = [2**31 - 1, 2**63 - 1, 10**9, -(2**31), -(2**63) + 1, -(10**9)]
    lists = [[d.choose(d.size(-12, 12), 0, d.choose(*far)) for _ in axes] for _ in range(2)]
    steps = [d.choose(1, 1, 2, 3, -1, -2) for _ in axes]
    d.opset = d.choose(10, 21)
    d.node("Slice", [d.input(shape), *(d.constant(each) for each in (*lists, axes, steps))])


def splitting(d):
    shape = d.sizes(1, 3, 9)
    axis, count, d.opset = d.axis(shape), d.size(), d.choose(11, 13, 18)
    x = d.input(shape)
    if d.random.random() < 0.5:
        cuts = sorted(d.size(0, shape[axis]) for _ in range(count - 1))
        parts = [end - start for start, end in zip([0, *cuts], [*cuts, shape[axis]])]
        inputs, attribute = ([x], parts) if d.opset < 13 else ([x, d.constant(parts)], None)
        d.node("Split", inputs, count, axis=axis, split=attribute)
    else:
        d.node("Split", [x], count, axis=axis, num_outputs=count if d.opset >= 18 else None)


def reshaping(d):
    shape = d.choose([0, 3], [2, 0], [3, 0, 2]) if d.random.random() < 0.2 else d.sizes(1, 4)
    target, rest = [], int(np.prod(shape))
    for _ in range(d.size(0, 3)):
        target.append(d.choose(*(size for size in range(1, rest + 1) if rest % size == 0)) if rest else d.size(0, 3))
        rest //= target[-1] or 1
    target.append(rest)
    if d.random.random() < 0.6:
        target[d.size(0, len(target) - 1)] = -1
    for index, size in enumerate(shape[: len(target)]):
        if target[index] == size and d.random.random() < 0.6:
            target[index] = 0
    d.node("Reshape", [d.input(shape), d.constant(target)], allowzero=d.choose(None, None, 1))


def layout(d):
    shape = d.sizes(1, 4)
    op_type = d.choose("Concat", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "Pad", "Tile", "Expand")
    if op_type == "Concat":
        axis = d.axis(shape)
        parts = []
        for _ in range(d.size()):
            part = list(shape)
            part[axis] = d.size(0, 4)
            parts.append(d.input(part))
        d.node(op_type, parts, axis=axis)
        return
    if op_type == "Squeeze":
        shape[d.size(0, len(shape) - 1)] = 1
    x = d.input(shape)
    if op_type == "Transpose":
        d.node(op_type, [x], perm=d.choose(None, d.random.sample(range(len(shape)), len(shape))))
    elif op_type == "Flatten":
        d.node(op_type, [x], axis=d.choose(None, d.size(-len(shape), len(shape))))
    elif op_type == "Squeeze":
        d.node(op_type, [x, d.constant([shape.index(1)])] if d.random.random() < 0.6 else [x])
    elif op_type == "Unsqueeze":
        d.node(op_type, [x, d.constant([d.size(-len(shape) - 1, len(shape))])])
    elif op_type == "Pad":
        axes = d.random.sample(range(len(shape)), d.size(1, len(shape)))
        d.node(op_type, [x, d.constant([d.size(-1, 3) for _ in range(2 * len(axes))]), "", d.constant(axes)])
    elif op_type == "Tile":
        d.node(op_type, [x, d.constant([d.size(0, 3) for _ in shape])])
    else:
        d.node(op_type, [x, d.constant([1, *(d.choose(1, size) for size in shape)][d.choose(0, 1) :])])


def resizing(d):
    d.opset = d.choose(10, 13, 19)
    shape = [1, d.size(), d.size(high=9), d.size(high=9)]
    x, scales = d.input(shape), [1, 1, d.choose(2, 0.5, 1.5, 1 / 3, 0.7), d.choose(3, 0.25, 0.6, 1.3)]
    if d.opset == 10:
        d.node("Resize", [x, d.constant(scales, "f4")])
    elif d.random.random() < 0.5:
        d.node("Resize", [x, "", d.constant(scales, "f4")], coordinate_transformation_mode=d.choose(None, "align_corners"))
    elif d.opset < 18 or d.random.random() < 0.5:
        d.node("Resize", [x, "", "", d.constant([*shape[:2], d.size(high=9), d.size(high=9)])])
    else:
        policy = d.choose(None, "stretch", "not_larger", "not_smaller")
        sizes = d.constant([d.size(high=9), d.size(high=9)])
        d.node("Resize", [x, "", "", sizes], axes=d.choose([2, 3], [3, 2], [-1, -2]), keep_aspect_ratio_policy=policy)


def selecting(d):
    shape = d.sizes(1, 4)
    op_type = d.choose("Gather", "GatherElements", "GatherND", "TopK", "OneHot", "NonZero", "ScatterND")
    axis = d.axis(shape)
    if op_type == "Gather":
        d.node(op_type, [d.input(shape), d.constant(np.zeros(d.sizes(0, 2)))], axis=axis)
    elif op_type == "GatherElements":
        indices = [d.size(high=size) for size in shape]
        d.node(op_type, [d.input(shape), d.constant(np.zeros(indices))], axis=axis)
    elif op_type == "GatherND":
        batch = d.size(0, len(shape) - 1)
        indices = [*shape[:batch], *d.sizes(0, 2), d.size(1, len(shape) - batch)]
        d.node(op_type, [d.input(shape), d.constant(np.zeros(indices))], batch_dims=batch)
    elif op_type == "TopK":
        d.node(op_type, [d.input(shape), d.constant([d.size(0, shape[axis])])], 2, axis=axis)
    elif op_type == "OneHot":
        d.node(op_type, [d.input(shape, "i8"), d.constant(3), d.constant([0, 1], "f4")], axis=axis)
    elif op_type == "NonZero":
        d.node(op_type, [d.input(shape)])
    else:
        d.node(op_type, [d.input(shape), d.constant([[0]]), d.input([1, *shape[1:]])])


def reducing(d):
    shape = d.sizes(0, 4)
    op_type = d.choose("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ArgMax", "ArgMin")
    keepdims = d.choose(None, 0, 1)
    if op_type.startswith("Arg"):
        shape = shape or [3]
        d.node(op_type, [d.input(shape)], axis=d.axis(shape), keepdims=keepdims)
        return
    axes = d.random.sample(range(len(shape)), d.size(0, len(shape)))
    d.opset = d.choose(11, 18)
    if d.opset == 11:
        d.node(op_type, [d.input(shape)], axes=axes or None, keepdims=keepdims)
    else:
        d.node(op_type, [d.input(shape), d.constant(axes)], keepdims=keepdims, noop_with_empty_axes=d.choose(0, 1))


def recurrent(d):
    op_type, gates = d.choose(("LSTM", 4), ("GRU", 3), ("RNN", 1))
    directions, hidden, features = d.choose(1, 2), d.size(), d.size()
    weights = [d.constant(np.ones([directions, gates * hidden, size]), "f4") for size in (features, hidden)]
    direction = "bidirectional" if directions == 2 else d.choose("forward", "reverse")
    d.opset = 14
    inputs = [d.input([d.size(), d.size(), features]), *weights]
    d.node(op_type, inputs, 3 if op_type == "LSTM" else 2, hidden_size=hidden, direction=direction)


def products(d):
    batch, (rows, inner, columns) = d.sizes(0, 3, 3), d.sizes(3, 3)
    a, b = [*d.stretchable(batch), rows, inner], [*d.stretchable(batch), inner, columns]
    op_type = d.choose("MatMul", "MatMul", "MatMulInteger", "QLinearMatMul", "FusedMatMul", "Einsum")
    if op_type == "MatMul":
        d.node(op_type, [d.input(d.choose(a, a, a, [inner])), d.input(d.choose(b, b, b, [inner]))])
    elif op_type == "MatMulInteger":
        zero_points = [d.constant(np.zeros(shape), "u1") for shape in ([], d.choose([], [1], [columns]))]
        d.node(op_type, [d.input(a, "u1"), d.input(b, "u1"), *zero_points[: d.size(0, 2)]])
    elif op_type == "QLinearMatMul":
        one, zero, shape = d.constant(1, "f4"), d.constant(0, "u1"), d.choose([], [columns])
        of_b = [d.constant(np.ones(shape), "f4"), d.constant(np.zeros(shape), "u1")]
        d.node(op_type, [d.input(a, "u1"), one, zero, d.input(b, "u1"), *of_b, one, zero])
    elif op_type == "FusedMatMul":
        trans_a, trans_b = d.choose(0, 1), d.choose(0, 1)
        a, b = [[*s[:-2], s[-1], s[-2]] if t else s for s, t in ((a, trans_a), (b, trans_b))]
        d.node(op_type, [d.input(a), d.input(b)], domain="com.microsoft", transA=trans_a, transB=trans_b)
    else:
        # ONNX Runtime crashes on ellipses of different ranks.
        a, b = ([*(d.choose(1, size) for size in batch), *matrix] for matrix in ([rows, inner], [inner, columns]))
        d.node(op_type, [d.input(a), d.input(b)], equation="...ij,...jk->...ik")


def quantized(d):
    """Quantized operators of ONNX Runtime, with scales and zero points of one number and biases."""
    one, zero, shape = d.constant(1, "f4"), d.constant(0, "u1"), d.sizes(1, 3)
    op_type = d.choose("QLinearAdd", "QLinearMul", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
    if op_type.startswith("QLinear"):
        a, b = d.input(d.stretchable(shape), "u1"), d.input(d.stretchable(shape), "u1")
        d.node(op_type, [a, one, zero, b, one, zero, one, zero], domain="com.microsoft")
        return
    rows, inner, columns = d.sizes(3, 3, 3)
    b, bias = d.constant(np.ones([inner, columns]), "u1"), d.choose("", d.input([columns]))
    if op_type == "DynamicQuantizeMatMul":
        inputs = [d.input([rows, inner]), b, d.constant([1], "f4"), d.constant([0], "u1"), bias]
    else:
        inputs = [d.input([rows, inner], "u1"), b, d.constant([1], "f4"), d.constant([1], "f4"), zero, zero, bias]
    d.node(op_type, inputs, domain="com.microsoft")


def gemm(d):
    (rows, inner, columns), trans_a, trans_b = d.sizes(3, 3), d.choose(0, 1), d.choose(0, 1)
    c = d.choose(None, [], [1], [columns], [1, columns], [rows, 1], [rows, columns])
    inputs = [d.input([inner, rows] if trans_a else [rows, inner]), d.input([columns, inner] if trans_b else [inner, columns])]
    d.node("Gemm", inputs + ([] if c is None else [d.input(c)]), transA=trans_a, transB=trans_b)


def quantization(d):
    shape, op_type = d.sizes(1, 4), d.choose("QuantizeLinear", "DequantizeLinear")
    axis = d.axis(shape)
    scale = d.choose([], [shape[axis]], [shape[axis]])
    block = None
    if d.random.random() < 0.3:
        block = d.choose(1, 2)
        shape[axis] *= block
        scale = [size // (block if index == axis % len(shape) else 1) for index, size in enumerate(shape)]
    dtype = "f4" if op_type == "QuantizeLinear" else "i1"
    inputs = [d.input(shape, dtype), d.constant(np.ones(scale), "f4"), d.constant(np.zeros(scale), "i1")]
    d.node(op_type, inputs[: d.choose(2, 3) if op_type == "QuantizeLinear" else 3], axis=axis, block_size=block)


def normalization(d):
    op_type = d.choose("LayerNormalization", "GroupNormalization", "SkipLayerNormalization", "BiasGelu", "FastGelu")
    shape = d.sizes(3, 3)
    if op_type == "LayerNormalization":
        shape = d.sizes(1, 4)
        axis = d.size(0, len(shape) - 1)
        parts = [shape[axis:], d.choose(shape[axis:], [1] * len(shape[axis:]))]
        d.node(op_type, [d.input(shape), *(d.input(part) for part in parts)], d.choose(1, 3), axis=axis)
    elif op_type == "GroupNormalization":
        d.node(op_type, [d.input([2, 4, 3]), *(d.constant(np.ones(4), "f4") for _ in range(2))], num_groups=d.choose(1, 2))
    elif op_type == "SkipLayerNormalization":
        skip = d.choose(shape, [1, *shape[1:]], shape[1:])
        inputs = [d.input(shape), d.input(skip), d.input(shape[-1:])]
        d.node(op_type, inputs, domain="com.microsoft")
    else:
        d.node(op_type, [d.input(shape), d.input(shape[-1:])], domain="com.microsoft")


def quantizing_by_range(d):
    d.node("DynamicQuantizeLinear", [d.input(d.sizes(0, 3))], 3)


#: What a model of one operator is made by.
OPERATORS = (
    *(element_wise, convolution, pooling, slicing, splitting, reshaping, layout, resizing, selecting, reducing),
    *(recurrent, products, quantized, gemm, quantization, normalization, quantizing_by_range),
)


def chain(d):
    """Operators on values whose shapes other operators compute."""
    values = [(d.input(shape), shape) for shape in (d.sizes(1, 4, 3) for _ in range(d.size(1, 3)))]

    def size():
        """A list of one size, computed from a shape, and the size."""
        name, shape = d.choose(*(value for value in values if value[1]))
        index = d.size(0, len(shape) - 1)
        name, number = d.node("Gather", [d.node("Shape", [name]), d.constant([index])]), shape[index]
        for _ in range(d.size(0, 2)):
            op_type, other = d.choose("Add", "Sub", "Mul", "Div", "Max", "Min", "Mod"), d.size()
            name = d.node(op_type, [name, d.constant([other])])
            results = dict(Add=number + other, Sub=number - other, Mul=number * other, Div=int(number / other))
            results.update(Max=max(number, other), Min=min(number, other), Mod=number % other)
            number = results[op_type]
        if d.random.random() < 0.2:
            name = d.node("Cast", [d.node("Cast", [name], to=TensorProto.FLOAT)], to=TensorProto.INT64)
        return name, number

    for _ in range(d.size(2, 9)):
        (x, shape), step = d.choose(*values), d.size(0, 8)
        axis = d.size(0, len(shape) - 1) if shape else None
        if step <= 2:
            other, other_shape = d.choose(*values)
            try:
                common = list(np.broadcast_shapes(tuple(shape), tuple(other_shape)))
            except ValueError:
                continue
            values.append((d.node(d.choose("Add", "Mul", "Max"), [x, other]), common))
        elif step == 3:
            length, number = size()
            if 0 <= number < 30:
                values.append((d.node("ConstantOfShape", [length]), [number]))
        elif step == 4:
            values.append((d.node("Unsqueeze", [x, d.constant([0])]), [1, *shape]))
        elif axis is None:
            continue
        elif step == 5:
            end, number = size()
            number = min(shape[axis], number if number >= 0 else max(0, number + shape[axis]))
            sliced = d.node("Slice", [x, d.constant([0]), end, d.constant([axis])])
            values.append((sliced, [*shape[:axis], number, *shape[axis + 1 :]]))
        elif step == 6:
            length, number = size()
            total = int(np.prod(shape))
            if number > 0 and total and total % number == 0:
                target = d.node("Concat", [length, d.constant([-1])], axis=0)
                values.append((d.node("Reshape", [x, target]), [number, total // number]))
        elif step == 7:
            reduced = d.node("ReduceSum", [x, d.constant([axis])], keepdims=1)
            values.append((reduced, [*shape[:axis], 1, *shape[axis + 1 :]]))
        else:
            values.append((d.node("Concat", [x, x], axis=axis), [*shape[:axis], 2 * shape[axis], *shape[axis + 1 :]]))


class Flow:
    """A graph of If, Loop and Scan, nested up to three deep, whose values have shapes that no rule knows in advance."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        self.shapes = {name: [self.random.randint(1, 3) for _ in range(self.random.randint(1, 3))] for name in "xyz"}
        self.nodes, values = self.body(list(self.shapes), 0, self.random.randint(2, 8))
        self.result = self.nodes[-1].output[0]

    def model(self, symbolic):
        def dims(shape):
            return [f"s{size}" if symbolic and self.random.random() < 0.6 else size for size in shape]

        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims(shape)) for name, shape in self.shapes.items()]
        inputs += [helper.make_tensor_value_info(name, TensorProto.BOOL, []) for name in ("yes", "no")]
        graph = helper.make_graph(self.nodes, "flow", inputs, [onnx.ValueInfoProto(name=self.result)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)

    def arrays(self, condition):
        arrays = {name: np.ones(shape, "f4") for name, shape in self.shapes.items()}
        return arrays | {"yes": np.array(condition), "no": np.array(not condition)}

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def node(self, nodes, op_type, inputs, outputs=1, **attributes):
        names = [self.name() for _ in range(outputs)]
        nodes.append(helper.make_node(op_type, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, nodes, value):
        return self.node(nodes, "Constant", [], value=numpy_helper.from_array(np.array(value)))

    def body(self, values, depth, steps):
        """Nodes of a graph that sees these values, and all values after them."""
        nodes, values = [], list(values)
        for _ in range(steps):
            values.append(self.step(nodes, values, depth))
        return nodes, values

    def step(self, nodes, values, depth):
        choose = self.random.choice
        x, y, kind = choose(values), choose(values), self.random.randrange(12 if depth < 3 else 9)
        tensor = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        boolean = lambda name: helper.make_tensor_value_info(name, TensorProto.BOOL, [])
        if kind <= 3:
            return self.node(nodes, choose(["Add", "Mul", "Max"]), [x, y])
        if kind == 4:
            return self.node(nodes, "Unsqueeze", [x, self.constant(nodes, [0])])
        if kind == 5:
            return self.node(nodes, "Concat", [x, x], axis=choose([0, -1]))
        if kind == 6:
            return self.node(nodes, "ReduceSum", [x, self.constant(nodes, [choose([0, -1])])], keepdims=choose([0, 1]))
        if kind == 7:
            return self.node(nodes, "Slice", [x, *(self.constant(nodes, [each]) for each in (0, choose([1, 2, -1]), 0))])
        if kind == 8:
            return self.node(nodes, "Reshape", [x, self.constant(nodes, choose([[-1], [1, -1], [-1, 1]]))])
        if kind == 9:
            branches = {}
            for branch in ("then_branch", "else_branch"):
                inner, inside = self.body(values, depth + 1, self.random.randint(1, 3))
                branches[branch] = helper.make_graph(inner, branch, [], [tensor(inside[-1])])
            return self.node(nodes, "If", [choose(["yes", "no"])], **branches)
        state, extra = self.name(), self.name()
        if kind == 10:
            inner, inside = self.body([*values, state, state], depth + 1, self.random.randint(1, 3))
            again, go = self.name(), self.node(inner, "Identity", [extra])
            stacked = self.node(inner, "Neg", [choose(inside)])
            inputs = [helper.make_tensor_value_info(again, TensorProto.INT64, []), boolean(extra), tensor(state)]
            graph = helper.make_graph(inner, "body", inputs, [boolean(go), tensor(inside[-1]), tensor(stacked)])
            # What a loop stacks that does not run has no defined shape.
            output = choose([0, 1])
            trips = self.constant(nodes, self.random.randint(output, 3))
            return self.node(nodes, "Loop", [trips, self.constant(nodes, True), x], 2, body=graph)[output]
        inner, inside = self.body([*values, state, extra, extra], depth + 1, self.random.randint(1, 3))
        last = self.node(inner, "Add", [state, inside[-1]]) if choose([0, 1]) else self.node(inner, "Identity", [state])
        stacked = self.node(inner, "Neg", [inside[-1]])
        graph = helper.make_graph(inner, "body", [tensor(state), tensor(extra)], [tensor(last), tensor(stacked)])
        return choose(self.node(nodes, "Scan", [x, y], 2, num_scan_inputs=1, body=graph))


class Number:
    """An integer in the text of an expression of sizes, such as floor((N+1)/2) or max(M|N,0)."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Number(self.value + other.value)

    def __sub__(self, other):
        return Number(self.value - other.value)

    def __neg__(self):
        return Number(-self.value)

    def __mul__(self, other):
        return Number(self.value * other.value)

    def __truediv__(self, other):
        return Number(self.value // other.value)

    def __or__(self, other):
        """The common size."""
        return self if other.value == 1 else other


def evaluate(text, sizes):
    """Value of an expression of sizes with these symbols."""

    def number(word):
        if word in ("floor", "max"):
            return word
        return f"Number({word if word.isdigit() else sizes[word]})"

    words = re.sub(r"\w+", lambda match: number(match[0]), text)
    functions = dict(Number=Number, floor=lambda a: a, max=lambda a, b: Number(max(a.value, b.value)))
    return eval(words, functions).value
