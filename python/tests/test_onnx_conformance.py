"""docs/onnx-conformance.md matches the test results. UNISHAPE_DRAW=1 writes it."""

import collections
import os
import textwrap
from pathlib import Path

import pytest

if "CI" not in os.environ:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")

import onnx  # noqa: E402
import onnxruntime  # noqa: E402

import onnx_cells  # noqa: E402
import onnx_corpus as corpus  # noqa: E402
import onnx_disagreements  # noqa: E402
import onnx_node_suite as nodes  # noqa: E402
from onnx_real_models import HEADING  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "onnx-conformance.md"

TEXT = """\
# ONNX conformance by operator and element type

Number of passed test cases of each operator of `unishape.onnx` for each element type; a cell with failures reads
*passed of all*. The page is generated: the tests run the cases and compare the page with the results
(`python/tests/test_onnx_conformance.py`; `UNISHAPE_DRAW=1` writes it).

Versions: onnx {onnx} (opset {opset}), ONNX Runtime {runtime} (CPU execution provider).

## Node tests of the onnx package

The package `onnx` generates test cases for backends. {node_cases} of them apply here: {broadcasting} single-node cases
of the operators that broadcast, {models} models `expand_shape_model`, and the cases of the other supported operators.
The suite itself accepts a relative error of 1e-3; here outputs are compared bit for bit, with these exceptions:

| operators | may differ by |
|---|---|
| approximated functions: {approximate} | {ulps} units in the last place (ulp), Gelu by {gelu} ulp |
| floating-point sums: {sums} | {ulps} ulp |
| normalizations that subtract a mean: {normalized} | also {node_epsilons} times the type's epsilon, relative to 1 |

Excluded are cases with unsupported element types (8-bit floating-point types, integers and floating-point types of less
than 8 bits), Identity of sequences and optional values, and {training} cases of the training mode of BatchNormalization.
The columns are the element type of the first input, for Where of the second.

{node_table}

## Corpus, compared with ONNX Runtime

The node tests contain no size 0, no rank above 4, and no broadcasting for Max, Min, Mean, Sum, Where and BitShift. The
corpus covers these: {corpus_cases} cases of every operator in each version since opset 7 ({cells} combinations of
operator, version, element type and attributes), with scalars, up to six dimensions, sizes of 0, every input stretched,
and special values (infinities, NaN, -0, subnormal numbers, limits of integer types). Shapes and values are
pseudo-random with a fixed seed.

| oracle | cases |
|---|---:|
| ONNX Runtime | {by_runtime} |
| ONNX Runtime in float, rounded once, for bfloat16 | {in_float} |
| ONNX reference evaluator, where ONNX Runtime has no implementation or its Python API lacks bfloat16 | {by_reference} |
| NumPy, for Mean, which the reference evaluator does not broadcast, and logarithms of sums of integers | {by_numpy} |

{unchecked} more cases have no oracle. For {not_run} of the {pairs} pairs of operator and element type, ONNX Runtime has no
implementation in any version; their numbers are in *italics*.

Results are compared bit for bit. Approximated functions may differ by {corpus_ulps} ulp or, where ONNX Runtime loses
accuracy near 0, by {epsilons} times the type's epsilon, relative to 1 or to the argument. Sums may differ by as many ulp
or epsilons, relative to the sum of the absolute terms; normalizations relative to the largest result, or to 1. Shape
operators (Constant, Shape, Concat, …) are not in the corpus.

Reductions have shapes of up to five dimensions, rows of 1 to 700 elements, and each of these for every version and
element type: no axes, one, two and negative axes, empty lists of axes, with and without `keepdims` and
`noop_with_empty_axes`.

{corpus_table}

## Known disagreements

Elements that are not compared, because the reason for the difference is known. Each disagreement occurs in the corpus;
a stale line fails the tests.

{disagreements}

The corpus excludes inputs for which ONNX Runtime aborts or has undefined behavior. For these, which have tests of their
own, unishape returns:

| input | result |
|---|---|
| integer divided by 0 | 0 |
| smallest integer divided by -1 | the smallest integer |
| shift by at least the width of the type | 0 |
| floating-point number out of the range of the target integer type | the nearest integer of the type, 0 for NaN |
| ReduceMean, ArgMax or ArgMin of no elements; the logarithm of a sum of no integers | an error: ONNX defines no result |
"""

SHORT = {"complex64": "c64", "complex128": "c128", "bfloat16": "bf16", "float16": "f16", "float": "f32", "double": "f64"}


def short(dtype):
    return SHORT.get(dtype, dtype.replace("uint", "u").replace("int", "i"))


def table(counts, mark=lambda key, text: text):
    """Markdown table of {(operator, type): (passed, all)}."""
    dtypes = [dtype for dtype in nodes.TYPES if any(key[1] == dtype for key in counts)]
    rows = ["| | " + " | ".join(map(short, dtypes)) + " | all |", "|---|" + "---:|" * (len(dtypes) + 1)]

    def cell_text(passed, all_):
        return "" if not all_ else f"{passed}" if passed == all_ else f"{passed} of {all_}"

    def row(name, by_type):
        total = [sum(counts) for counts in zip(*by_type.values())]
        cells = [mark((name, dtype), cell_text(*by_type.get(dtype, (0, 0)))) for dtype in dtypes]
        return f"| {name} | " + " | ".join([*cells, cell_text(*total)]) + " |"

    for op_type in sorted({op_type for op_type, _ in counts}):
        rows.append(row(op_type, {dtype: count for (op, dtype), count in counts.items() if op == op_type}))
    sums = {}
    for (_, dtype), (passed, all_) in counts.items():
        before = sums.get(dtype, (0, 0))
        sums[dtype] = (before[0] + passed, before[1] + all_)
    return "\n".join([*rows, row("**all**", sums)])


def sum_by_key(results):
    """Sums of (key, passed, all) by key."""
    counts = collections.defaultdict(lambda: (0, 0))
    for key, passed, all_ in results:
        counts[key] = (counts[key][0] + passed, counts[key][1] + all_)
    return dict(counts)


def node_counts():
    for case in nodes.cases():
        # The models `expand_shape_model` have element type float.
        dtype = "float" if case.name in nodes.MODELS else case.dtype
        yield (case.op_type, dtype), int(nodes.outcome(case) is None), 1


def corpus_counts():
    for cell in onnx_cells.cells():
        found = corpus.outcome(cell)
        yield (cell.op_type, cell.dtype), found.cases - bool(found.failure), found.cases


def release(module):
    """Version of a package without the patch number."""
    return ".".join(module.__version__.split(".")[:2])


def wrapped(text):
    """Wraps paragraphs at 116 characters; keeps tables and headings."""
    fill = lambda part: part if part.startswith(("|", "#")) else textwrap.fill(part, 116, break_on_hyphens=False)
    return "\n\n".join(map(fill, text.rstrip().split("\n\n"))) + "\n"


def page():
    outcomes = {cell: corpus.outcome(cell) for cell in onnx_cells.cells()}
    by = collections.Counter()
    for each in outcomes.values():
        by[each.oracle] += each.cases
    pairs = {(cell.op_type, cell.dtype) for cell in outcomes}
    run = {(cell.op_type, cell.dtype) for cell, each in outcomes.items() if each.oracle == "ONNX Runtime"}
    chosen = nodes.cases()
    broadcasting = [case for case in chosen if case.op_type in nodes.BROADCASTING and case.name not in nodes.MODELS]
    escaped = lambda text: text.replace("|", r"\|")
    known = onnx_disagreements.DISAGREEMENTS
    lines = [f"| {escaped(each.subject)} | {escaped(each.decision)} |" for each in known]
    italic = lambda key, text: f"*{text}*" if text and key in pairs - run else text
    values = dict(
        onnx=release(onnx),
        opset=onnx.defs.onnx_opset_version(),
        runtime=release(onnxruntime),
        node_cases=len(chosen),
        broadcasting=len(broadcasting),
        models=len(nodes.MODELS),
        approximate=", ".join(sorted(nodes.APPROXIMATE)),
        sums=", ".join(sorted(nodes.SUMS)),
        normalized=", ".join(sorted(nodes.NORMALIZED)),
        node_epsilons=nodes.EPSILONS,
        training=len(nodes.TRAINING),
        ulps=nodes.ULPS,
        gelu=nodes.MORE_ULPS["Gelu"],
        node_table=table(sum_by_key(node_counts())),
        corpus_cases=sum(by.values()),
        cells=len(outcomes),
        by_runtime=by["ONNX Runtime"],
        in_float=by["ONNX Runtime in float"],
        by_reference=by["reference"],
        by_numpy=by["NumPy"],
        unchecked=sum(each.unchecked for each in outcomes.values()),
        pairs=len(pairs),
        not_run=len(pairs - run),
        corpus_ulps=onnx_disagreements.ULPS,
        epsilons=onnx_disagreements.EPSILONS,
        corpus_table=table(sum_by_key(corpus_counts()), italic),
        disagreements="\n".join(["| subject | decision and reason |", "|---|---|", *lines]),
    )
    return wrapped(TEXT.format(**values))


def test_page_matches_the_results():
    generated = page() + "\n"
    # Another test compares the section about real models.
    text, heading, real_models = PAGE.read_text().partition(HEADING)
    if os.environ.get("UNISHAPE_DRAW"):
        PAGE.write_text(generated + heading + real_models)
        text = generated
    assert generated == text, "UNISHAPE_DRAW=1 updates docs/onnx-conformance.md; review the changes"


def test_table_shows_failures():
    rows = table({("Add", "float"): (3, 4), ("Add", "int8"): (2, 2)})
    assert rows.splitlines()[2:] == ["| Add | 3 of 4 | 2 | 5 of 6 |", "| **all** | 3 of 4 | 2 | 5 of 6 |"]
