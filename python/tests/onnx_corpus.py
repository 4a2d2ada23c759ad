"""What ONNX's own tests leave out, beside ONNX Runtime: every operator in each of its versions since opset 7, for
every type, on no elements, on one, on many dimensions, broadcast every way, with the values that are easily got wrong.

Where ONNX Runtime has no implementation, ONNX's own reference is asked instead.
"""

import functools
import itertools
import warnings
from typing import NamedTuple

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

import unishape.onnx
from onnx_compare import APPROXIMATE, difference, distances, equal_bits, is_float
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

#: The newest opset that ONNX Runtime says it has, and the oldest that is run here.
RUNTIME_OPSET, OLDEST_OPSET = 26, 7

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


def model_of(cell, arrays):
    """A model of the one node, whose inputs may have any shapes; an input that is left out has no name."""
    names = [f"x{at}" if array is not None else "" for at, array in enumerate(arrays)]
    attributes = dict(cell.attributes)
    if cell.op_type == "Cast":
        attributes["to"] = helper.np_dtype_to_tensor_dtype(DTYPES[cell.other]) if cell.other != "string" else 8
    number = lambda dtype: 8 if dtype == object else helper.np_dtype_to_tensor_dtype(dtype)
    values = [
        helper.make_tensor_value_info(name, number(array.dtype), None)
        for name, array in zip(names, arrays)
        if array is not None
    ]
    graph = helper.make_graph(
        [helper.make_node(cell.op_type, names, ["y"], **attributes)],
        "corpus",
        values,
        [helper.make_tensor_value_info("y", number(output_dtype(cell)), None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", cell.opset)], ir_version=10)


def output_dtype(cell):
    schema = schema_of(cell.op_type, cell.opset)
    if cell.op_type in ("Cast", "CastLike"):
        return DTYPES[cell.other]
    return np.dtype(bool) if types_of(schema, schema.outputs[0]) == ["bool"] else DTYPES[cell.dtype]


def options():
    chosen = onnxruntime.SessionOptions()
    chosen.intra_op_num_threads = chosen.inter_op_num_threads = 1
    chosen.log_severity_level = 4
    chosen.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return chosen


OPTIONS = options()


#: What ONNX Runtime says where it has no implementation.
NOT_THERE = (
    "NOT_IMPLEMENTED",
    "ValidateOpsetForDomain",
    "is not a registered function",
    "is not currently registered or supported",
    "is invalid",
)


def by_runtime(model):
    """ONNX Runtime's session of a model, or None if it has no implementation for it."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), OPTIONS, providers=["CPUExecutionProvider"])
    except Exception as error:
        if any(told in str(error) for told in NOT_THERE):
            return None
        raise
    return lambda given: np.asarray(session.run(None, given)[0])


def by_reference(model):
    evaluator = ReferenceEvaluator(model)

    def run(given):
        try:
            result = np.asarray(evaluator.run(None, given)[0])
        except Exception:  # it has no implementation for all of its own types and shapes
            return None
        return result.astype(object) if result.dtype.kind == "U" else result

    return run


def mean(given):
    """The reference adds to its first input in place, which has to be as large as the result then."""
    arrays = list(given.values())
    return np.asarray(functools.reduce(np.add, arrays) / len(arrays)).astype(arrays[0].dtype)


def in_float(cell, arrays):
    """bfloat16 as it is to be: computed in float, rounded once."""
    wider = lambda name: "float" if name == "bfloat16" else name
    wide = cell._replace(dtype=wider(cell.dtype), other=wider(cell.other))
    widen = lambda array: array.astype("f4") if array is not None and array.dtype == DTYPES["bfloat16"] else array
    run = by_runtime(model_of(wide, [widen(array) for array in arrays]))
    if run is None:
        return None

    def rounded(given):
        result = run({name: widen(array) for name, array in given.items()})
        return result.astype(DTYPES["bfloat16"]) if result.dtype != bool and cell.dtype == "bfloat16" else result

    return rounded


def oracle(cell, arrays):
    """Who says what is right, and how."""
    model = model_of(cell, arrays)
    converts = cell.op_type in ("Cast", "CastLike")
    # ONNX Runtime takes no bfloat16 of Python.
    if "bfloat16" not in (cell.dtype, cell.other):
        if run := by_runtime(model):
            return "ONNX Runtime", run
    elif not converts and (run := in_float(cell, arrays)):
        return "ONNX Runtime in float", run
    if cell.op_type == "Mean":
        return "NumPy", mean
    return "reference", by_reference(model)


#: ONNX Runtime's functions are made for speed: exact to a few ulp where the result is of the size of the argument or
#: of 1, while results near 0 have lost relative accuracy on the way (exp(x) - 1, 1 + erf(x), polynomials of Sigmoid).
#: So a result is also right if it is so many times the type's epsilon off, of 1 or of the largest argument.
ULPS, EPSILONS = 8, 8


def close(cell, arrays, result, expected):
    """Which elements of an approximated function's result are near enough."""
    if cell.op_type not in APPROXIMATE or not is_float(result.dtype):
        return np.zeros(result.shape, bool)
    near = distances(result, expected) <= ULPS
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    if cell.op_type in ("Pow", "Exp", "Log") or result.dtype.itemsize < 4:
        return near
    size = np.maximum(1, np.abs(np.nan_to_num(arrays[0].astype("f8"), posinf=1, neginf=1)))
    off = np.abs(result.astype("f8") - expected.astype("f8"))
    return near | (off <= EPSILONS * epsilon * size)


class Disagreement(NamedTuple):
    """Elements that are not compared, because ours is right and the oracle's is not, or because both are."""

    what: str
    decision: str
    oracles: str
    #: Whether it is about a cell, and then about which elements: of (inputs, result, expected).
    about: object
    which: object


def of(*op_types, dtypes=None, other=None):
    return lambda cell: (
        cell.op_type in op_types
        and (dtypes is None or cell.dtype in dtypes)
        and (other is None or cell.other in other)
    )


def any_of(arrays, test):
    """Where a test holds for one of the inputs."""
    return functools.reduce(np.logical_or, [test(array) for array in arrays])


def both_zero(arrays, result, expected):
    return (result == 0) & (expected == 0)


def within_ulps(count):
    return lambda arrays, result, expected: distances(result, expected) <= count


def beyond_range(arrays, result, expected):
    """Integer powers that the type does not hold, or not exactly in double precision, which others compute in."""
    with np.errstate(all="ignore"):
        exact = np.power(arrays[0].astype("f8"), arrays[1].astype("f8"))
    holds = np.abs(exact) < (2.0**31 if result.dtype.itemsize == 4 else 2.0**53)
    return ~(holds & (np.abs(arrays[1].astype("f8")) <= 2.0**53))


def same_number(arrays, result, expected):
    """Texts that are read as the same number of the type, which is the one that was converted."""
    numbers = np.array([float(word) for word in result.ravel()]).reshape(result.shape)
    return equal_bits(numbers.astype(arrays[0].dtype), arrays[0])


FLOATING = ("float16", "float", "double", "bfloat16")
RUNTIME, REFERENCE = "ONNX Runtime", "reference"

DISAGREEMENTS = [
    Disagreement(
        "Max, Min, Clip and Relu of 0 and -0",
        "ONNX does not say which of two equal numbers is given; ours is the first one, whatever the shapes. "
        "ONNX Runtime gives one or the other, by the shapes.",
        "any", of("Max", "Min", "Clip", "Relu"), both_zero,
    ),
    Disagreement(
        "Where that chooses -0",
        "What is chosen is given unchanged, as the text has it. ONNX Runtime adds 0 to it.",
        RUNTIME, of("Where"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 and -0",
        "x itself where x >= 0, as the text has it, and so -0 of -0. Others add two halves, one of which is 0.",
        "any", of("PRelu"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 or infinity, with an infinite slope or one of 0",
        "x itself where x >= 0. The reference multiplies both halves, and so 0 by infinity.",
        REFERENCE, of("PRelu"), lambda arrays, result, expected: np.isnan(expected) & ~np.isnan(result),
    ),
    Disagreement(
        "Clip of infinities without a bound",
        "A bound that is left out does not bind. ONNX Runtime takes the largest finite numbers for bounds.",
        RUNTIME, of("Clip"), lambda arrays, result, expected: np.isinf(result) & (result == arrays[0]),
    ),
    Disagreement(
        "Sign of NaN in float16",
        "NaN, as for the other types. ONNX Runtime gives 0, for float16 alone.",
        RUNTIME, of("Sign", dtypes=["float16"]), lambda arrays, result, expected: np.isnan(result) & (expected == 0),
    ),
    Disagreement(
        "Mod with fmod = 1 of int64 and uint64",
        "Exact. ONNX Runtime computes it in double precision, which does not hold integers beyond 2^53.",
        RUNTIME, of("Mod", dtypes=["int64", "uint64"]),
        lambda arrays, result, expected: any_of(arrays, lambda x: np.abs(x.astype("f8")) > 2.0**53),
    ),
    Disagreement(
        "Pow of integers beyond what the type, or double precision, holds",
        "Integer powers wrap, as products do; what is computed in floating point ends at the ends of the type; 0 to a "
        "power below 0 is 0. ONNX does not say. Others compute in double precision, and convert as the CPU does it.",
        "any", of("Pow", dtypes=["int32", "int64"]), beyond_range,
    ),
    Disagreement(
        "Mean",
        "The sum divided by the count, rounded once more. ONNX Runtime multiplies by the reciprocal of the count.",
        RUNTIME, of("Mean"), within_ulps(2),
    ),
    Disagreement(
        "Softsign",
        "x / (1 + |x|), rounded twice. ONNX Runtime's float is a quotient that is not rounded correctly, and may be "
        "larger than 1.",
        RUNTIME, of("Softsign", dtypes=["float", "bfloat16"]), within_ulps(2),
    ),
    Disagreement(
        "Floating point as text",
        "Digits as few as tell the number, without an exponent, with a point. ONNX does not say how numbers are "
        "written; ONNX Runtime and the reference do it in two other ways. The text is the same number.",
        "any", of("Cast", "CastLike", dtypes=FLOATING, other=["string"]), same_number,
    ),
    Disagreement(
        "Text as bool",
        "'0' is false and other numbers are true, as in ONNX Runtime. To the reference any text is true.",
        REFERENCE, of("Cast", "CastLike", dtypes=["string"], other=["bool"]),
        lambda arrays, result, expected: (arrays[0] == "0") & ~result & expected,
    ),
    Disagreement(
        "bool as text",
        "'1' and '0', as in ONNX Runtime, so that the text can be cast back. The reference has 'True' and 'False'.",
        REFERENCE, of("Cast", "CastLike", dtypes=["bool"], other=["string"]),
        lambda arrays, result, expected: (result == np.where(arrays[0], "1", "0")) & (expected == arrays[0].astype(str)),
    ),
    Disagreement(
        "Erf of integers (opset 9)",
        "Computed in double precision and cut off, so that 1 is reached late. The reference computes in float.",
        REFERENCE, of("Erf", dtypes=["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]),
        lambda arrays, result, expected: (result == 0) & (np.abs(arrays[0].astype("f8")) > 3),
    ),
    Disagreement(
        "Erf and Gelu of double in float",
        "As exact as the type. The reference computes Erf in float, and ONNX Runtime's Gelu has constants of float.",
        "any", of("Erf", "Gelu", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 3e-7 * np.maximum(1, np.abs(arrays[0])),
    ),
    Disagreement(
        "HardSwish of double",
        "1/6 in double precision. In the reference it is an attribute, and those are of float.",
        REFERENCE, of("HardSwish", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 1e-7 * np.square(arrays[0]),
    ),
    Disagreement(
        "Expand of complex numbers",
        "Each element as it is. The reference multiplies by 1, and that makes NaN of infinities and 0 of -0.",
        REFERENCE, of("Expand", dtypes=["complex64", "complex128"]),
        lambda arrays, result, expected: np.isnan(expected) | (result == expected),
    ),
]  # fmt: skip


def excused(cell, who, arrays, result, expected, used):
    """Which elements are not compared, of those that differ."""
    differ = ~equal_bits(result, expected) & ~close(cell, arrays, result, expected)
    excuse = np.zeros(result.shape, bool)
    for one in DISAGREEMENTS:
        if differ.any() and one.about(cell) and (one.oracles == "any" or who.startswith(one.oracles)):
            with np.errstate(all="ignore"):
                mine = differ & one.which(arrays, result, expected)
            if mine.any():
                used.add(one.what)
            excuse |= mine
            differ &= ~mine
    return excuse


class Outcome(NamedTuple):
    """What became of a cell."""

    #: Who was asked, in how many cases.
    oracle: str
    cases: int
    #: Cases that nobody could be asked about.
    unasked: int
    wrong: str | None
    disagreements: frozenset


@functools.cache
def outcome(cell):
    """Runs a cell. Remembered, so that a table can be made of it without running it again."""
    ready, used, cases, unasked = {}, set(), 0, 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for arrays in inputs(cell):
            given = {f"x{at}": array for at, array in enumerate(arrays) if array is not None}
            key = tuple(given)
            if key not in ready:
                ready[key] = (unishape.onnx.load(model_of(cell, arrays)), *oracle(cell, arrays))
            ours, who, theirs = ready[key]
            result, expected = ours(**given)["y"], theirs(given)
            if expected is None:
                unasked += 1
                continue
            cases += 1
            if (result.dtype, result.shape) == (expected.dtype, expected.shape):
                allowed = excused(cell, who, arrays, result, expected, used) | close(cell, arrays, result, expected)
            else:
                allowed = None
            if wrong := difference(result, expected, allowed=allowed):
                told = [None if array is None else (array.shape, array.tolist()) for array in arrays]
                return Outcome(who, cases, unasked, f"{who} has it differently, for {told}: {wrong}", frozenset(used))
    return Outcome(who, cases, unasked, None, frozenset(used))
