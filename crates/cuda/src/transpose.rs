//! Kernels of element-wise stages in which some arrays are contiguous along another loop than the result.
//!
//! A block computes a square of two loops: `x`, along which the result is contiguous, and `y`, along which these arrays
//! are. It reads their part along `y` into shared memory, and takes elements from there along `x`. All accesses to
//! memory are then contiguous.

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

/// Bytes of shared memory that a block may use on every device.
const SHARED: usize = 48 << 10;

/// Loops shorter than this are not worth it: most of a square would be empty.
const MIN_SIZE: usize = 16;

/// Side of a square, for elements of this many bytes.
fn side(item: usize) -> usize {
    if item <= 4 { 64 } else { 32 }
}

/// The loop along which some inputs are contiguous, and these inputs, if there are any.
#[derive(Debug)]
pub(crate) struct Transposed {
    /// The loop `y`.
    level: usize,
    /// The arrays; 0 is the output.
    arrays: Vec<usize>,
    side: usize,
}

impl Transposed {
    /// Finds arrays that are contiguous along another loop. Array 0 is the output.
    pub(crate) fn find(nest: &LoopNest, arrays: &[Operand]) -> Option<Transposed> {
        let inner = nest.depth() - 1;
        let (width, strides) = nest.level(inner);
        if strides[0] != 1 || width < MIN_SIZE {
            return None;
        }
        let is_along = |level: usize, array: usize| {
            arrays[array].buffer.is_some()
                && nest.level(level).1[array].unsigned_abs() == 1
                && nest.level(inner).1[array].unsigned_abs() > 1
        };
        let level = (0..inner).rev().find(|&level| {
            nest.level(level).0 >= MIN_SIZE && (1..arrays.len()).any(|array| is_along(level, array))
        })?;
        let found: Vec<usize> = (1..arrays.len()).filter(|&array| is_along(level, array)).collect();
        let side = found.iter().map(|&array| side(arrays[array].item)).min()?;
        let bytes: usize = found.iter().map(|&array| side * (side + 1) * arrays[array].item).sum();
        (bytes <= SHARED).then_some(Transposed { level, arrays: found, side })
    }

    /// The kernel, and its arguments.
    pub(crate) fn launch(
        &self,
        nest: &LoopNest,
        all: &[Operand],
        lanes: usize,
        body: &Body,
    ) -> Result<Launch, Error> {
        let (side, depth) = (self.side, nest.depth());
        let (height, width) = (nest.sizes()[self.level], nest.sizes()[depth - 1]);
        let others: Vec<usize> = (0..depth - 1).filter(|&level| level != self.level).collect();
        let strides = |array: usize, levels: &[usize]| -> Vec<isize> {
            levels.iter().map(|&level| nest.level(level).1[array]).collect()
        };
        let along_x = |array: usize| nest.level(depth - 1).1[array];
        let along_y = |array: usize| nest.level(self.level).1[array];
        let tile = Tile::new(
            "a",
            &[width],
            lanes,
            all.iter().enumerate().map(|(array, operand)| {
                let outer = strides(array, &(0..depth - 1).collect::<Vec<_>>());
                (operand, vec![along_x(array)], outer)
            }),
        );
        let [columns, rows] = [width, height].map(|size| size.div_ceil(side));
        let outer: usize = others.iter().map(|&level| nest.sizes()[level]).product();
        let squares = columns.checked_mul(rows).ok_or(Error::TooLarge)?;
        let blocks = squares.checked_mul(outer).and_then(|blocks| u32::try_from(blocks).ok());
        let blocks = blocks.filter(|&blocks| blocks < 1 << 31).ok_or(Error::TooLarge)?;
        if u32::try_from(width.max(height)).is_err() {
            return Err(Error::TooLarge);
        }

        let mut text = Text::default();
        let Some(buffer) = all[0].buffer else { return Err(Error::TooLarge) };
        text.target(0, buffer, all[0].item, all[0].start);
        for (number, operand) in all.iter().enumerate().skip(1) {
            text.source(number, operand);
        }
        text.constants(body, "k");
        text.number("u32", "width", width as i64);
        text.number("u32", "height", height as i64);
        text.divisor("columns", columns);
        let mut code = String::new();
        for array in 0..all.len() {
            let _ = writeln!(code, "  i64 b{array} = 0;");
        }
        code += "  u32 block = blockIdx.x;\n";
        if !others.is_empty() {
            text.divisor("squares", squares);
            code += "  const u32 outer = divide(block, msquares, hsquares);\n  block -= outer * nsquares;\n";
            let sizes: Vec<usize> = others.iter().map(|&level| nest.sizes()[level]).collect();
            let bases: Vec<(String, Vec<isize>)> =
                (0..all.len()).map(|array| (format!("b{array}"), strides(array, &others))).collect();
            code += &decompose(&mut text, "d", "outer", &sizes, &bases);
        }
        let _ = writeln!(
            code,
            "  const u32 row = divide(block, mcolumns, hcolumns), first_y = row * {side}, \
             first_x = (block - row * ncolumns) * {side};"
        );
        // Vectors of each thread.
        let number = tile.number_type();
        let per_thread = (side * side / lanes).div_ceil(THREADS);
        let each = format!(
            "#pragma unroll\n  for (int n = 0; n < {per_thread}; n++) {{\n  \
             const u32 i = threadIdx.x + n * {THREADS}, x = i % {vectors} * {lanes}, y = i / {vectors};\n  \
             const {number} e = first_x + x;\n  if (y < {side} && e < width && first_y + y < height) {{\n",
            vectors = side / lanes,
        );
        let count = (!width.is_multiple_of(lanes)).then_some("count");
        let counted = match count {
            Some(_) => format!("  const int count = width - e < {lanes} ? (int)(width - e) : {lanes};\n"),
            None => String::new(),
        };
        // What is read along x: before all others, since nothing waits for it here.
        let is_direct = |array: usize| !self.arrays.contains(&array);
        let mut rows = String::new();
        for array in (0..all.len()).filter(|&array| is_direct(array)) {
            text.number("i64", &format!("sy{array}"), along_y(array) as i64);
            let _ = writeln!(rows, "  const i64 line{array} = b{array} + (i64)(first_y + y) * sy{array};");
        }
        let offsets = tile.offsets(&mut text, "e");
        let read: Vec<usize> =
            (1..all.len()).filter(|&array| is_direct(array) && all[array].buffer.is_some()).collect();
        let is_one = |array: usize| matches!(tile.arrays[array].class, Class::Uniform | Class::Repeat);
        let vector = |array: usize| {
            let raw = raw_type(all[array].item);
            if is_one(array) { raw.to_owned() } else { format!("Vec<{raw}, {lanes}>") }
        };
        for &array in &read {
            let _ = writeln!(code, "  {} z{array}[{per_thread}];", vector(array));
        }
        code += &each;
        code += &(counted.clone() + &rows + &offsets);
        for &array in &read {
            code += &tile.load(array, &format!("p{array} + line{array}"), "e", count);
            let _ = writeln!(code, "  z{array}[n] = x{array};");
        }
        code += "  } }\n";
        for &array in &self.arrays {
            let raw = raw_type(all[array].item);
            text.number("i64", &format!("sx{array}"), along_x(array) as i64);
            text.number("i64", &format!("sy{array}"), along_y(array) as i64);
            // Vectors along y, where all of them are aligned and whole.
            let others = strides(array, &others).into_iter().chain([along_x(array)]).collect::<Vec<_>>();
            let is_whole = height.is_multiple_of(lanes) && along_y(array) == 1;
            let own = if is_whole && all[array].is_aligned(lanes, &others) { lanes } else { 1 };
            let _ = writeln!(
                code,
                "  __shared__ {raw} s{array}[{side}][{pitch}];\n#pragma unroll\n  \
                 for (int n = 0; n < {times}; n++) {{\n    const u32 i = threadIdx.x + n * {THREADS}, \
                 x = i / {vectors}, y = i % {vectors} * {own};\n    \
                 if (x < {side} && first_x + x < width && first_y + y < height) {{\n      \
                 const Vec<{raw}, {own}> v = load<{own}>(p{array} + b{array} + \
                 (i64)(first_x + x) * sx{array} + (i64)(first_y + y) * sy{array});\n#pragma unroll\n      \
                 for (int l = 0; l < {own}; l++) s{array}[x][y + l] = v.e[l];\n    }}\n  }}",
                pitch = side + 1,
                times = (side * side / own).div_ceil(THREADS),
                vectors = side / own,
            );
        }
        code += "  __syncthreads();\n";
        code += &each;
        code += &(counted + &rows + &offsets);
        for &array in &read {
            let _ = writeln!(code, "  const {} x{array} = z{array}[n];", vector(array));
        }
        let (statements, results) = body.statements(
            |operand| match is_direct(operand + 1) {
                true => tile.lane(operand + 1, &format!("p{0} + line{0}", operand + 1), "e"),
                false => format!("s{}[x + l][y]", operand + 1),
            },
            |constant| format!("k{constant}"),
        );
        let raw = raw_type(all[0].item);
        let _ = writeln!(
            code,
            "  Vec<{raw}, {lanes}> r;\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n{statements}      \
             r.e[l] = as<{raw}>({});\n  }}",
            results[0].value
        );
        code += &tile.store(0, "o0 + line0", "e", count, (Store::Cached, "r"));
        code += "  } }\n";
        let mut needs = body.needs();
        needs.threads = true;
        Ok(text.launch(needs, &code, blocks, THREADS as u32))
    }
}
