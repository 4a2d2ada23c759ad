"""What the corpus is made of: every operator in each of its versions, for every type, and what each is run on."""

import functools
import itertools
from typing import NamedTuple

import ml_dtypes
import numpy as np
import onnx

from onnx_compare import is_float
from onnx_node_suite import BROADCASTING, OTHERS, TYPES

#: Those that make or rearrange shapes: element by element there is nothing to see, and ONNX's own tests are many.
ABOUT_SHAPES = frozenset(
    "Constant ConstantOfShape Shape Size Concat Gather Slice Reshape Squeeze Unsqueeze".split()
)
OPERATORS = sorted((BROADCASTING | OTHERS) - ABOUT_SHAPES)

DTYPES = {
    **{name: np.dtype(name) for name in TYPES if name not in ("float", "double", "string", "bfloat16")},
    "float": np.dtype("float32"),
    "double": np.dtype("float64"),
    "string": np.dtype(object),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
}

#: Attributes that decide what is computed, where the default is not all there is.
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

#: The oldest opset that is run here.
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
ALONE = [(), (1,), (3, 2), (2, 1, 2, 1, 2, 3), (0,), (2, 0, 3)]
#: The second is stretched to the first, which is not stretched.
ONE_WAY = [(a, b) for a, b in PAIRS if np.broadcast_shapes(a, b) == a] + [((2, 1, 2, 2, 2, 3), (2, 1, 3))]


class Cell(NamedTuple):
    """An operator in one of its versions, for one type."""

    op_type: str
    opset: int
    dtype: str
    attributes: tuple
    #: The type that is converted to, or that an exponent has.
    other: str | None

    def __str__(self):
        told = [f"{key}={value}" for key, value in self.attributes]
        return "-".join([self.op_type, str(self.opset), self.dtype, *told, *filter(None, [self.other])])


def types_of(schema, parameter):
    """The types of ours that an input or output may have."""
    name = parameter.type_str
    allowed = next((each.allowed_type_strs for each in schema.type_constraints if each.type_param_str == name), [name])
    return [one for one in TYPES if f"tensor({one})" in allowed]


def tensor_types(schema, at):
    return types_of(schema, schema.inputs[at])


def versions(op_type):
    """The opsets that an operator is looked at in: each that it was changed in, and the oldest."""
    since = sorted(
        schema.since_version
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.name == op_type and schema.domain == "" and not schema.deprecated
    )
    return sorted({max(one, OLDEST_OPSET) for one in since})


def schema_of(op_type, opset):
    return onnx.defs.get_schema(op_type, max_inclusive_version=opset)


def deciding(op_type):
    return 1 if op_type == "Where" else 0


def others(op_type, schema, dtype, newest):
    """The second types that an operator is looked at with; without any, there is none."""
    if op_type == "Pow" and schema.since_version >= 12:
        return tensor_types(schema, 1) if newest else [dtype]
    if op_type in ("Cast", "CastLike"):
        return types_of(schema, schema.outputs[0])
    return [None]


@functools.cache
def cells():
    found = []
    for op_type in OPERATORS:
        opsets = versions(op_type)
        for opset in opsets:
            schema = schema_of(op_type, opset)
            for dtype in tensor_types(schema, deciding(op_type)):
                for other in others(op_type, schema, dtype, opset == opsets[-1]):
                    for attributes in VARIANTS.get(op_type, [{}]):
                        # Before opset 28 there was one Mod of floating point.
                        if op_type == "Mod" and opset < 28 and is_float(DTYPES[dtype]) and not attributes["fmod"]:
                            continue
                        found.append(Cell(op_type, opset, dtype, tuple(attributes.items()), other))
    return found


FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 100.5, -1e-3, 1e-3, 1e4]
WORDS = ["", "a", "b", "ab", "Ärger", "語", "a\0b", "a longer one, with blanks"]


def specials(name):
    """The values that are easily got wrong."""
    dtype = DTYPES[name]
    if name == "bool":
        return np.array([False, True])
    if name == "string":
        return np.array(WORDS, object)
    if dtype.kind == "c":
        parts = [0.0, -0.0, 1.0, -2.5, np.inf, np.nan]
        return np.array([complex(a, b) for a, b in itertools.product(parts, parts)], dtype)
    if is_float(dtype):
        about = ml_dtypes.finfo(dtype)
        edges = [float(about.max), -float(about.max), float(about.tiny), float(about.smallest_subnormal)]
        return np.array([*FLOATS, np.inf, -np.inf, np.nan, *edges]).astype(dtype)
    about = np.iinfo(dtype)
    whole = [0, 1, 2, 3, 7, 31, 100, about.max - 1, about.max, about.min, about.min + 1]
    return np.array([*whole, *([-1, -2, -7] if about.min else [])], dtype)


def drawn(rng, name, shape):
    """Elements at random, one of the special ones among four."""
    dtype = DTYPES[name]
    edge = rng.choice(specials(name), shape)
    if name in ("bool", "string"):
        return np.array(edge, dtype).reshape(shape)
    if dtype.kind == "c":
        plain = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    elif is_float(dtype):
        plain = rng.normal(size=shape) * 3
    else:
        plain = rng.integers(max(np.iinfo(dtype).min, -9), 99, shape)
    plain = np.asarray(plain).astype(dtype)
    return np.where(rng.random(shape) < 0.25, edge, plain).astype(dtype).reshape(shape)


def combined(count, name):
    """The special values, each with each: along one dimension for each input."""
    values = specials(name)
    if count == 3:
        values = values[:12]
    return [values.reshape([-1 if place == at else 1 for place in range(count)]) for at in range(count)]


def plain_inputs(cell, rng):
    """Inputs of one type: what is drawn for all shapes, and what is special."""
    op_type, name = cell.op_type, cell.dtype
    schema = schema_of(op_type, cell.opset)
    variadic = schema.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    if variadic and not broadcasts(cell):
        return [[drawn(rng, name, shape)] * count for shape in ALONE for count in (1, 2)]
    if op_type == "PRelu":
        special = combined(2, name)
        special[0] = special[0] + np.zeros_like(special[1])
        return [[drawn(rng, name, shape) for shape in shapes] for shapes in ONE_WAY] + [special]
    if variadic:
        shapes = [*PAIRS, *TRIPLES, ((2, 3),)]
        return [[drawn(rng, name, shape) for shape in each] for each in shapes] + [combined(2, name), combined(3, name)]
    if len(schema.inputs) == 2:
        second = cell.other or name
        special = [specials(name).reshape(-1, 1), specials(second)]
        return [[drawn(rng, name, a), drawn(rng, second, b)] for a, b in PAIRS] + [special]
    return [[drawn(rng, name, shape)] for shape in ALONE] + [[specials(name)]]


def broadcasts(cell):
    """Max, Min, Sum and Mean broadcast from opset 8 on."""
    return cell.opset >= 8


def inputs(cell):
    """All that a cell is run on. NumPy makes numbers of arrays without dimensions where it can."""
    return [[None if array is None else np.asarray(array) for array in arrays] for arrays in chosen(cell)]


def chosen(cell):
    rng = np.random.default_rng(sum(map(ord, str(cell))))
    op_type, name = cell.op_type, cell.dtype
    if op_type == "Where":
        made = [[drawn(rng, "bool", a), drawn(rng, name, b), drawn(rng, name, c)] for a, b, c in TRIPLES]
        return made + [[np.array([[[True]], [[False]]]), *combined(2, name)]]
    if op_type == "Expand":
        shapes = [(a, np.broadcast_shapes(a, b)) for a, b in PAIRS] + [((2, 1, 3), (4, 1)), ((3,), (1,))]
        return [[drawn(rng, name, a), np.array(b, "i8")] for a, b in shapes]
    if op_type == "CastLike":
        return [[x[0], drawn(rng, cell.other, (2,))] for x in convertible(cell, rng)]
    if op_type == "Cast":
        return convertible(cell, rng)
    if op_type == "Clip" and cell.opset >= 11:
        values = specials(name)
        bounds = [(values[2], values[4]), (values[4], values[2]), (values[1], None), (None, values[3]), (None, None)]
        of = lambda bound: None if bound is None else np.array(bound, DTYPES[name])
        return [[x, of(a), of(b)] for a, b in bounds for x in (values, drawn(rng, name, (2, 0)), drawn(rng, name, ()))]
    made = plain_inputs(cell, rng)
    if op_type in ("Div", "Mod") and not is_float(DTYPES[name]):
        return [[dividend(x), divisor(y)] for x, y in made]
    if op_type == "BitShift":
        return [[x, amount(y)] for x, y in made]
    if op_type == "Pow" and cell.other in ("int8", "int16"):
        # ONNX Runtime has no such exponents, and the reference none of integers below 0.
        return [[x, np.maximum(y, 0)] for x, y in made]
    return made


# What ONNX does not define and C++ does not either stays out: ONNX Runtime ends the process for some of it.
def dividend(x):
    return np.maximum(x, np.iinfo(x.dtype).min + 1) if x.dtype.kind == "i" else x


def divisor(x):
    return np.where(x == 0, 1, x).astype(x.dtype)


def amount(x):
    return (x % (8 * x.dtype.itemsize)).astype(x.dtype)


def convertible(cell, rng):
    """What is converted: numbers that the other type has, text that is a number."""
    shapes, to = ALONE, DTYPES[cell.other]
    if cell.dtype == "string":
        if cell.other == "string":
            return [[drawn(rng, "string", shape)] for shape in shapes]
        words = ["0", "1", "7", *(["-3", "1.5", "1e3"] if is_float(to) else [])]
        return [[np.array(rng.choice(words, shape), object).reshape(shape)] for shape in shapes]
    given = [[drawn(rng, cell.dtype, shape)] for shape in shapes] + [[specials(cell.dtype)]]
    if is_float(DTYPES[cell.dtype]) and to.kind in "iu":
        given = [[within(x, to)] for (x,) in given]
    return given


def within(x, to):
    """Floating point that an integer of this type can be made of."""
    about = np.iinfo(to)
    wide = np.nan_to_num(x.astype("f8"), nan=5.0, posinf=6.0, neginf=7.0)
    fits = (wide > max(about.min, -(2.0**31)) - 0.5) & (wide < min(about.max, 2.0**31 - 129))
    if not about.min:
        fits &= wide >= 0
    return np.where(fits, wide, 2.0).astype(x.dtype)
