//! Kernels of element-wise stages whose arrays are broadcast against each other.
//!
//! Inner loops are a *row*. A thread computes the same vector of several rows: it finds the offsets of its lanes within a row
//! once. Offsets of rows are found once for a block, by one thread each, and kept in shared memory. What is the same in
//! every row is read once.

use crate::access::{Class, Store, Tile};
use crate::body::Body;
use crate::error::Error;
use crate::launch::Launch;
use crate::operand::Operand;
use crate::text::{Text, decompose};
use crate::types::raw_type;
use std::fmt::Write;
use unishape_engine::nest::LoopNest;

/// Threads of a block.
const THREADS: usize = 256;

/// Rows that a thread computes its vector of.
const ROWS: usize = 4;

/// Vectors of a row at least: those of a warp.
const MIN_VECTORS: usize = 32;

/// Rows that the threads of a block compute at a time, at most.
const MAX_GROUPS: usize = THREADS / MIN_VECTORS;

/// Percentage of threads that have a vector, at least.
const MIN_USED: usize = 85;

/// How loops are split into rows.
#[derive(Debug)]
pub(crate) struct RowTable {
    /// The first loop of a row.
    first: usize,
    lanes: usize,
    /// Vectors of a row, of which a block computes at most as many as it has threads.
    vectors: usize,
    /// Blocks along a row.
    strips: usize,
    /// Rows at a time.
    groups: usize,
    /// Number of rows.
    rows: usize,
}

impl RowTable {
    /// Splits the loops, where that suits them. Array 0 is the output.
    pub(crate) fn find(nest: &LoopNest, all: &[Operand], lanes: usize) -> Option<RowTable> {
        let (depth, sizes) = (nest.depth(), nest.sizes());
        let mut length = 1usize;
        for first in (1..depth).rev() {
            // The output is contiguous along the row.
            if nest.level(first).1[0] != length as isize && sizes[first] > 1 {
                return None;
            }
            length = length.checked_mul(sizes[first])?;
            let vectors = length / lanes;
            if !length.is_multiple_of(lanes) || vectors < MIN_VECTORS {
                continue;
            }
            let strips = vectors.div_ceil(THREADS);
            let groups = (THREADS / vectors).clamp(1, MAX_GROUPS);
            let used = if strips > 1 {
                vectors * 100 / (strips * THREADS)
            } else {
                groups * vectors * 100 / THREADS
            };
            let rows = sizes[..first].iter().try_fold(1usize, |rows, &size| rows.checked_mul(size))?;
            let is_indexed = rows < 1 << 31 && length < 1 << 31;
            if used < MIN_USED || rows < 2 * ROWS * groups || !is_indexed {
                continue;
            }
            let table = RowTable { first, lanes, vectors, strips, groups, rows };
            let tile = table.tile(nest, all);
            return (tile.number_type() == "u32").then_some(table);
        }
        None
    }

    fn strides(nest: &LoopNest, array: usize, levels: std::ops::Range<usize>) -> Vec<isize> {
        levels.map(|level| if nest.sizes()[level] > 1 { nest.level(level).1[array] } else { 0 }).collect()
    }

    fn tile(&self, nest: &LoopNest, all: &[Operand]) -> Tile {
        let arrays = all.iter().enumerate().map(|(array, operand)| {
            (
                operand,
                Self::strides(nest, array, self.first..nest.depth()),
                Self::strides(nest, array, 0..self.first),
            )
        });
        Tile::new("a", &nest.sizes()[self.first..], self.lanes, arrays)
    }

    pub(crate) fn launch(
        &self,
        nest: &LoopNest,
        all: &[Operand],
        body: &Body,
        stored: Store,
    ) -> Result<Launch, Error> {
        let &RowTable { first, lanes, vectors, strips, groups, rows } = self;
        let tile = self.tile(nest, all);
        let per_block = groups * ROWS;
        let blocks =
            rows.div_ceil(per_block).checked_mul(strips).and_then(|blocks| u32::try_from(blocks).ok());
        let blocks = blocks.filter(|&blocks| blocks < 1 << 31).ok_or(Error::TooLarge)?;
        let Some(buffer) = all[0].buffer else { return Err(Error::TooLarge) };

        let mut text = Text::default();
        text.target(0, buffer, all[0].item, all[0].start);
        for (number, operand) in all.iter().enumerate().skip(1) {
            text.source(number, operand);
        }
        text.constants(body, "k");
        text.number("u32", "rows", rows as i64);
        text.number("u32", "per_block", per_block as i64);
        text.number("u32", "groups", groups as i64);
        text.divisor("strips", strips);
        text.divisor("vectors", vectors);

        // The offsets of the block's rows.
        let is_moving = |array: usize| Self::strides(nest, array, 0..first).iter().any(|&stride| stride != 0);
        let moving: Vec<usize> = (0..all.len()).filter(|&array| is_moving(array)).collect();
        let mut code = String::new();
        for array in &moving {
            let _ = writeln!(code, "  __shared__ i64 row{array}[{}];", MAX_GROUPS * ROWS);
        }
        code += "  const u32 block = divide(blockIdx.x, mstrips, hstrips), strip = blockIdx.x - block * nstrips;\n  \
                 const u32 first = block * per_block;\n  \
                 if (threadIdx.x < per_block && first + threadIdx.x < rows) {\n";
        let bases: Vec<(String, Vec<isize>)> =
            moving.iter().map(|&array| (format!("b{array}"), Self::strides(nest, array, 0..first))).collect();
        for (base, _) in &bases {
            let _ = writeln!(code, "  i64 {base} = 0;");
        }
        code += &decompose(&mut text, "d", "first + threadIdx.x", &nest.sizes()[..first], &bases);
        for array in &moving {
            let _ = writeln!(code, "  row{array}[threadIdx.x] = b{array};");
        }
        code += "  }\n  __syncthreads();\n";

        // The vector of the thread.
        let _ = writeln!(
            code,
            "  const u32 group = divide(threadIdx.x, mvectors, hvectors);\n  \
             const u32 e = (strip * {THREADS} + threadIdx.x - group * nvectors) * {lanes};\n  \
             if (group >= groups || e >= nvectors * {lanes}) return;"
        );
        code += &tile.offsets(&mut text, "e");
        let is_read = |array: &usize| all[*array].buffer.is_some();
        let is_one = |array: usize| matches!(tile.arrays[array].class, Class::Uniform | Class::Repeat);
        let vector = |array: usize| {
            let raw = raw_type(all[array].item);
            if is_one(array) { raw.to_owned() } else { format!("Vec<{raw}, {lanes}>") }
        };
        let address = |array: usize| match is_moving(array) {
            true => format!("p{array} + row{array}[i]"),
            false => format!("p{array}"),
        };
        for array in (1..all.len()).filter(is_read) {
            if is_moving(array) {
                let _ = writeln!(code, "  {} z{array}[{ROWS}];", vector(array));
            } else {
                code += &tile.load(array, &address(array), "e", None);
            }
        }
        // All rows are read before the first one is needed.
        let each = format!(
            "#pragma unroll\n  for (int n = 0; n < {ROWS}; n++) {{ const u32 i = n * groups + group; \
             if (first + i < rows) {{\n"
        );
        let moved: Vec<usize> = (1..all.len()).filter(is_read).filter(|&array| is_moving(array)).collect();
        if !moved.is_empty() {
            code += &each;
            for &array in &moved {
                code += &tile.load(array, &address(array), "e", None);
                let _ = writeln!(code, "  z{array}[n] = x{array};");
            }
            code += "  } }\n";
        }
        code += &each;
        for &array in &moved {
            let _ = writeln!(code, "  const {} x{array} = z{array}[n];", vector(array));
        }
        let (statements, results) = body.statements(
            |operand| tile.lane(operand + 1, &address(operand + 1), "e"),
            |constant| format!("k{constant}"),
        );
        let raw = raw_type(all[0].item);
        let _ = writeln!(
            code,
            "  Vec<{raw}, {lanes}> y;\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n{statements}      \
             y.e[l] = as<{raw}>({});\n  }}",
            results[0].value
        );
        let target = if is_moving(0) { "o0 + row0[i]" } else { "o0" };
        code += &tile.store(0, target, "e", None, (stored, "y"));
        code += "  } }\n";
        let mut needs = body.needs();
        needs.threads = true;
        Ok(text.launch(needs, &code, blocks, THREADS as u32))
    }
}
