"""Whole models: explicit models compute the same in ONNX Runtime, and nothing else in them changes."""

import os

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

import onnx_models  # noqa: E402
import unishape.onnx  # noqa: E402

NAMES = list(onnx_models.MODELS)
BATCHES = (0, 1, 2, 5)
#: Operators of the test models that broadcast.
BROADCASTING = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Where", "PRelu"}


LEVELS = onnxruntime.GraphOptimizationLevel


def session(model, level=LEVELS.ORT_DISABLE_ALL):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = level
    bytes_ = model if isinstance(model, str) else model.SerializeToString()
    return onnxruntime.InferenceSession(bytes_, options, providers=["CPUExecutionProvider"])


def model_of(name):
    return onnx_models.MODELS[name][0]()


def inputs_of(name, batch, seed=0):
    return onnx_models.MODELS[name][1](np.random.default_rng([seed, batch]), batch)


def same_bits(results, expected):
    for result, reference in zip(results, expected, strict=True):
        assert (result.dtype, result.shape) == (reference.dtype, reference.shape)
        assert result.tobytes() == reference.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_explicit_is_the_same_model_without_broadcasting(name):
    model = model_of(name)
    assert unishape.onnx.explain(model).broadcasts, "the model does not broadcast"
    explicit = unishape.onnx.explicit(model)
    onnx.checker.check_model(explicit, full_check=True)
    report = unishape.onnx.explain(explicit)
    # Matrix products and single exponents keep their own broadcasting.
    assert {each["kind"] for each in report.broadcasts} <= {"matmul", "pow"}
    assert (report.conflicts, report.not_analyzed, report.wrong_declarations) == ([], [], [])
    assert unishape.onnx.explicit(explicit) == explicit
    # The original nodes are kept, in order.
    kept = [node for node in explicit.graph.node if node.name.startswith(f"/{model.graph.name}/")]
    assert [(node.name, node.op_type, node.output) for node in kept] == [
        (node.name, node.op_type, node.output) for node in model.graph.node
    ]


@pytest.mark.parametrize("name", NAMES)
def test_explicit_is_bit_identical_in_onnx_runtime(name):
    model = model_of(name)
    before, after = session(model), session(unishape.onnx.explicit(model))
    for batch in BATCHES:
        for seed in range(5):
            given = inputs_of(name, batch, seed)
            same_bits(after.run(None, given), before.run(None, given))


@pytest.mark.parametrize("name", NAMES)
def test_explicit_agrees_with_all_optimizations(name):
    """ONNX Runtime fuses patterns such as layer normalization, which changes rounding; Expand prevents the fusion."""
    model = model_of(name)
    before, after = (session(each, LEVELS.ORT_ENABLE_ALL) for each in (model, unishape.onnx.explicit(model)))
    for batch in BATCHES:
        given = inputs_of(name, batch)
        for result, expected in zip(after.run(None, given), before.run(None, given), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5, strict=True)


@pytest.mark.parametrize("name", NAMES)
def test_explicit_inputs_have_equal_shapes(name):
    """As SONNX requires it; checked with the shapes of all values in ONNX Runtime."""
    explicit = unishape.onnx.explicit(model_of(name))
    known = {value.name for value in explicit.graph.input} | {tensor.name for tensor in explicit.graph.initializer}
    intermediate = [name for node in explicit.graph.node for name in node.input if name and name not in known]
    exposed = onnx.ModelProto()
    exposed.CopyFrom(explicit)
    del exposed.graph.output[:]
    exposed.graph.output.extend(onnx.ValueInfoProto(name=name) for name in dict.fromkeys(intermediate))
    given = inputs_of(name, 3)
    values = dict(zip(dict.fromkeys(intermediate), session(exposed).run(None, given)))
    values.update(given)
    values.update((tensor.name, numpy_helper.to_array(tensor)) for tensor in explicit.graph.initializer)
    for node in explicit.graph.node:
        if node.op_type in BROADCASTING - {"Pow"}:
            assert len({values[name].shape for name in node.input}) == 1, node.name


@pytest.mark.parametrize("name", NAMES)
def test_implicit_undoes_explicit(name):
    model = model_of(name)
    restored = unishape.onnx.implicit(unishape.onnx.explicit(model))
    assert restored == model
    assert restored.SerializeToString(deterministic=True) == model.SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", [name for name in NAMES if onnx_models.MODELS[name][2]])
def test_run_is_bit_identical_to_onnx_runtime(name):
    """These models contain no approximated functions."""
    model = model_of(name)
    for each in (model, unishape.onnx.explicit(model)):
        ours, theirs = unishape.onnx.load(each), session(model)
        for batch in BATCHES:
            given = inputs_of(name, batch)
            same_bits(list(ours(**given).values()), theirs.run(None, given))


def test_reductions_agree_with_onnx_runtime():
    model = onnx_models.attention_weights()
    ours, theirs = unishape.onnx.load(model), session(model)
    for batch in BATCHES:
        rng = np.random.default_rng(batch)
        given = {"x": onnx_models.normal(rng, batch, 5, 8), "mask": rng.random((batch, 5, 8)) < 0.7}
        y, best = ours(**given).values()
        expected, expected_best = theirs.run(None, given)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6, strict=True)
        np.testing.assert_array_equal(best, expected_best, strict=True)


@pytest.mark.parametrize("name", [name for name in NAMES if not onnx_models.MODELS[name][2]])
def test_unsupported_operators_name_the_node(name):
    model = model_of(name)
    first = next(node for node in model.graph.node if node.op_type == "MatMul")
    with pytest.raises(NotImplementedError, match=f"(?s){first.op_type}.*unsupported operator") as error:
        unishape.onnx.load(model)
    assert first.name in str(error.value)


def test_explain_reports_a_bias():
    (first, second) = unishape.onnx.explain(model_of("mlp")).broadcasts
    assert (first["op_type"], first["shape"]) == ("Add", ("batch", 8))
    (stretched,) = first["stretched"]
    assert (stretched["input"], stretched["name"]) == (1, "fc1.bias")
    assert (stretched["from"], stretched["to"]) == ((8,), ("batch", 8))
    assert (stretched["dims"], stretched["times"], stretched["certain"]) == ([0], "batch", True)
    assert second["stretched"][0]["input"] == 0


def test_explain_reports_masks():
    report = unishape.onnx.explain(model_of("transformer_block"))
    assert report.conflicts == [] and report.not_analyzed == []
    where = next(each for each in report.broadcasts if each["op_type"] == "Where")
    names = {stretched["name"]: stretched["from"] for stretched in where["stretched"]}
    assert names["causal"] == ("seq", "seq") and names["lowest"] == ()
    assert where["shape"] == ("batch", 2, "seq", "seq")


def conflicting():
    b = onnx_models.Builder("conflict")
    compatible = b.node("Add", "x", "x")
    b.node("Mul", compatible, b.weight("scale", 4), to="y")
    graph = helper.make_graph(
        b.nodes,
        "conflict",
        [helper.make_tensor_value_info("x", onnx_models.FLOAT, ["batch", 3])],
        [helper.make_tensor_value_info("y", onnx_models.FLOAT, None)],
        b.constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_conflicts_name_the_node():
    report = unishape.onnx.explain(conflicting())
    ((node, text),) = report.conflicts
    assert node == 1 and "/conflict/y" in text and "E1" in text and "4" in text
    assert text in repr(report)
    for rewrite in (unishape.onnx.explicit, unishape.onnx.implicit):
        with pytest.raises(ValueError, match="/conflict/y"):
            rewrite(conflicting())
    with pytest.raises(ValueError, match="/conflict/y"):
        unishape.onnx.run(conflicting(), x=np.ones((2, 3), "f4"))


def save(path):
    """Saves a model with external data. Builds a new model, because saving removes the data from it."""
    model = model_of("image_normaliser")
    onnx.save_model(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)


def test_external_data(tmp_path):
    model, given = model_of("image_normaliser"), inputs_of("image_normaliser", 2)
    path = tmp_path / "model.onnx"
    save(path)
    assert (tmp_path / "weights.bin").stat().st_size
    expected = unishape.onnx.run(model, **given)["y"]
    for location in (path, str(path)):
        same_bits([unishape.onnx.run(location, **given)["y"]], [expected])
    # The explicit model refers to the same external data.
    explicit = unishape.onnx.explicit(path)
    kept = [tensor for tensor in explicit.graph.initializer if tensor.external_data]
    assert {tensor.name for tensor in kept} == {"255", "mean", "std"}
    explicit_path = tmp_path / "explicit.onnx"
    explicit_path.write_bytes(explicit.SerializeToString())
    onnx.checker.check_model(str(explicit_path), full_check=True)
    same_bits(session(str(explicit_path)).run(None, given), session(str(path)).run(None, given))
    # Bytes have no directory to read external data from.
    with pytest.raises(TypeError, match="the model has no directory"):
        unishape.onnx.run(path.read_bytes(), **given)


def test_external_data_outside_the_directory_is_rejected(tmp_path):
    (tmp_path / "model").mkdir()
    path = tmp_path / "model" / "model.onnx"
    save(path)
    (tmp_path / "model" / "weights.bin").rename(tmp_path / "weights.bin")
    stored = onnx.load(path, load_external_data=False)
    for tensor in stored.graph.initializer:
        next(entry for entry in tensor.external_data if entry.key == "location").value = "../weights.bin"
    path.write_bytes(stored.SerializeToString())
    with pytest.raises(ValueError, match="outside the model's directory"):
        unishape.onnx.load(path)


def with_extras():
    """A model with documentation, metadata, another domain and value info."""
    model = model_of("mlp")
    model.doc_string, model.domain, model.model_version = "of the model", "example.org", 7
    helper.set_model_props(model, {"author": "someone", "empty": ""})
    model.graph.doc_string = "of the graph"
    for node in model.graph.node:
        node.doc_string = f"of {node.name}"
        node.metadata_props.add(key="line", value="12")
    model.graph.input[0].doc_string = "of an input"
    model.opset_import.append(helper.make_opsetid("example.org", 1))
    model.graph.value_info.append(helper.make_tensor_value_info("relu_2", onnx_models.FLOAT, ["batch", 8]))
    return model


#: Field 9999, which ONNX does not define: tag, length and a string.
UNKNOWN = bytes([0xFA, 0xF0, 0x04, 5]) + b"hello"


@pytest.mark.parametrize("rewrite", [unishape.onnx.explicit, unishape.onnx.implicit])
def test_unknown_fields_survive(rewrite):
    model = with_extras()
    model.MergeFromString(UNKNOWN)
    assert UNKNOWN in model.SerializeToString()
    rewritten = rewrite(model)
    assert UNKNOWN in rewritten.SerializeToString()
    new = {node.name for node in rewritten.graph.node} - {node.name for node in model.graph.node}
    assert bool(new) == (rewrite is unishape.onnx.explicit)
    # Only the new nodes, and the inputs that they replace, differ.
    before, after = onnx.ModelProto(), onnx.ModelProto()
    before.CopyFrom(model)
    after.CopyFrom(rewritten)
    nodes = [node for node in after.graph.node if node.name not in new]
    for original, kept in zip(before.graph.node, nodes, strict=True):
        assert len(original.input) == len(kept.input)
        del original.input[:], kept.input[:]
        assert original == kept
    del before.graph.node[:], after.graph.node[:]
    assert before == after
    assert unishape.onnx.implicit(rewritten) == model


def test_errors_name_the_input():
    model = unishape.onnx.load(model_of("image_normaliser"))
    assert (model.inputs, model.outputs) == (["image"], ["y"])
    image = inputs_of("image_normaliser", 1)["image"]
    with pytest.raises(TypeError, match="expected 1 inputs, got 2"):
        model.run([image, image])
    with pytest.raises((TypeError, ValueError), match="image"):
        model(image=image.astype("f4"))
    with pytest.raises((TypeError, ValueError), match="image"):
        model(image=image[:, :2])
    with pytest.raises((TypeError, ValueError), match="image"):
        model()
    with pytest.raises((TypeError, ValueError), match="other"):
        model(image=image, other=image)
