"""`explicit --check` as a gate: nothing that broadcasts passes, in subgraphs and functions, too."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnx.parser  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

import onnx_real_models as real  # noqa: E402
import unishape.onnx  # noqa: E402

HEADER = '<ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>'


def parse(text):
    return onnx.parser.parse_model(f"{HEADER}\n{text}")


def verdict(model, **settings):
    return unishape.onnx.explain(model, **settings).verdict


def single(op_type, shapes, dtypes=None, opset=21, domain="", ir_version=10, **attributes):
    """A model of one node with inputs of these shapes."""
    dtypes = dtypes or [TensorProto.FLOAT] * len(shapes)
    names = [f"x{index}" for index in range(len(shapes))]
    node = helper.make_node(op_type, [n if s is not None else "" for n, s in zip(names, shapes)], ["y"], domain=domain, **attributes)
    inputs = [
        helper.make_tensor_value_info(name, dtype, shape)
        for name, dtype, shape in zip(names, dtypes, shapes)
        if shape is not None
    ]
    output = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph([node], "single", inputs, [output])
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


MATMULS = [
    ([2, 3], [3, 4], "explicit"),
    ([5, 2, 3], [5, 3, 4], "explicit"),
    ([5, 2, 3], [3, 4], "broadcasts"),
    ([2, 3], [5, 3, 4], "broadcasts"),
    ([5, 2, 3], [1, 3, 4], "broadcasts"),
    ([7, 1, 2, 3], [5, 3, 4], "broadcasts"),
    ([1, 2, 3], [1, 3, 4], "explicit"),
    ([3], [3, 4], "explicit"),
    ([2, 3], [3], "explicit"),
    ([3], [3], "explicit"),
    ([3], [5, 3, 4], "broadcasts"),
    (["N", 2, 3], [1, 3, 4], "unknown"),
    (["N", 2, 3], ["N", 3, 4], "explicit"),
    (["N", 2, 3], ["M", 3, 4], "unknown"),
]


@pytest.mark.parametrize("a, b, expected", MATMULS)
def test_batch_dimensions_of_matmul(a, b, expected):
    model = single("MatMul", [a, b])
    assert verdict(model) == expected
    sizes = [tuple({"N": 1, "M": 1}.get(size, size) for size in shape) for shape in (a, b)]
    rng = np.random.default_rng(0)
    given = {f"x{index}": rng.normal(size=shape).astype("f4") for index, shape in enumerate(sizes)}
    expected_result = np.matmul(*given.values())
    for each in (model, unishape.onnx.explicit(model, expand_matmul=True)):
        (result,) = real.session(each).run(None, given)
        np.testing.assert_allclose(result, expected_result, rtol=1e-5, strict=True)
    if expected != "explicit" and min(len(a), len(b)) > 1:
        expanded = unishape.onnx.explicit(model, expand_matmul=True)
        assert verdict(expanded) == "explicit"
        assert unishape.onnx.implicit(expanded) == model


@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("c", [[], [1], [4], [1, 4], [2, 1], [1, 1], [2, 4], None])
@pytest.mark.parametrize("rows", [2, "N"])
def test_c_of_gemm(trans_a, trans_b, c, rows):
    a = [3, rows] if trans_a else [rows, 3]
    b = [4, 3] if trans_b else [3, 4]
    if c == [2, 4] and rows == "N":
        c = ["N", 4]
    model = single("Gemm", [a, b, c] if c is not None else [a, b], transA=trans_a, transB=trans_b)
    if c == [2, 1] and rows == "N":
        assert verdict(model) == "broadcasts"  # along the columns
        return
    # N may be 1.
    expected = "unknown" if (c, rows) == ([1, 4], "N") else "broadcasts"
    assert verdict(model) == ("explicit" if c is None or c == [rows, 4] else expected)
    explicit = unishape.onnx.explicit(model)
    assert verdict(explicit) == "explicit" and unishape.onnx.implicit(explicit) == model
    opened = real.session(model)
    given = real.inputs(opened, 2)
    (expected,), (result,) = opened.run(None, given), real.session(explicit).run(None, given)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "scale, zero_point, axis, expected",
    [([], [], 1, "explicit"), ([3], [3], 1, "broadcasts"), ([2], [2], 0, "broadcasts"), ([1], [1], 1, "explicit")],
)
@pytest.mark.parametrize("op_type", ["QuantizeLinear", "DequantizeLinear"])
def test_quantization_along_an_axis(op_type, scale, zero_point, axis, expected):
    float_, int8 = TensorProto.FLOAT, TensorProto.INT8
    first = float_ if op_type == "QuantizeLinear" else int8
    model = single(op_type, [[2, 3, 4], scale, zero_point], [first, float_, int8], axis=axis)
    report = unishape.onnx.explain(model)
    assert report.verdict == expected
    if expected == "broadcasts":
        (found,) = report.broadcasts
        assert found["kind"] == "quantization"
        assert [each["dims"] for each in found["stretched"]] == [[dim for dim in range(3) if dim != axis]] * 2


@pytest.mark.parametrize("zero_points, expected", [([], "explicit"), ([4], "broadcasts"), ([1], "explicit")])
def test_zero_points_of_matrix_products(zero_points, expected):
    uint8 = TensorProto.UINT8
    model = single("MatMulInteger", [[2, 3], [3, 4], [], zero_points], [uint8] * 4)
    assert verdict(model) == expected


@pytest.mark.parametrize(
    "model, expected",
    [
        (single("LayerNormalization", [[2, 3, 4], [4], [4]]), "broadcasts"),
        (single("LayerNormalization", [[4], [4], [4]], axis=0), "explicit"),
        (single("RMSNormalization", [[2, 4], [4]], opset=23), "broadcasts"),
        (single("GroupNormalization", [[2, 4, 5], [4], [4]], num_groups=2), "broadcasts"),
        (single("Einsum", [[2, 5, 3], [3, 4]], equation="...ij,...jk->...ik"), "broadcasts"),
        (single("Einsum", [[2, 5, 3], [2, 3, 4]], equation="...ij,...jk->...ik"), "explicit"),
        (single("Einsum", [[2, 5, 3], [3, 4]], equation="bij,jk->bik"), "explicit"),
        (single("Einsum", [[2, 1], [5, 3]], equation="ij,jk->ik"), "broadcasts"),
        (single("Attention", [[2, 4, 5, 8]] * 3 + [[5, 5]], opset=23), "broadcasts"),
        (single("Attention", [[2, 4, 5, 8]] * 3, opset=23), "explicit"),
        (single("Attention", [[2, 4, 5, 8], [2, 2, 5, 8], [2, 2, 5, 8]], opset=23), "broadcasts"),
        (single("BiasGelu", [[2, 4], [4]], domain="com.microsoft"), "broadcasts"),
        (single("FusedMatMul", [[5, 2, 4], [4, 3]], domain="com.microsoft"), "broadcasts"),
        (single("Gelu", [[2, 4]], domain="com.microsoft"), "explicit"),
        (single("MultiHeadAttention", [[2, 4, 8]] * 3, domain="com.microsoft", num_heads=2), "unknown"),
        (single("Unheard", [[2, 4], [4]], domain="com.example"), "unknown"),
        (single("Unheard", [[2, 4], [4]]), "unknown"),
        (single("Conv", [[1, 3, 8, 8], [4, 3, 3, 3], [4]]), "explicit"),
    ],
)
def test_operators_that_broadcast_by_definition(model, expected):
    assert verdict(model) == expected


def test_all_operators_are_known():
    """No operator of the standard is reported as unknown, and those of later versions are."""
    # Their sizes depend on values that are not analyzed.
    not_analyzed = {"RotaryEmbedding", "LinearAttention", "CausalConvWithState"}
    for schema in onnx.defs.get_all_schemas():
        if schema.domain or schema.deprecated or schema.name in not_analyzed:
            continue
        node = helper.make_node(schema.name, ["x"] * max(schema.min_input, 1), ["y"])
        if schema.name == "Einsum":
            node.attribute.append(helper.make_attribute("equation", "ij->ij"))
        if schema.name in ("If", "Loop", "Scan", "SequenceMap"):
            names = ("then_branch", "else_branch") if schema.name == "If" else ("body",)
            node.attribute.extend(helper.make_attribute(name, helper.make_graph([], name, [], [])) for name in names)
        graph = helper.make_graph([node], "all", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])], [])
        report = unishape.onnx.explain(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
        assert report.not_analyzed == [], schema.name


KINDS = {"f": TensorProto.FLOAT, "u": TensorProto.UINT8}


def in_ort(model, **shapes):
    """Runs a model with arrays of ones."""
    types = {each.name: each.type for each in real.session(model).get_inputs()}
    dtype = lambda name: real.TYPES[types[name].removeprefix("tensor(").removesuffix(")")]
    return real.session(model).run(None, {name: np.ones(shape, dtype(name)) for name, shape in shapes.items()})


@pytest.mark.parametrize("x, expected", [(["N", 3], "unknown"), ([3], "incompatible"), ([2, 3], "explicit")])
def test_slopes_may_stretch_x(x, expected):
    """ONNX allows only slopes to be stretched; ONNX Runtime also stretches X."""
    model = single("PRelu", [x, [2, 3]])
    assert verdict(model) == expected
    (result,) = in_ort(model, x0=[{"N": 1}.get(size, size) for size in x], x1=[2, 3])
    assert result.shape == (2, 3)
    if expected == "unknown":
        assert unishape.onnx.shapes(model)["y"] == (2, 3)
        explicit = unishape.onnx.explicit(model)
        assert verdict(explicit) == "explicit" and unishape.onnx.implicit(explicit) == model
        for rows in (1, 2):
            assert in_ort(explicit, x0=[rows, 3], x1=[2, 3])[0].shape == (2, 3)


@pytest.mark.parametrize(
    "op_type, shapes, dtypes, expected",
    [
        # A single scale is a parameter, a single bias is added to all rows.
        ("DynamicQuantizeMatMul", [[2, 3], [3, 1], [1], [1], [1]], "fufuf", "broadcasts"),
        ("DynamicQuantizeMatMul", [[2, 3], [3, 4], [1], [1], [4]], "fufuf", "broadcasts"),
        ("DynamicQuantizeMatMul", [[2, 3], [3, 4], [1], [1]], "fufu", "explicit"),
        ("MatMulIntegerToFloat", [[2, 3], [3, 1], [1], [1], None, None, [1]], "uufffff", "broadcasts"),
        ("MatMulIntegerToFloat", [[2, 3], [3, 4], [1], [1]], "uuff", "explicit"),
    ],
)
def test_biases_of_quantized_products(op_type, shapes, dtypes, expected):
    model = single(op_type, shapes, list(map(KINDS.get, dtypes)), domain="com.microsoft")
    assert verdict(model) == expected


@pytest.mark.parametrize("op_type", ["BiasGelu", "FastGelu"])
def test_a_bias_is_kept(op_type):
    """ONNX Runtime takes a list only."""
    model = single(op_type, [[2, 3], [3]], domain="com.microsoft")
    (found,) = unishape.onnx.explain(model).broadcasts
    assert (found["kind"], found["certain"]) == ("bias", True)
    explicit = unishape.onnx.explicit(model)
    assert explicit == model and in_ort(explicit, x0=[2, 3], x1=[3])


@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
def test_quantized_sums_are_expanded(op_type):
    shapes, dtypes = [[2, 3], [], [], [3], [], [], [], []], "ufuufufu"
    model = single(op_type, shapes, list(map(KINDS.get, dtypes)), domain="com.microsoft")
    explicit = unishape.onnx.explicit(model)
    assert verdict(model) == "broadcasts" and verdict(explicit) == "explicit"
    assert unishape.onnx.implicit(explicit) == model
    given = {f"x{index}": shape for index, shape in enumerate(shapes)}
    (expected,), (result,) = in_ort(model, **given), in_ort(explicit, **given)
    np.testing.assert_array_equal(result, expected, strict=True)


def test_defaults_of_inputs_have_sizes_of_their_own():
    """The initializer has one row, whatever the size N of the other input is."""
    model = single("Add", [["N", 3], ["N", 3]])
    model.graph.initializer.append(helper.make_tensor("x1", TensorProto.FLOAT, [1, 3], [1.0] * 3))
    assert in_ort(model, x0=[2, 3])[0].shape == (2, 3)
    assert verdict(model) == "unknown"


@pytest.mark.parametrize("op_type", ["LinearRegressor", "LinearClassifier", "TreeEnsembleRegressor"])
@pytest.mark.parametrize("shape, rows", [([3], 1), ([2, 3], 2)])
def test_a_list_is_one_row(op_type, shape, rows):
    tree = {f"nodes_{name}": [0] for name in ("treeids", "nodeids", "featureids", "truenodeids", "falsenodeids")}
    tree |= {f"target_{name}": [0] for name in ("treeids", "nodeids", "ids")}
    attributes = {
        "LinearRegressor": dict(coefficients=[1.0] * 3),
        "LinearClassifier": dict(coefficients=[1.0] * 6, intercepts=[0.0] * 2, classlabels_ints=[0, 1]),
        "TreeEnsembleRegressor": dict(nodes_values=[0.0], nodes_modes=["LEAF"], target_weights=[1.0], n_targets=1, **tree),
    }
    model = single(op_type, [shape], domain="ai.onnx.ml", **attributes[op_type])
    if op_type == "LinearClassifier":
        model.graph.node[0].output.append("scores")
    assert unishape.onnx.shapes(model)["y"][0] == rows
    # ONNX Runtime's trees take matrices only.
    if op_type != "TreeEnsembleRegressor" or len(shape) == 2:
        assert in_ort(model, x0=shape)[0].shape[0] == rows


STANDARD = [helper.make_opsetid("", 21)]


def with_function(model, domain, name, inputs, body):
    function = helper.make_function(domain, name, inputs, ["result"], body, STANDARD)
    return helper.make_model(model.graph, opset_imports=model.opset_import, ir_version=10, functions=[function])


@pytest.mark.parametrize("domain", ["", "ai.onnx", "com.microsoft"])
def test_functions_with_the_name_of_an_operator(domain):
    """A runtime may call the function or its own operator: ONNX Runtime takes the latter."""
    row = helper.make_node("Constant", [], ["row"], value_floats=[1.0, 2.0, 3.0])
    body = [row, helper.make_node("Add", ["a", "row"], ["result"])]
    name, broadcasting = ("Gelu", "BiasGelu") if domain == "com.microsoft" else ("Relu", "Add")
    own = domain if domain == "com.microsoft" else ""
    assert verdict(with_function(single(name, [[2, 3]], domain=own), domain, name, ["a"], body)) == "broadcasts"
    # The operator broadcasts, the function does not.
    model = single(broadcasting, [[2, 3], [3]], domain=own)
    model = with_function(model, domain, broadcasting, ["a", "b"], [helper.make_node("Relu", ["a"], ["result"])])
    assert verdict(model) == "broadcasts" and in_ort(model, x0=[2, 3], x1=[3])


def test_branches_that_are_attributes_of_a_function():
    rows = helper.make_node("Constant", [], ["rows"], value=helper.make_tensor("t", TensorProto.FLOAT, [2, 3], [1.0] * 6))
    row = helper.make_node("Constant", [], ["row"], value_floats=[1.0, 2.0, 3.0])
    graphs = {
        "then_branch": [rows, row, helper.make_node("Add", ["rows", "row"], ["o"])],
        "else_branch": [rows, helper.make_node("Identity", ["rows"], ["o"])],
    }
    chosen = helper.make_node("If", ["c"], ["result"])
    for name in graphs:
        reference = onnx.AttributeProto(name=name, ref_attr_name=name, type=onnx.AttributeProto.GRAPH)
        chosen.attribute.append(reference)
    defaults = [
        helper.make_attribute(name, helper.make_graph(nodes, name, [], [onnx.ValueInfoProto(name="o")]))
        for name, nodes in graphs.items()
    ]
    function = helper.make_function("com.example", "Choose", ["c"], ["result"], [chosen], STANDARD, [], defaults)
    model = single("Choose", [[]], [TensorProto.BOOL], domain="com.example")
    model = helper.make_model(model.graph, opset_imports=model.opset_import, ir_version=10, functions=[function])
    assert in_ort(model, x0=[])[0].shape == (2, 3)
    report = unishape.onnx.explain(model)
    assert report.verdict == "unknown" and "its subgraph is missing" in report.not_analyzed[0]


def test_nodes_in_another_order():
    """ONNX Runtime sorts nodes itself."""
    nodes = [helper.make_node("Add", ["a", "w"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    for shape, expected in (([3], "broadcasts"), ([2, 3], "explicit"), ([2, 4], "unknown")):
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in (("x", [2, 3]), ("w", shape))]
        graph = helper.make_graph(nodes, "unsorted", inputs, [onnx.ValueInfoProto(name="y")])
        assert verdict(helper.make_model(graph, opset_imports=STANDARD, ir_version=10)) == expected


def test_graphs_for_training_are_reported():
    model = single("Relu", [[2, 3]])
    graph = single("Add", [[2, 3], [3]]).graph
    model.training_info.add().algorithm.CopyFrom(graph)
    report = unishape.onnx.explain(model)
    assert report.verdict == "unknown" and "training" in report.not_analyzed[0]


NESTED = parse(
    """
    nested (float[N,3] x, bool c, int64 trips) => (float[N,3] y)
    {
        y = If (c) <
            then_branch = outer () => (float[N,3] a) {
                on = Constant <value = bool {1}> ()
                a = Loop (trips, on, x) <body = loop (int64 i, bool k, float[N,3] state) => (bool go, float[N,3] next) {
                    go = Identity (k)
                    next = If (k) <
                        then_branch = inner () => (float[N,3] b) {
                            row = Constant <value = float[3] {1.0, 2.0, 3.0}> ()
                            b = Add (state, row)
                        },
                        else_branch = other () => (float[N,3] d) { d = Identity (state) }
                    >
                }>
            },
            else_branch = last () => (float[N,3] e) { e = Neg (x) }
        >
    }
    """
)


def test_subgraphs_nested_three_deep():
    report = unishape.onnx.explain(NESTED)
    (found,) = report.broadcasts
    assert (report.verdict, found["op_type"]) == ("broadcasts", "Add")
    assert found["path"] == "node 0 (If), then_branch: node 1 (Loop), body: node 1 (If), then_branch: "
    explicit = unishape.onnx.explicit(NESTED)
    assert verdict(explicit) == "explicit"
    assert unishape.onnx.explicit(explicit) == explicit
    assert unishape.onnx.implicit(explicit) == NESTED
    x = np.arange(6, dtype="f4").reshape(2, 3)
    for condition in (True, False):
        given = {"x": x, "c": np.array(condition), "trips": np.array(4)}
        (expected,), (result,) = (real.session(each).run(None, given) for each in (NESTED, explicit))
        np.testing.assert_array_equal(result, expected, strict=True)


FUNCTIONS = onnx.parser.parse_model(
    """
    <ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    called (float[N,3] x, float[3] row, float[N,3] same) => (float[N,3] y, float[N,3] z)
    {
        y = com.example.outer (x, row)
        z = com.example.outer (x, same)
    }
    <domain: "com.example", opset_import: ["" : 21, "com.example" : 1]>
    outer (a, b) => (c) { c = com.example.middle <factor = 2.0> (a, b) }
    <domain: "com.example", opset_import: ["" : 21, "com.example" : 1]>
    middle <factor> (a, b) => (c) { d = com.example.inner (a, b)  e = Constant <value_float: float = @factor> ()  c = Mul (d, e) }
    <domain: "com.example", opset_import: ["" : 21]>
    inner (a, b) => (c) { c = Sub (a, b) }
    """
)


def test_functions_nested_three_deep():
    report = unishape.onnx.explain(FUNCTIONS)
    assert [(each["op_type"], each["certain"]) for each in report.broadcasts] == [("Sub", True), ("Mul", True)]
    assert report.broadcasts[0]["path"].count("function") == 3
    assert report.not_analyzed == []
    explicit = unishape.onnx.explicit(FUNCTIONS)
    assert verdict(explicit) == "explicit"
    assert unishape.onnx.implicit(explicit) == FUNCTIONS
    given = {"x": np.ones((2, 3), "f4"), "row": np.float32([1, 2, 3]), "same": np.zeros((2, 3), "f4")}
    before, after = (real.session(each).run(None, given) for each in (FUNCTIONS, explicit))
    for result, expected in zip(after, before, strict=True):
        np.testing.assert_array_equal(result, expected, strict=True)


def test_scan_and_sequence_map_bodies():
    scan = parse(
        """
        scan (float[2] start, float[T,2] steps, float[1] bias) => (float[2] final, float[T,2] all)
        {
            final, all = Scan <num_scan_inputs = 1, body = step (float[2] s, float[2] x) => (float[2] t, float[2] u) {
                t = Add (s, x)
                u = Mul (t, bias)
            }> (start, steps)
        }
        """
    )
    (found,) = unishape.onnx.explain(scan).broadcasts
    assert (found["op_type"], found["certain"]) == ("Mul", True)
    assert unishape.onnx.shapes(scan)["all"] == ("T", 2)
    mapped = parse(
        """
        mapped (seq(float[2]) values, float[2,2] matrix, float[2] row) => (seq(float[2,2]) results)
        {
            results = SequenceMap <body = each (float[2] value) => (float[2,2] result) {
                result = Add (matrix, row)
            }> (values)
        }
        """
    )
    assert verdict(mapped) == "broadcasts"


def test_a_loop_may_change_shapes():
    """The value grows in each run, so that no size may be taken from the first."""
    model = parse(
        """
        grow (float[2] x, int64 trips) => (float[M] y, float[M] sum)
        {
            on = Constant <value = bool {1}> ()
            y = Loop (trips, on, x) <body = b (int64 i, bool k, float[K] s) => (bool go, float[L] t) {
                go = Identity (k)
                t = Concat <axis = 0> (s, x)
            }>
            sum = Add (y, x)
        }
        """
    )
    assert unishape.onnx.shapes(model)["y"] == (None,)
    assert verdict(model) == "unknown"


def test_declared_shapes_are_not_used():
    """54 is declared where any size may come."""
    model = parse(
        """
        lie (float[N] x, float[1] one) => (float[54] y)
        <float[54] doubled>
        {
            doubled = Add (x, x)
            y = Mul (doubled, one)
        }
        """
    )
    report = unishape.onnx.explain(model)
    assert len(report.wrong_declarations) == 2 and "declared as 54" in report.wrong_declarations[0]
    explicit = unishape.onnx.explicit(model)
    assert not any(node.op_type == "Constant" for node in explicit.graph.node)
    given = {"x": np.ones(20, "f4"), "one": np.ones(1, "f4")}
    del explicit.graph.value_info[:]
    (result,) = real.session(explicit).run(None, given)
    assert result.shape == (20,)


def test_a_single_exponent_is_kept():
    model = parse("power (float[2,3] x) => (float[2,3] y) { two = Constant <value = float {2.0}> () y = Pow (x, two) }")
    (found,) = unishape.onnx.explain(model).broadcasts
    assert (found["kind"], found["certain"]) == ("pow", True)
    assert unishape.onnx.explicit(model) == model
    insisted = unishape.onnx.explicit(model, expand_pow=True)
    assert verdict(insisted) == "explicit"


def test_chains_of_unknown_sizes_settle():
    """Nine unknown sizes and more: explicit's own output has no broadcasts."""
    steps = "\n".join(f"p{n} = com.example.Any (x{n}) x{n + 1} = Add (x{n}, p{n})" for n in range(40))
    model = parse(f"chain (float[A,B] x0) => (float[C,D] x40) {{ {steps} }}")
    explicit = unishape.onnx.explicit(model)
    report = unishape.onnx.explain(explicit)
    assert report.broadcasts == [] and len(report.not_analyzed) == 1
    pool = "\n".join(
        f"p{n} = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x{n}) x{n + 1} = Add (x{n}, p{n})"
        for n in range(12)
    )
    model = parse(f"pools (float[1,3,H,W] x0) => (float[1,3,H,W] x12) {{ {pool} }}")
    assert verdict(model) == "explicit"


def test_casts_lose_what_the_type_cannot_hold():
    model = parse(
        """
        casts (float[2,3] x) => (float[?,?] y)
        {
            shape = Shape (x)
            bits = Cast <to = 9> (shape)
            back = Cast <to = 7> (bits)
            one = Constant <value = float {1.0}> ()
            y = Expand (one, back)
        }
        """
    )
    assert unishape.onnx.shapes(model)["y"] == (1, 1)
    symbolic = onnx.ModelProto()
    symbolic.CopyFrom(model)
    symbolic.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    assert unishape.onnx.shapes(symbolic)["y"] == (None, None)


def test_a_size_that_may_be_one_is_not_certain():
    model = parse("one (float[N,3] x, float[1,3] y) => (float[N,3] z) { z = Add (x, y) }")
    (found,) = unishape.onnx.explain(model).broadcasts
    assert not found["certain"] and verdict(model) == "unknown"
    assert verdict(model, dims={"N": 1}) == "explicit"
    assert verdict(model, dims={"N": 2}) == "broadcasts"


def test_dims_are_declared_in_the_new_model():
    model = parse("fixed (float[N,3] x, float[1,3] y) => (float[N,3] z) { z = Add (x, y) }")
    explicit = unishape.onnx.explicit(model, dims={"N": 2})
    assert explicit.graph.input[0].type.tensor_type.shape.dim[0].dim_value == 2
    assert [node.op_type for node in explicit.graph.node] == ["Constant", "Expand", "Add"]
    assert unishape.onnx.explicit(model, certain_only=True) == model


def test_expressions_of_sizes():
    model = parse(
        """
        sizes (float[1,3,H,W] x, float[8,3,3,3] w) => (float[1,8,A,B] y)
        { y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }
        """
    )
    assert unishape.onnx.shapes(model)["y"] == (1, 8, "floor((H+1)/2)", "floor((W+1)/2)")


def test_opset_6_is_reported_with_its_version():
    model = single("Add", [[2, 3, 4, 5], [3]], opset=6, ir_version=3, broadcast=1, axis=1)
    report = unishape.onnx.explain(model)
    assert report.conflicts == [] and report.verdict == "unknown"
    assert "convert the model" in report.not_analyzed[0]
    with pytest.raises(NotImplementedError, match="convert the model to opset 8"):
        unishape.onnx.explicit(model)


def test_implicit_keeps_the_author_s_expands():
    model = parse(
        """
        author (float[2,3] x, float[3] row) => (float[2,3] y)
        { shape = Shape (x) wide = Expand (row, shape) y = Add (x, wide) }
        """
    )
    assert unishape.onnx.implicit(model) == model
    assert [node.op_type for node in unishape.onnx.implicit(model, all=True).graph.node] == ["Add"]


IF_IN_LOOP_IN_FUNCTION = onnx.parser.parse_model(
    """
    <ir_version: 10, opset_import: ["" : 21, "com.example" : 1]>
    nested (float[N,3] x, float[3] row, int64 trips) => (float[N,3] y) { y = com.example.repeat (x, row, trips) }
    <domain: "com.example", opset_import: ["" : 21]>
    repeat (a, b, trips) => (c)
    {
        on = Constant <value = bool {1}> ()
        c = Loop (trips, on, a) <body = step (int64 i, bool k, float[N,3] state) => (bool go, float[N,3] next) {
            go = Identity (k)
            next = If (k) <
                then_branch = yes () => (float[N,3] d) { d = Add (state, b) },
                else_branch = no () => (float[N,3] e) { e = Identity (state) }
            >
        }>
    }
    """
)


def test_if_in_loop_in_function():
    (found,) = unishape.onnx.explain(IF_IN_LOOP_IN_FUNCTION).broadcasts
    path = "node 0 (com.example.repeat), function repeat: node 1 (Loop), body: node 1 (If), then_branch: "
    assert (found["path"], found["op_type"], found["certain"]) == (path, "Add", True)
    explicit = unishape.onnx.explicit(IF_IN_LOOP_IN_FUNCTION)
    assert verdict(explicit) == "explicit"
    assert unishape.onnx.explicit(explicit) == explicit
    assert unishape.onnx.implicit(explicit) == IF_IN_LOOP_IN_FUNCTION
    given = {"x": np.ones((2, 3), "f4"), "row": np.float32([1, 2, 3]), "trips": np.array(3)}
    (expected,), (result,) = (real.session(each).run(None, given) for each in (IF_IN_LOOP_IN_FUNCTION, explicit))
    np.testing.assert_array_equal(expected, [[4, 7, 10]] * 2)
    np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize(
    "model, expected",
    [
        # The same models as in the test of the command's exit codes 0, 1, 3, and 1.
        (single("Add", [["N", 3], ["N", 3]]), "explicit"),
        (single("Add", [["N", 3], [3]]), "broadcasts"),
        (single("Add", [["N", 3], ["M", 3]]), "unknown"),
        (single("Unheard", [["N", 3], ["N", 3]]), "unknown"),
        (single("MatMul", [[5, "N", 3], [3, 4]]), "broadcasts"),
        (single("MatMul", [[5, 2, 3], [4, 3, 4]]), "incompatible"),
        # Other incompatible shapes.
        (single("Add", [["N", 3], [4]]), "incompatible"),
        (single("MatMulInteger", [[5, 2, 3], [4, 3, 4]], [TensorProto.UINT8] * 2), "incompatible"),
        (single("Gemm", [[2, 3], [3, 4], [5]]), "incompatible"),
        (single("FusedMatMul", [[5, 2, 3], [4, 3, 4]], domain="com.microsoft"), "incompatible"),
        (single("Einsum", [[2, 3], [4, 5]], equation="ij,jk->ik"), "unknown"),
        (single("BiasSoftmax", [[2, 3, 4], [2, 4]], domain="com.microsoft", axis=1, is_inner_broadcast=1), "unknown"),
    ],
)
def test_verdicts_are_those_of_the_command(model, expected):
    assert verdict(model) == expected


def test_unreadable_models_are_errors(tmp_path):
    (tmp_path / "text.onnx").write_text("not a model")
    with pytest.raises(ValueError, match="not an ONNX model"):
        unishape.onnx.explain(tmp_path / "text.onnx")
    with pytest.raises(OSError, match="missing.onnx"):
        unishape.onnx.explain(tmp_path / "missing.onnx")


@pytest.mark.parametrize(
    "model, expected",
    [
        (single("FusedMatMul", [[5, 4, 2], [4, 3]], domain="com.microsoft", transA=1), "broadcasts"),
        (single("FusedMatMul", [[5, 4, 2], [5, 3, 4]], domain="com.microsoft", transA=1, transB=1), "explicit"),
        (single("FusedMatMul", [[4, 5, 2], [5, 2, 3]], domain="com.microsoft", transBatchA=1), "unknown"),
        (single("PRelu", [[1, 3, 4, 4], [3]], opset=6, ir_version=3), "unknown"),
        (single("Attention", [None, [2, 2, 5, 8], [2, 2, 5, 8]], opset=23), "unknown"),
    ],
)
def test_what_the_gate_let_pass_or_did_not_know(model, expected):
    assert verdict(model) == expected


def test_skip_inputs_are_stretched():
    """Of rank 2, or of batch size 1; scale and bias are always stretched."""
    for skip, names in (([2, 3, 4], []), ([1, 3, 4], ["x1"]), ([3, 4], ["x1"])):
        model = single("SkipLayerNormalization", [[2, 3, 4], skip, [4], [4]], domain="com.microsoft")
        (found,) = unishape.onnx.explain(model).broadcasts
        assert [each["name"] for each in found["stretched"]] == [*names, "x2", "x3"]


def sliced(size, start, end, step):
    names = "starts", "ends", "axes", "steps"
    values = [helper.make_tensor(name, TensorProto.INT64, [1], [v]) for name, v in zip(names, (start, end, 0, step))]
    graph = helper.make_graph(
        [helper.make_node("Slice", ["x", *names], ["y"])],
        "sliced",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size])],
        [onnx.ValueInfoProto(name="y")],
        initializer=values,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("start", [-100, -9, -3, 0, 2, 4, 9])
@pytest.mark.parametrize("end", [-100, -3, 0, 2, 9, 2**63 - 1, -(2**63) + 1])
@pytest.mark.parametrize("step", [1, 2, -1, -2])
def test_bounds_of_slices(start, end, step):
    model = sliced(5, start, end, step)
    (expected,) = real.session(model).run(None, {"x": np.arange(5, dtype="f4")})
    (size,) = unishape.onnx.shapes(model)["y"]
    # ONNX Runtime takes the largest end for the first element if the step is negative; the standard does not.
    if step < 0 and end > 2**31:
        assert size is None
    else:
        assert size == len(expected)
        np.testing.assert_array_equal(unishape.onnx.run(model, x=np.arange(5, dtype="f4"))["y"], expected)


@pytest.mark.parametrize("end", [10**9, 2**31 - 1, 2**63 - 1])
def test_large_ends_mean_the_whole_axis(end):
    model = sliced("N", 0, end, 2)
    assert unishape.onnx.shapes(model)["y"] == ("floor((N+1)/2)",)
    model = sliced("N", -1, -end, -1)
    assert unishape.onnx.shapes(model)["y"] == ("N",)


def window(op_type, weights, **attributes):
    model = single(op_type, [[1, 2, 9]], **attributes)
    if weights:
        model.graph.node[0].input.append("w")
        model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, weights, [1.0] * int(np.prod(weights))))
    return model


@pytest.mark.parametrize(
    "model, expected",
    [
        # Padding does not fill the gaps between windows.
        (window("ConvTranspose", [2, 3, 2], auto_pad="SAME_UPPER", strides=[4]), (1, 3, 34)),
        (window("ConvTranspose", [2, 3, 5], auto_pad="SAME_UPPER", strides=[4]), (1, 3, 36)),
        # ONNX Runtime ignores the dilation when it pads.
        (window("MaxPool", None, auto_pad="SAME_UPPER", kernel_shape=[4], dilations=[2]), (1, 2, None)),
        (window("MaxPool", None, auto_pad="SAME_UPPER", kernel_shape=[4]), (1, 2, 9)),
    ],
)
def test_padding_to_the_same_size(model, expected):
    assert unishape.onnx.shapes(model)["y"] == expected
    (result,) = real.session(model).run(None, {"x0": np.ones((1, 2, 9), "f4")})
    assert all(size in (None, real_size) for size, real_size in zip(expected, result.shape))


def test_divisors_are_in_parentheses():
    model = parse(
        """
        parts (float[A,B] x, float[A,B,C] y) => (float[P,Q] z)
        {
            shape = Shape (y)
            first = Constant <value = int64[1] {0}> ()
            last = Constant <value = int64[1] {2}> ()
            a = Gather (shape, first)
            c = Gather (shape, last)
            two = Constant <value = int64[1] {2}> ()
            half = Mul (c, two)
            rest = Constant <value = int64[1] {-1}> ()
            target = Concat <axis = 0> (half, rest)
            z = Reshape (x, target)
        }
        """
    )
    assert unishape.onnx.shapes(model)["z"] == ("2*C", "floor(A*B/(2*C))")


def test_models_beyond_protobuf_s_limit(monkeypatch):
    model = parse("row (float[2,3] x, float[3] y) => (float[2,3] z) { z = Add (x, y) }")
    monkeypatch.setattr(unishape.onnx, "_PROTOBUF_LIMIT", 100)
    for rewrite in (unishape.onnx.explicit, unishape.onnx.implicit):
        with pytest.raises(ValueError, match="store the weights as external data"):
            rewrite(model)
