//! Kernels whose threads fold one result together.

use super::reduction::{FoldLoops, MANY_BLOCKS, SecondPass, Split, THREADS, VECTOR};
use crate::access::{Class, Tile};
use crate::body::{Joint, identity};
use crate::error::Error;
use crate::launch::{Buffer, Launch};
use crate::shuffle::shuffle_all;
use crate::text::{Text, decompose};
use crate::types::{c_type, raw_type};
use std::fmt::Write;

/// Vectors that each thread folds at least, where loops are split.
const MIN_VECTORS: usize = 8;

/// Rows from which on a warp for each is enough.
const MANY_ROWS: usize = 8192;

/// Blocks that a multiprocessor has threads for. 32 registers are left for each of these.
const MAX_RESIDENT: u32 = 8;

/// Threads of one result, for some rows of this many vectors.
fn threads_of_row(vectors: usize, rows: usize) -> usize {
    match vectors {
        0..=2 => 1,
        3..=32 => 8,
        33..=255 => 32,
        256..=1024 if rows >= MANY_ROWS => 32,
        _ => THREADS,
    }
}

pub(super) fn rows(
    fold: &FoldLoops<'_>,
    allocate: &mut dyn FnMut(usize) -> Buffer,
) -> Result<(Launch, Option<SecondPass>), Error> {
    let (iterations, results) = (fold.reduced.len(), fold.kept.len());
    let full = (VECTOR / fold.largest_item(|input| fold.is_reduced(input))).max(1);
    let inputs = 0..fold.inputs.len();
    let tile = |lanes: usize| {
        let arrays = inputs
            .clone()
            .map(|input| (&fold.inputs[input], fold.reduced_strides(input), fold.kept_strides(input)));
        Tile::new("a", fold.reduced.sizes(), lanes, arrays)
    };
    let mut lanes = full;
    let mut accesses = tile(full);
    if accesses.arrays.iter().any(|array| array.class == Class::LinearLanes) {
        lanes = 1;
        accesses = tile(1);
    }
    let tile = accesses;

    let threads = threads_of_row(iterations.div_ceil(lanes), results);
    let multiple = threads * lanes;
    let parts = match threads == THREADS && results < MANY_BLOCKS / 2 {
        true => MANY_BLOCKS.div_ceil(results).min(iterations / (multiple * MIN_VECTORS)).max(1),
        false => 1,
    };
    let split = Split::new(iterations, parts, multiple);
    let (outputs, second) = match split.parts > 1 {
        true => {
            let (parts, second) = fold.parts(split, false, allocate);
            (parts, Some(second))
        }
        false => (fold.outputs.clone(), None),
    };
    let units = results.checked_mul(split.parts).ok_or(Error::TooLarge)?;
    let units_per_block = THREADS / threads;
    let blocks = u32::try_from(units.div_ceil(units_per_block)).ok().filter(|&blocks| blocks < 1 << 31);
    let blocks = blocks.filter(|_| units < 1 << 31).ok_or(Error::TooLarge)?;

    let mut text = Text::default();
    fold.declare(&mut text, &outputs)?;
    let number = tile.number_type();
    text.number("u32", "units", units as i64);
    text.number(number, "size", iterations as i64);

    let mut code = format!(
        "  const u32 unit = blockIdx.x * {units_per_block} + threadIdx.x / {threads}, t = threadIdx.x % {threads};\n"
    );
    let row = if split.parts > 1 {
        text.divisor("parts", split.parts);
        text.number(number, "part_size", split.size as i64);
        let _ = writeln!(
            code,
            "  const u32 row = divide(unit, mparts, hparts), part = unit - row * nparts;\n  \
             const {number} first = ({number})part * part_size;\n  \
             const {number} last = size - first < part_size ? size : first + part_size;"
        );
        "row"
    } else {
        let _ = writeln!(code, "  const {number} first = 0, last = size;");
        "unit"
    };
    let mut bases: Vec<(String, Vec<isize>)> =
        inputs.clone().map(|input| (format!("b{input}"), fold.kept_strides(input))).collect();
    if split.parts == 1 {
        bases.extend((0..outputs.len()).map(|output| (format!("w{output}"), fold.output_strides(output))));
    }
    for (base, _) in &bases {
        let _ = writeln!(code, "  i64 {base} = 0;");
    }
    code += &decompose(&mut text, "d", row, fold.kept.sizes(), &bases);

    let folds = || fold.folds();
    code += &fold.accumulators(&format!("[{lanes}]"), |each| {
        format!("#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {}", each("[l]"))
    });
    code += "  if (unit < units) {\n";
    let address = |input: usize| format!("p{input} + b{input}");
    let is_uniform = |input: &usize| tile.arrays[*input].class == Class::Uniform;
    for input in inputs.clone().filter(is_uniform) {
        code += &tile.load(input, &address(input), "e", None);
    }
    let count = (!iterations.is_multiple_of(lanes)).then_some("count");
    let _ = writeln!(
        code,
        "#pragma unroll {}\n  for ({number} e = first + t * {lanes}; e < last; e += {multiple}) {{",
        fold.body.unrolled()
    );
    if count.is_some() {
        let _ = writeln!(code, "  const int count = last - e < {lanes} ? (int)(last - e) : {lanes};");
    }
    code += &tile.offsets(&mut text, "e");
    for input in inputs.filter(|input| !is_uniform(input)) {
        code += &tile.load(input, &address(input), "e", count);
    }
    let (statements, values) = fold
        .body
        .statements(|input| tile.lane(input, &address(input), "e"), |constant| format!("k{constant}"));
    let guard = if count.is_some() { "if (l < count) " } else { "" };
    let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {guard}{{\n{statements}");
    code += &fold.body.accumulate(&values, &|number| format!("a{number}[l]"));
    code += "  } } }\n";

    // Lanes, the threads of a warp, and warps.
    let body = fold.body;
    let finished = body.finish(&|number| format!("a{number}[l]"));
    if !finished.is_empty() {
        let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {finished}");
    }
    let mut half = lanes / 2;
    while half > 0 {
        for lane in 0..half {
            let (own, other) = (move |number| format!("a{number}[{lane}]"), lane + half);
            code += &body.merge(&own, &|number| format!("a{number}[{other}]"));
        }
        half /= 2;
    }
    for (number, _, dtype) in folds() {
        let _ = writeln!(code, "  {} v{number} = a{number}[0];", c_type(dtype));
    }
    shuffle_all(&mut code, threads.min(32), body);
    if threads > 32 {
        let warps = threads / 32;
        for (number, _, dtype) in folds() {
            let _ = writeln!(
                code,
                "  __shared__ {} warp{number}[{warps}];\n  if (t % 32 == 0) warp{number}[t / 32] = v{number};",
                c_type(dtype)
            );
        }
        code += "  __syncthreads();\n";
        for (number, fold, dtype) in folds() {
            let neutral = identity(fold, dtype);
            let _ = writeln!(code, "  v{number} = t < {warps} ? warp{number}[t] : {neutral};");
        }
        shuffle_all(&mut code, warps, body);
    }
    code += "  if (unit < units && t == 0) {\n";
    for (number, _, dtype) in folds() {
        let at = if split.parts > 1 { "unit".into() } else { format!("w{number}") };
        let _ = writeln!(code, "    o{number}[{at}] = as<{}>(v{number});", raw_type(dtype.item_size()));
    }
    code += "  }\n";
    let mut needs = fold.body.needs();
    needs.threads = true;
    // Sums of deviations have four accumulators, but are memory-bound: they need all resident threads.
    let is_small = fold.outputs.iter().all(|output| output.item <= 4);
    let resident = (body.joint == Some(Joint::Deviations) && is_small).then_some(MAX_RESIDENT);
    Ok((text.launch_resident(needs, &code, blocks, THREADS as u32, resident), second))
}
