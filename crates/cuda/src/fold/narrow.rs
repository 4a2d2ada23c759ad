//! Kernels of reductions along all but a short innermost loop, such as sums of the columns of many rows of 3.
//!
//! Threads read the array as one, in whole vectors, however short its rows are. The number of threads that take part is such
//! that a lane always gets elements of the same column.

use super::reduction::{FoldLoops, MANY_BLOCKS, SecondPass, Split, THREADS, VECTOR};
use crate::body::identity;
use crate::error::Error;
use crate::launch::{Buffer, Launch};
use crate::text::Text;
use crate::types::{c_type, raw_type};
use std::fmt::Write;

/// Longest innermost loop: there is a power of two of threads for longer ones.
const MAX_WIDTH: usize = 31;

/// Vectors that each thread folds at least, where loops are split.
const MIN_VECTORS: usize = 8;

/// How an input is read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Access {
    /// All elements, one after another.
    Linear,
    /// The same element everywhere.
    Uniform,
    /// An element for each column.
    Column,
}

/// A reduction whose results are few neighbours.
#[derive(Debug)]
pub(super) struct Narrow {
    accesses: Vec<Access>,
    lanes: usize,
    width: usize,
    /// Threads of a block that take part.
    active: usize,
}

impl Narrow {
    pub(super) fn find(fold: &FoldLoops<'_>) -> Option<Narrow> {
        let width = fold.kept.len();
        let is_one_loop = fold.kept.depth() == 1 && fold.reduced.depth() == 1;
        if !is_one_loop || !(2..=MAX_WIDTH).contains(&width) || fold.reduced.len() < THREADS {
            return None;
        }
        let elements = fold.reduced.len().checked_mul(width).filter(|&elements| elements < 1 << 40)?;
        let access = |input: usize| match (fold.kept_stride(0, input), fold.reduced_strides(input)[0]) {
            _ if fold.inputs[input].buffer.is_none() => None,
            (1, reduced) if reduced == width as isize => Some(Access::Linear),
            (0, 0) => Some(Access::Uniform),
            (_, 0) => Some(Access::Column),
            _ => None,
        };
        let accesses: Vec<Access> = (0..fold.inputs.len()).map(access).collect::<Option<_>>()?;
        let is_linear = |input: usize| accesses[input] == Access::Linear;
        let lanes = fold.limited((VECTOR / fold.largest_item(is_linear)).max(1), 0);
        let is_aligned = |input: usize| !is_linear(input) || fold.inputs[input].is_aligned(lanes, []);
        if !accesses.contains(&Access::Linear) || !(0..accesses.len()).all(is_aligned) || elements == 0 {
            return None;
        }
        let repeats = width / greatest_common_divisor(width, lanes);
        Some(Narrow { accesses, lanes, width, active: THREADS / repeats * repeats })
    }

    pub(super) fn launch(
        &self,
        fold: &FoldLoops<'_>,
        allocate: &mut dyn FnMut(usize) -> Buffer,
    ) -> Result<(Launch, Option<SecondPass>), Error> {
        let &Narrow { ref accesses, lanes, width, active } = self;
        let elements = fold.reduced.len() * width;
        let vectors = elements.div_ceil(lanes);
        let parts = MANY_BLOCKS.min(vectors / (active * MIN_VECTORS)).max(1);
        let split = Split::new(vectors, parts, active);
        let (outputs, second) = match split.parts > 1 {
            true => {
                let (parts, second) = fold.parts(split, true, allocate);
                (parts, Some(second))
            }
            false => (fold.outputs.clone(), None),
        };

        let mut text = Text::default();
        fold.declare(&mut text, &outputs)?;
        text.number("u64", "elements", elements as i64);
        text.number("u64", "vectors", vectors as i64);
        text.number("u64", "part_size", split.size as i64);
        text.number("u32", "width", width as i64);
        text.number("u32", "active", active as i64);
        let mut code = String::from(
            "  const u64 first = blockIdx.x * part_size, last = vectors - first < part_size ? vectors : first + part_size;\n  \
             const u32 t = threadIdx.x;\n",
        );
        code += &fold.accumulators(&format!("[{lanes}]"), |each| {
            format!("#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {}", each("[l]"))
        });
        for (input, access) in accesses.iter().enumerate() {
            let raw = raw_type(fold.inputs[input].item);
            let _ = match access {
                Access::Linear => Ok(()),
                Access::Uniform => writeln!(code, "  const {raw} x{input} = load<1>(p{input}).e[0];"),
                Access::Column => {
                    text.number("i64", &format!("sk{input}"), fold.kept_stride(0, input) as i64);
                    writeln!(
                        code,
                        "  {raw} x{input}[{lanes}];\n#pragma unroll\n  for (u32 l = 0; l < {lanes}; l++) \
                         x{input}[l] = load<1>(p{input} + (i64)((t * {lanes} + l) % width) * sk{input}).e[0];"
                    )
                }
            };
        }
        let count = (!elements.is_multiple_of(lanes)).then_some("count");
        code += "  if (t < active) {\n#pragma unroll 4\n  for (u64 v = first + t; v < last; v += active) {\n";
        let _ = writeln!(code, "  const u64 e = v * {lanes};");
        if count.is_some() {
            let _ =
                writeln!(code, "  const int count = elements - e < {lanes} ? (int)(elements - e) : {lanes};");
        }
        let is_linear = |input: &usize| accesses[*input] == Access::Linear;
        for input in (0..accesses.len()).filter(is_linear) {
            let raw = raw_type(fold.inputs[input].item);
            let _ = match count {
                None => {
                    writeln!(code, "  const Vec<{raw}, {lanes}> x{input} = load<{lanes}>(p{input} + e);")
                }
                Some(count) => writeln!(
                    code,
                    "  Vec<{raw}, {lanes}> x{input};\n  if ({count} >= {lanes}) x{input} = load<{lanes}>(p{input} + e);\n  \
                     else for (int l = 0; l < {lanes}; l++) if (l < {count}) x{input}.e[l] = p{input}[e + l];"
                ),
            };
        }
        let (statements, values) = fold.body.statements(
            |input| match accesses[input] {
                Access::Linear => format!("x{input}.e[l]"),
                Access::Uniform => format!("x{input}"),
                Access::Column => format!("x{input}[l]"),
            },
            |constant| format!("k{constant}"),
        );
        let guard = if count.is_some() { "if (l < count) " } else { "" };
        let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {guard}{{\n{statements}");
        code += &fold.body.accumulate(&values, &|number| format!("a{number}[l]"));
        code += "  } } }\n";

        let finished = fold.body.finish(&|number| format!("a{number}[l]"));
        if !finished.is_empty() {
            let _ = writeln!(code, "#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {finished}");
        }
        // Elements in shared memory are those of rows, too: halves of the rows are folded, until there is one.
        for (number, fold, dtype) in fold.folds() {
            let _ = writeln!(
                code,
                "  __shared__ {} s{number}[{}];\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) \
                 s{number}[t * {lanes} + l] = t < active ? a{number}[l] : {};",
                c_type(dtype),
                THREADS * lanes,
                identity(fold, dtype)
            );
        }
        let _ = writeln!(
            code,
            "  for (u32 rows = active * {lanes} / width; rows > 1;) {{\n    __syncthreads();\n    \
             const u32 half = (rows + 1) / 2;\n    \
             for (u32 j = t; j < (rows - half) * width; j += {THREADS}) {{"
        );
        let other = |number| format!("s{number}[j + half * width]");
        code += &fold.body.merge(&|number| format!("s{number}[j]"), &other);
        code += "    }\n    rows = half;\n  }\n  __syncthreads();\n  if (t < width) {\n";
        for (number, _, dtype) in fold.folds() {
            let raw = raw_type(dtype.item_size());
            let at = if second.is_some() {
                "blockIdx.x * width + t".to_owned()
            } else {
                text.number("i64", &format!("wk{number}"), fold.output_strides(number)[0] as i64);
                format!("(i64)t * wk{number}")
            };
            let _ = writeln!(code, "    o{number}[{at}] = as<{raw}>(s{number}[t]);");
        }
        code += "  }\n";
        let mut needs = fold.body.needs();
        needs.threads = true;
        let blocks = u32::try_from(split.parts).map_err(|_| Error::TooLarge)?;
        Ok((text.launch(needs, &code, blocks, THREADS as u32), second))
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
