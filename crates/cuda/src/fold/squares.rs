//! Kernels of reductions over pairs of rows, such as distances of points with many coordinates.
//!
//! A block computes a square of results: some rows of one set of arrays with some rows of another. It reads parts of all
//! these rows into shared memory; each thread takes elements from there for a small square of results in registers. An
//! element that is read from memory is then used for as many results as the block's square has rows.

use super::reduction::{FoldLoops, MAX_INDEX, SHARED, THREADS};
use crate::body::Joint;
use crate::error::Error;
use crate::launch::Launch;
use crate::text::{Text, decompose};
use crate::types::raw_type;
use std::fmt::Write;

/// Results of a thread along each side of its square.
const PER_THREAD: usize = 4;

/// Threads along each side of a block's square.
const ACROSS: usize = 16;

/// Results along each side of a block's square.
const SIDE: usize = PER_THREAD * ACROSS;

/// Iterations whose elements are in shared memory at a time.
const DEPTH: usize = 16;

/// Which loop an input moves along, besides the reduced one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Side {
    /// The second last loop: rows of the square.
    Row,
    /// The last loop: columns of the square.
    Column,
    /// Neither of them, nor the reduced loop.
    Neither,
}

/// How inputs move, if the reduction is one over pairs of rows.
pub(super) struct Squares {
    /// The kept loops of the square.
    levels: [usize; 2],
    sides: Vec<Side>,
}

impl Squares {
    /// Finds two kept loops such that each input that is reduced moves along at most one of them.
    pub(super) fn find(fold: &FoldLoops<'_>) -> Option<Squares> {
        if fold.body.joint == Some(Joint::Deviations) {
            return None;
        }
        let depth = fold.kept.depth();
        let is_long = depth >= 2 && fold.reduced.depth() == 1 && fold.reduced.len() >= DEPTH;
        if !is_long || fold.reduced.len() >= MAX_INDEX {
            return None;
        }
        let levels = [depth - 2, depth - 1];
        if levels.iter().any(|&level| !(SIDE / 2..MAX_INDEX).contains(&fold.kept.sizes()[level])) {
            return None;
        }
        let side = |input: usize| match levels.map(|level| fold.kept_stride(level, input) != 0) {
            _ if fold.inputs[input].buffer.is_none() => None,
            [true, false] if fold.is_reduced(input) => Some(Side::Row),
            [false, true] if fold.is_reduced(input) => Some(Side::Column),
            [false, false] if !fold.is_reduced(input) => Some(Side::Neither),
            _ => None,
        };
        let sides: Vec<Side> = (0..fold.inputs.len()).map(side).collect::<Option<_>>()?;
        let has = |side: Side| sides.contains(&side);
        let bytes: usize = (0..sides.len())
            .filter(|&input| sides[input] != Side::Neither)
            .map(|input| DEPTH * (SIDE + 1) * fold.inputs[input].item)
            .sum();
        (has(Side::Row) && has(Side::Column) && bytes <= SHARED).then_some(Squares { levels, sides })
    }

    pub(super) fn launch(&self, fold: &FoldLoops<'_>) -> Result<Launch, Error> {
        let [rows, columns] = self.levels.map(|level| fold.kept.sizes()[level]);
        let outer = self.levels[0];
        let squares = rows.div_ceil(SIDE).checked_mul(columns.div_ceil(SIDE)).ok_or(Error::TooLarge)?;
        let others: usize = fold.kept.sizes()[..outer].iter().product();
        let blocks = squares.checked_mul(others).and_then(|blocks| u32::try_from(blocks).ok());
        let blocks = blocks.filter(|&blocks| blocks < 1 << 31).ok_or(Error::TooLarge)?;

        let mut text = Text::default();
        fold.declare(&mut text, &fold.outputs)?;
        text.number("u32", "size", fold.reduced.len() as i64);
        text.number("u32", "rows", rows as i64);
        text.number("u32", "columns", columns as i64);
        text.divisor("strips", columns.div_ceil(SIDE));

        let mut code = String::new();
        let mut bases: Vec<(String, Vec<isize>)> =
            (0..fold.inputs.len()).map(|input| (format!("b{input}"), fold.kept_strides(input))).collect();
        bases.extend(
            (0..fold.outputs.len()).map(|output| (format!("w{output}"), fold.output_strides(output))),
        );
        for (base, _) in &bases {
            let _ = writeln!(code, "  i64 {base} = 0;");
        }
        code += "  u32 block = blockIdx.x;\n";
        if outer > 0 {
            text.divisor("squares", squares);
            code += "  const u32 outer = divide(block, msquares, hsquares);\n  block -= outer * nsquares;\n";
            code += &decompose(&mut text, "d", "outer", &fold.kept.sizes()[..outer], &bases);
        }
        let _ = writeln!(
            code,
            "  const u32 strip = divide(block, mstrips, hstrips), first_row = strip * {SIDE}, \
             first_column = (block - strip * nstrips) * {SIDE};\n  \
             const u32 x = threadIdx.x % {ACROSS}, y = threadIdx.x / {ACROSS};"
        );
        let folds = || fold.folds();
        let each = format!("for (int i = 0; i < {PER_THREAD}; i++)");
        let each_other = format!("for (int j = 0; j < {PER_THREAD}; j++)");
        code += &fold.accumulators(&format!("[{PER_THREAD}][{PER_THREAD}]"), |set| {
            format!("#pragma unroll\n  {each}\n#pragma unroll\n  {each_other} {}", set("[i][j]"))
        });
        // Inputs of a side, with their stride along it.
        let moving = |side: Side| (0..self.sides.len()).filter(move |&input| self.sides[input] == side);
        for input in moving(Side::Neither) {
            let raw = raw_type(fold.inputs[input].item);
            let _ = writeln!(code, "  const {raw} x{input} = load<1>(p{input} + b{input}).e[0];");
        }
        for (side, level) in [(Side::Row, self.levels[0]), (Side::Column, self.levels[1])] {
            for input in moving(side) {
                let raw = raw_type(fold.inputs[input].item);
                text.number("i64", &format!("sk{input}"), fold.kept_stride(level, input) as i64);
                text.number("i64", &format!("sr{input}"), fold.reduced_strides(input)[0] as i64);
                let _ = writeln!(code, "  __shared__ {raw} s{input}[{DEPTH}][{}];", SIDE + 1);
            }
        }
        let _ = writeln!(
            code,
            "  for (u32 first = 0; first < size; first += {DEPTH}) {{\n  __syncthreads();\n#pragma unroll\n  \
             for (u32 i = threadIdx.x; i < {}; i += {THREADS}) {{\n    \
             const u32 d = i % {DEPTH}, k = i / {DEPTH}, r = first + d;",
            SIDE * DEPTH
        );
        for (side, first, most) in
            [(Side::Row, "first_row", "rows"), (Side::Column, "first_column", "columns")]
        {
            for input in moving(side) {
                let _ = writeln!(
                    code,
                    "    if (r < size && {first} + k < {most}) s{input}[d][k] = load<1>(p{input} + b{input} + \
                     (i64)({first} + k) * sk{input} + (i64)r * sr{input}).e[0];"
                );
            }
        }
        let _ = writeln!(
            code,
            "  }}\n  __syncthreads();\n  const u32 last = size - first < {DEPTH} ? size - first : {DEPTH};\n\
             #pragma unroll 4\n  for (u32 d = 0; d < last; d++) {{"
        );
        for (side, at) in
            [(Side::Row, format!("y + i * {ACROSS}")), (Side::Column, format!("x + i * {ACROSS}"))]
        {
            for input in moving(side) {
                let raw = raw_type(fold.inputs[input].item);
                let _ = writeln!(
                    code,
                    "  {raw} x{input}[{PER_THREAD}];\n#pragma unroll\n  {each} x{input}[i] = s{input}[d][{at}];"
                );
            }
        }
        let (statements, values) = fold.body.statements(
            |input| match self.sides[input] {
                Side::Row => format!("x{input}[i]"),
                Side::Column => format!("x{input}[j]"),
                Side::Neither => format!("x{input}"),
            },
            |constant| format!("k{constant}"),
        );
        let _ = writeln!(code, "#pragma unroll\n  {each}\n#pragma unroll\n  {each_other} {{\n{statements}");
        code += &fold.body.accumulate(&values, &|number| format!("a{number}[i][j]"));
        code += "  } } }\n";
        for (number, _, dtype) in folds() {
            let strides = fold.output_strides(number);
            text.number("i64", &format!("wr{number}"), strides[self.levels[0]] as i64);
            text.number("i64", &format!("wc{number}"), strides[self.levels[1]] as i64);
            let _ = writeln!(
                code,
                "#pragma unroll\n  {each}\n#pragma unroll\n  {each_other} {{\n    \
                 const u32 row = first_row + y + i * {ACROSS}, column = first_column + x + j * {ACROSS};\n    \
                 if (row < rows && column < columns) o{number}[w{number} + (i64)row * wr{number} + (i64)column * wc{number}] = \
                 as<{}>(a{number}[i][j]);\n  }}",
                raw_type(dtype.item_size())
            );
        }
        let mut needs = fold.body.needs();
        needs.threads = true;
        Ok(text.launch(needs, &code, blocks, THREADS as u32))
    }
}
