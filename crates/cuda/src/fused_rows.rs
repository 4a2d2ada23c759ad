//! Kernels of several stages along the same rows, such as those of a softmax.
//!
//! The threads of a row read its elements once, and keep them in registers from stage to stage. Folds of the row are
//! known to all of its threads, and are not written to memory.

use crate::access::{Class, Store, Tile};
use crate::body::{Body, combine, identity};
use crate::error::Error;
use crate::launch::Launch;
use crate::operand::Operand;
use crate::shuffle::shuffle;
use crate::text::{Text, decompose};
use crate::types::{c_type, raw_type};
use std::fmt::Write;
use unishape_engine::nest::LoopNest;

/// Threads of a block.
const THREADS: usize = 256;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// Bytes of a row's elements that a thread keeps in registers at most.
const MAX_BYTES: usize = 256;

/// Elements of rows that are not contiguous at most.
const MAX_STRIDED: usize = 4096;

/// What a stage reads: an array, or a result of an earlier stage for the same row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowInput {
    /// An array, by its number among those of all stages.
    Array(usize),
    /// A result of a stage of the kernel.
    FoldOp { stage: usize, result: usize },
}

/// A stage along rows. All but the last one fold along the row.
#[derive(Debug)]
pub(crate) struct RowStage {
    pub(crate) inputs: Vec<RowInput>,
    pub(crate) body: Body,
}

/// Several stages with the same loops.
#[derive(Debug)]
pub(crate) struct FusedRows<'r> {
    pub(crate) sizes: &'r [usize],
    /// Which loops are along the rows.
    pub(crate) is_along: &'r [bool],
    /// What all stages read.
    pub(crate) arrays: Vec<Operand>,
    pub(crate) output: Operand,
    pub(crate) stages: Vec<RowStage>,
}

impl FusedRows<'_> {
    /// The kernel and its arguments; `None` where rows are too long, or too irregular.
    pub(crate) fn launch(&self) -> Option<Result<Launch, Error>> {
        let dims = |along: bool| -> Vec<usize> {
            (0..self.sizes.len()).filter(|&dim| self.is_along[dim] == along).collect()
        };
        let (row_dims, other_dims) = (dims(true), dims(false));
        let all: Vec<&Operand> = std::iter::once(&self.output).chain(&self.arrays).collect();
        let nest = |dims: &[usize]| {
            let shape: Vec<usize> = dims.iter().map(|&dim| self.sizes[dim]).collect();
            LoopNest::new(&shape, all.len(), |array, dim| all[array].strides[dims[dim]])
        };
        let (rows, row) = (nest(&other_dims), nest(&row_dims));
        let strides = |nest: &LoopNest, array: usize| -> Vec<isize> {
            let stride = |level: usize| if nest.sizes()[level] > 1 { nest.level(level).1[array] } else { 0 };
            (0..nest.depth()).map(stride).collect()
        };
        let moved = |array: usize| {
            let start = all[array].start + rows.starts()[array] + row.starts()[array];
            Operand { start, ..all[array].clone() }
        };
        let arrays: Vec<Operand> = (0..all.len()).map(moved).collect();
        let (count, length) = (rows.len(), row.len());
        let is_moving = |array: usize| strides(&row, array).iter().any(|&stride| stride != 0);
        let largest =
            (0..arrays.len()).filter(|&array| is_moving(array)).map(|array| arrays[array].item).max()?;
        let make = |lanes: usize| {
            let accesses =
                (0..arrays.len()).map(|array| (&arrays[array], strides(&row, array), strides(&rows, array)));
            Tile::new("a", row.sizes(), lanes, accesses)
        };
        let is_whole = |tile: &Tile| !tile.arrays.iter().any(|array| array.class == Class::LinearLanes);
        let mut lanes = (VECTOR / largest).max(1);
        if !length.is_multiple_of(lanes) || !is_whole(&make(lanes)) {
            lanes = 1;
        }
        let tile = make(lanes);
        let is_regular = |array: usize| {
            let class = tile.arrays[array].class;
            let is_index = arrays[array].buffer.is_none();
            class != Class::Repeat && (!is_index || matches!(class, Class::Uniform | Class::Linear))
        };
        // Neighbouring threads would read memory that is far apart, where rows are columns in memory.
        let smallest = |nest: &LoopNest, array: usize| {
            strides(nest, array)
                .iter()
                .filter(|stride| **stride != 0)
                .map(|stride| stride.unsigned_abs())
                .min()
        };
        let is_column = |array: usize| match (smallest(&row, array), smallest(&rows, array)) {
            (Some(along), Some(across)) => along > across,
            _ => false,
        };
        if count.saturating_mul(length) > MAX_STRIDED && (0..arrays.len()).any(is_column) {
            return None;
        }
        // Threads of a row, and vectors of each thread.
        let vectors = length.div_ceil(lanes);
        let threads = if vectors <= 32 * 8 { 32 } else { THREADS };
        let per_thread = vectors.div_ceil(threads).next_power_of_two();
        let kept: usize = (1..arrays.len())
            .filter(|&array| tile.arrays[array].class != Class::Uniform)
            .map(|array| per_thread * lanes * arrays[array].item)
            .sum();
        if length == 0
            || kept > MAX_BYTES
            || tile.number_type() != "u32"
            || !(0..arrays.len()).all(is_regular)
        {
            return None;
        }
        let rows_per_block = THREADS / threads;
        let blocks = u32::try_from(count.div_ceil(rows_per_block)).ok().filter(|_| count < 1 << 31)?;
        let shape = RowThreads { threads, per_thread, lanes, length, count, rows_per_block };
        let mut text = Text::default();
        let code = self.code(&mut text, &tile, &arrays, &shape, |text| {
            let bases: Vec<(String, Vec<isize>)> =
                (0..arrays.len()).map(|array| (format!("b{array}"), strides(&rows, array))).collect();
            let declared: String = bases.iter().map(|(base, _)| format!("  i64 {base} = 0;\n")).collect();
            declared + &decompose(text, "d", "unit", rows.sizes(), &bases)
        })?;
        let mut needs = self.stages[0].body.needs();
        self.stages.iter().for_each(|stage| needs = needs.and(stage.body.needs()));
        needs.threads = true;
        Some(Ok(text.launch(needs, &code, blocks, THREADS as u32)))
    }

    fn code(
        &self,
        text: &mut Text,
        tile: &Tile,
        arrays: &[Operand],
        shape: &RowThreads,
        offsets_of_row: impl Fn(&mut Text) -> String,
    ) -> Option<String> {
        let &RowThreads { threads, per_thread, lanes, length, count, rows_per_block } = shape;
        text.target(0, arrays[0].buffer?, arrays[0].item, arrays[0].start);
        for (number, operand) in arrays.iter().enumerate().skip(1) {
            text.source(number, operand);
        }
        for (number, stage) in self.stages.iter().enumerate() {
            text.constants(&stage.body, &format!("k{number}_"));
        }
        text.number("u32", "units", count as i64);
        text.number("u32", "size", length as i64);
        let mut code = format!(
            "  const u32 unit = blockIdx.x * {rows_per_block} + threadIdx.x / {threads}, t = threadIdx.x % {threads};\n"
        );
        code += &offsets_of_row(text);

        // What the row reads, once.
        let is_uniform = |array: usize| tile.arrays[array].class == Class::Uniform;
        let is_array = |array: usize| arrays[array].buffer.is_some();
        let address = |array: usize| format!("p{array} + b{array}");
        for array in (1..arrays.len()).filter(|&array| is_array(array)) {
            let raw = raw_type(arrays[array].item);
            let _ = match is_uniform(array) {
                true => writeln!(
                    code,
                    "  {raw} x{array} = {raw}();\n  if (unit < units) x{array} = load<1>({}).e[0];",
                    address(array)
                ),
                false => writeln!(code, "  Vec<{raw}, {lanes}> z{array}[{per_thread}];"),
            };
        }
        let each = format!(
            "#pragma unroll\n  for (int i = 0; i < {per_thread}; i++) {{ const u32 e = (i * {threads} + t) * {lanes}; \
             if (unit < units && e < size) {{\n"
        );
        let offsets = tile.offsets(text, "e");
        code += &each;
        code += &offsets;
        let read = || (1..arrays.len()).filter(|&array| is_array(array) && !is_uniform(array));
        for array in read() {
            code += &tile.load(array, &address(array), "e", None);
            let _ = writeln!(code, "  z{array}[i] = x{array};");
        }
        code += "  } }\n";

        let last = self.stages.len() - 1;
        for (number, stage) in self.stages.iter().enumerate() {
            let operand = |input: usize| match stage.inputs[input] {
                RowInput::Array(array) => tile.lane(array + 1, &address(array + 1), "e"),
                RowInput::FoldOp { stage, result } => {
                    format!(
                        "as<{}>(f{stage}_{result})",
                        raw_type(self.stages[stage].body.results[result].dtype.item_size())
                    )
                }
            };
            let (statements, values) =
                stage.body.statements(operand, |constant| format!("k{number}_{constant}"));
            let results = &stage.body.results;
            let folds = || {
                let results = results.iter().enumerate();
                results.filter_map(|(result, each)| Some((result, each.fold?, each.dtype)))
            };
            for (result, fold, dtype) in folds() {
                let (c_type, identity) = (c_type(dtype), identity(fold, dtype));
                let _ = writeln!(
                    code,
                    "  {c_type} a{number}_{result}[{lanes}];\n#pragma unroll\n  \
                     for (int l = 0; l < {lanes}; l++) a{number}_{result}[l] = {identity};"
                );
            }
            code += &each;
            for array in read() {
                let raw = raw_type(arrays[array].item);
                let _ = writeln!(code, "  const Vec<{raw}, {lanes}> x{array} = z{array}[i];");
            }
            let is_stored = results[0].fold.is_none();
            if is_stored {
                code += &offsets;
                let _ = writeln!(code, "  Vec<{}, {lanes}> y;", raw_type(arrays[0].item));
            }
            let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n{statements}");
            for (result, fold, dtype) in folds() {
                let own = format!("a{number}_{result}[l]");
                let _ = writeln!(code, "      {}", values[result].accumulate(fold, dtype, &own));
            }
            if is_stored {
                let _ =
                    writeln!(code, "      y.e[l] = as<{}>({});", raw_type(arrays[0].item), values[0].value);
            }
            code += "  }\n";
            if is_stored {
                code += &tile.store(0, "o0 + b0", "e", None, (Store::Cached, "y"));
            }
            code += "  } }\n";
            for (result, fold, dtype) in folds() {
                self.broadcast(
                    &mut code,
                    &format!("{number}_{result}"),
                    shape,
                    c_type(dtype),
                    &identity(fold, dtype),
                    &|a, b| combine(fold, dtype, a, b),
                );
            }
            if number == last && !is_stored {
                let raw = raw_type(arrays[0].item);
                let _ = writeln!(code, "  if (unit < units && t == 0) o0[b0] = as<{raw}>(f{number}_0);");
            }
        }
        Some(code)
    }

    /// Folds the accumulators `a{name}` of all threads of a row to `f{name}`, which all of them have.
    fn broadcast(
        &self,
        code: &mut String,
        name: &str,
        shape: &RowThreads,
        c_type: &str,
        identity: &str,
        combine: &dyn Fn(&str, &str) -> String,
    ) {
        let mut half = shape.lanes / 2;
        while half > 0 {
            for lane in 0..half {
                let (a, b) = (format!("a{name}[{lane}]"), format!("a{name}[{}]", lane + half));
                let _ = writeln!(code, "  {a} = {};", combine(&a, &b));
            }
            half /= 2;
        }
        let value = format!("f{name}");
        let _ = writeln!(code, "  {c_type} {value} = a{name}[0];");
        shuffle(code, 32, &value, combine);
        if shape.threads > 32 {
            let warps = shape.threads / 32;
            let _ = writeln!(
                code,
                "  __shared__ {c_type} warp{name}[{warps}];\n  if (t % 32 == 0) warp{name}[t / 32] = {value};\n  \
                 __syncthreads();\n  {value} = t % 32 < {warps} ? warp{name}[t % 32] : {identity};"
            );
            shuffle(code, warps, &value, combine);
        }
        let _ = writeln!(code, "  {value} = from_first_lane({value});");
    }
}

/// How threads share rows.
struct RowThreads {
    /// Threads of a row.
    threads: usize,
    /// Vectors of each thread.
    per_thread: usize,
    /// Elements of a vector.
    lanes: usize,
    /// Elements of a row.
    length: usize,
    /// Number of rows.
    count: usize,
    rows_per_block: usize,
}
