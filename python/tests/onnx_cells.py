"""Cells of the corpus (operator, version, element type, attributes) and their inputs."""

import functools
import itertools
from typing import NamedTuple

import ml_dtypes
import numpy as np
import onnx

import onnx_reductions
from onnx_compare import is_float
from onnx_node_suite import REDUCING, SUPPORTED, TYPES

#: Not in the corpus: they compute no elements, and the node tests of the onnx package cover them.
SHAPE_OPERATORS = frozenset(
    "Constant ConstantOfShape Shape Size Concat Gather Slice Reshape Squeeze Unsqueeze".split()
)
OPERATORS = sorted(SUPPORTED - SHAPE_OPERATORS)

DTYPES = {
    **{name: np.dtype(name) for name in TYPES if name not in ("float", "double", "string", "bfloat16")},
    "float": np.dtype("float32"),
    "double": np.dtype("float64"),
    "string": np.dtype(object),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}

#: Attribute values to test, for operators whose attributes change the result.
VARIANTS = {
    "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}],
    "Mod": [{"fmod": 0}, {"fmod": 1}],
    "Gelu": [{}, {"approximate": "tanh"}],
    "IsInf": [{}, {"detect_negative": 0}, {"detect_positive": 0}],
    "LeakyRelu": [{}, {"alpha": 0.3}],
    "Elu": [{}, {"alpha": 2.5}],
    "Selu": [{}, {"alpha": 2.0, "gamma": 3.0}],
    "Celu": [{}, {"alpha": 2.0}],
    "HardSigmoid": [{}, {"alpha": 0.6, "beta": 0.25}],
    "ThresholdedRelu": [{}, {"alpha": 2.0}],
    "Swish": [{}, {"alpha": 1.7}],
}

#: Oldest supported opset.
OLDEST_OPSET = 7

PAIRS = [
    ((), ()), ((3,), ()), ((), (2, 3)), ((2, 3), (3,)), ((4,), (3, 1)), ((2, 3), (2, 3)),
    ((1, 5, 1, 2, 1), (4, 1, 3, 1, 2)), ((2, 1, 2, 1, 2, 3), (2, 1, 1)),
    ((0,), (1,)), ((1,), (0,)), ((2, 0, 3), (3,)), ((), (0, 2)), ((0, 1), (1, 4)), ((3, 1), (1, 0)),
]  # fmt: skip
TRIPLES = [
    ((), (), ()), ((3,), (), (2, 1)), ((1, 1, 4), (2, 1), ()), ((), (3, 1), (2, 1, 2)),
    ((2, 1, 1, 1, 3), (4, 1, 1), (1, 2, 1)), ((0,), (1,), ()), ((2, 1), (), (1, 0)), ((1,), (0, 1), (3,)),
]  # fmt: skip
UNARY = [(), (1,), (3, 2), (2, 1, 2, 1, 2, 3), (0,), (2, 0, 3)]
#: Unidirectional broadcasting: the second shape broadcasts to the first.
UNIDIRECTIONAL = [(a, b) for a, b in PAIRS if np.broadcast_shapes(a, b) == a] + [((2, 1, 2, 2, 2, 3), (2, 1, 3))]


class Cell(NamedTuple):
    """An operator in one version, for one element type and one set of attributes."""

    op_type: str
    opset: int
    dtype: str
    attributes: tuple
    #: Target type of a cast, type of an exponent or of a scale, or name of an output other than the first.
    other: str | None

    def __str__(self):
        attributes = [f"{key}={value}" for key, value in self.attributes]
        return "-".join([self.op_type, str(self.opset), self.dtype, *attributes, *filter(None, [self.other])])


def types_of(schema, parameter):
    """Supported element types of an input or output."""
    param = parameter.type_str
    constraints = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
    allowed = constraints.get(param, [param])
    return [name for name in TYPES if f"tensor({name})" in allowed]


def tensor_types(schema, index):
    return types_of(schema, schema.inputs[index])


def versions(op_type):
    """Tested opsets of an operator: all that changed it, from the oldest supported one."""
    since = sorted(
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        # The first GroupNormalization is deprecated, but models of its opset have no other.
        if schema.name == op_type and schema.domain == "" and (not schema.deprecated or op_type in REDUCING)
    )
    return sorted({max(opset, OLDEST_OPSET) for opset in since})


def schema_of(op_type, opset):
    return onnx.defs.get_schema(op_type, max_inclusive_version=opset)


def typed_input(op_type):
    """Index of the input that determines the element type."""
    return 1 if op_type == "Where" else 0


def others(op_type, schema, dtype, newest):
    """Tested values of `Cell.other`."""
    if op_type == "Pow" and schema.since_version >= 12:
        return tensor_types(schema, 1) if newest else [dtype]
    if op_type in ("Cast", "CastLike"):
        return types_of(schema, schema.outputs[0])
    if op_type == "RMSNormalization":
        return tensor_types(schema, 1)
    return [None, "Mean", "InvStdDev"] if op_type == "LayerNormalization" else [None]


def variants(op_type, opset):
    """Tested values of `Cell.attributes`."""
    return onnx_reductions.variants(op_type, opset) if op_type in REDUCING else VARIANTS.get(op_type, [{}])


@functools.cache
def cells():
    found = []
    for op_type in OPERATORS:
        opsets = versions(op_type)
        for opset in opsets:
            schema = schema_of(op_type, opset)
            for dtype in tensor_types(schema, typed_input(op_type)):
                for other in others(op_type, schema, dtype, opset == opsets[-1]):
                    for attributes in variants(op_type, opset):
                        # Before opset 28, Mod of floating-point numbers requires fmod = 1.
                        if op_type == "Mod" and opset < 28 and is_float(DTYPES[dtype]) and not attributes["fmod"]:
                            continue
                        found.append(Cell(op_type, opset, dtype, tuple(attributes.items()), other))
    return found


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 100.5, -1e-3, 1e-3, 1e4]
STRINGS = ["", "a", "b", "ab", "Ärger", "語", "a\0b", "a longer one, with blanks"]


def specials(name):
    """Special values: zeros, infinities, NaN, subnormal numbers, limits of integer types."""
    dtype = DTYPES[name]
    if name == "bool":
        return np.array([False, True])
    if name == "string":
        return np.array(STRINGS, object)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    if is_float(dtype):
        info = ml_dtypes.finfo(dtype)
        edges = [float(info.max), -float(info.max), float(info.tiny), float(info.smallest_subnormal)]
        return np.array([*FLOATS, np.inf, -np.inf, np.nan, *edges]).astype(dtype)
    info = np.iinfo(dtype)
    integers = [0, 1, 2, 3, 7, 31, 100, info.max - 1, info.max, info.min, info.min + 1]
    return np.array([*integers, *([-1, -2, -7] if info.min else [])], dtype)


def random_array(rng, name, shape):
    """Random elements, a quarter of them special values."""
    dtype = DTYPES[name]
    special = rng.choice(specials(name), shape)
    if name in ("bool", "string"):
        return np.array(special, dtype).reshape(shape)
    if dtype.kind == "c":
        plain = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    elif is_float(dtype):
        plain = rng.normal(size=shape) * 3
    else:
        plain = rng.integers(max(np.iinfo(dtype).min, -9), 99, shape)
    plain = np.asarray(plain).astype(dtype)
    return np.where(rng.random(shape) < 0.25, special, plain).astype(dtype).reshape(shape)


def all_combinations(count, name):
    """All combinations of special values: input `i` varies along dimension `i`."""
    values = specials(name)
    if count == 3:
        values = values[:12]
    return [values.reshape([-1 if dim == index else 1 for dim in range(count)]) for index in range(count)]


def default_inputs(cell, rng):
    """Random inputs of all shapes, and special values."""
    op_type, name = cell.op_type, cell.dtype
    schema = schema_of(op_type, cell.opset)
    variadic = schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    if variadic and not broadcasts(cell):
        return [[random_array(rng, name, shape)] * count for shape in UNARY for count in (1, 2)]
    if op_type == "PRelu":
        special = all_combinations(2, name)
        special[0] = special[0] + np.zeros_like(special[1])
        return [[random_array(rng, name, shape) for shape in shapes] for shapes in UNIDIRECTIONAL] + [special]
    if variadic:
        shapes = [*PAIRS, *TRIPLES, ((2, 3),)]
        special = [all_combinations(2, name), all_combinations(3, name)]
        return [[random_array(rng, name, shape) for shape in each] for each in shapes] + special
    if len(schema.inputs) == 2:
        second = cell.other or name
        special = [specials(name).reshape(-1, 1), specials(second)]
        return [[random_array(rng, name, a), random_array(rng, second, b)] for a, b in PAIRS] + [special]
    return [[random_array(rng, name, shape)] for shape in UNARY] + [[specials(name)]]


def broadcasts(cell):
    """Whether a variadic operator broadcasts: Max, Min, Sum and Mean do from opset 8."""
    return cell.opset >= 8


def inputs(cell):
    """All inputs of a cell. Converts the scalars that NumPy returns for rank 0 back to arrays."""
    return [[None if array is None else np.asarray(array) for array in arrays] for arrays in raw_inputs(cell)]


def raw_inputs(cell):
    rng = np.random.default_rng(sum(map(ord, str(cell))))
    op_type, name = cell.op_type, cell.dtype
    if op_type in REDUCING:
        return onnx_reductions.inputs(cell, rng, DTYPES, random_array)
    if op_type == "Where":
        types = ("bool", name, name)
        random = [[random_array(rng, *each) for each in zip(types, shapes)] for shapes in TRIPLES]
        return random + [[np.array([[[True]], [[False]]]), *all_combinations(2, name)]]
    if op_type == "Expand":
        shapes = [(a, np.broadcast_shapes(a, b)) for a, b in PAIRS] + [((2, 1, 3), (4, 1)), ((3,), (1,))]
        return [[random_array(rng, name, a), np.array(b, "i8")] for a, b in shapes]
    if op_type == "CastLike":
        return [[x[0], random_array(rng, cell.other, (2,))] for x in castable(cell, rng)]
    if op_type == "Cast":
        return castable(cell, rng)
    if op_type == "Clip" and cell.opset >= 11:
        values = specials(name)
        bounds = [(values[2], values[4]), (values[4], values[2]), (values[1], None), (None, values[3]), (None, None)]
        array = lambda bound: None if bound is None else np.array(bound, DTYPES[name])
        inputs_of = lambda: (values, random_array(rng, name, (2, 0)), random_array(rng, name, ()))
        return [[x, array(a), array(b)] for a, b in bounds for x in inputs_of()]
    arrays = default_inputs(cell, rng)
    if op_type in ("Div", "Mod") and not is_float(DTYPES[name]):
        return [[safe_dividend(x), safe_divisor(y)] for x, y in arrays]
    if op_type == "BitShift":
        return [[x, safe_shift(y)] for x, y in arrays]
    if op_type == "Pow" and cell.other in ("int8", "int16"):
        # ONNX Runtime does not support these exponents, and the reference rejects negative integers.
        return [[x, np.maximum(y, 0)] for x, y in arrays]
    return arrays


# Inputs with undefined behavior in C++ are excluded, because some of them abort the process of ONNX Runtime.
def safe_dividend(x):
    return np.maximum(x, np.iinfo(x.dtype).min + 1) if x.dtype.kind == "i" else x


def safe_divisor(x):
    return np.where(x == 0, 1, x).astype(x.dtype)


def safe_shift(x):
    return (x % (8 * x.dtype.itemsize)).astype(x.dtype)


def castable(cell, rng):
    """Inputs of a cast: numbers in the range of the target type, strings that contain numbers."""
    shapes, to = UNARY, DTYPES[cell.other]
    if cell.dtype == "string":
        if cell.other == "string":
            return [[random_array(rng, "string", shape)] for shape in shapes]
        strings = ["0", "1", "7", *(["-3", "1.5", "1e3"] if is_float(to) else [])]
        return [[np.array(rng.choice(strings, shape), object).reshape(shape)] for shape in shapes]
    arrays = [[random_array(rng, cell.dtype, shape)] for shape in shapes] + [[specials(cell.dtype)]]
    if is_float(DTYPES[cell.dtype]) and to.kind in "iu":
        arrays = [[within(x, to)] for (x,) in arrays]
    return arrays


def within(x, to):
    """Replaces floating-point numbers that the integer type cannot represent."""
    info = np.iinfo(to)
    wide = np.nan_to_num(x.astype("f8"), nan=5.0, posinf=6.0, neginf=7.0)
    fits = (wide > max(info.min, -(2.0**31)) - 0.5) & (wide < min(info.max, 2.0**31 - 129))
    if not info.min:
        fits &= wide >= 0
    return np.where(fits, wide, 2.0).astype(x.dtype)
