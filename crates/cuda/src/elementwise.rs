//! Kernels of element-wise stages.
//!
//! Inner loops form a tile, whose elements threads compute in vectors of 16 bytes. Outer loops are blocks of the grid,
//! so that their indices are found once for a block and not for each thread.

use crate::access::{Class, Store, Tile};
use crate::body::Body;
use crate::error::Error;
use crate::launch::Launch;
use crate::operand::Operand;
use crate::row_table::RowTable;
use crate::text::{Text, decompose};
use crate::transpose::Transposed;
use crate::types::raw_type;
use std::fmt::Write;
use unishape_engine::nest::LoopNest;

/// Threads of a block.
const THREADS: usize = 256;

/// Bytes of a vector.
const VECTOR: usize = 16;

/// Elements of a tile, in multiples of what a block computes at a time, from which on other loops are outer ones. With
/// fewer, most of a block's threads could be idle.
const MIN_TILE_BLOCKS: usize = 2;

/// Number of loops from which on indices take long to find. Then each thread computes several vectors, so that the
/// indices of one are found while the elements of another are on their way.
const DEEP: usize = 4;

/// Vectors of a thread, where there are many loops.
const VECTORS_IF_DEEP: usize = 8;

/// The kernel that computes a program for every index, and its arguments.
pub(crate) fn elementwise(
    sizes: &[usize],
    operands: &[Operand],
    output: &Operand,
    body: &Body,
) -> Result<Launch, Error> {
    let all: Vec<&Operand> = std::iter::once(output).chain(operands).collect();
    let nest = LoopNest::new(sizes, all.len(), |operand, dim| all[operand].strides[dim]);
    let mut all: Vec<Operand> = all.into_iter().cloned().collect();
    for (operand, &start) in all.iter_mut().zip(nest.starts()) {
        operand.start += start;
    }
    let depth = nest.depth();
    let strides = |operand: usize, levels: std::ops::Range<usize>| -> Vec<isize> {
        levels.map(|level| nest.level(level).1[operand]).collect()
    };
    let largest = all.iter().map(|operand| operand.item).max().unwrap_or(1);
    let is_contiguous = nest.level(depth - 1).1[0] == 1;
    let full = if is_contiguous { (VECTOR / largest).max(1) } else { 1 };

    if let Some(transposed) = Transposed::find(&nest, &all) {
        return transposed.launch(&nest, &all, full, body);
    }

    // The innermost loops that are the tile, for vectors of this many elements.
    let elements =
        |first: usize| nest.sizes()[first..].iter().fold(1usize, |all, &size| all.saturating_mul(size));
    let make = |lanes: usize| {
        let per_block = THREADS * lanes * if depth >= DEEP { VECTORS_IF_DEEP } else { 1 };
        let is_enough = |first: &usize| {
            let elements = elements(*first);
            elements >= MIN_TILE_BLOCKS * per_block && elements.is_multiple_of(lanes)
        };
        let first = (0..depth).rev().find(is_enough).unwrap_or(0);
        let arrays = all.iter().enumerate();
        let arrays = arrays
            .map(|(number, operand)| (operand, strides(number, first..depth), strides(number, 0..first)));
        (first, Tile::new("a", &nest.sizes()[first..], lanes, arrays))
    };
    let has_lanes = |tile: &Tile| tile.arrays.iter().any(|array| array.class == Class::Lanes);
    let (mut first, mut tile) = make(full);
    let mut lanes = full;
    if has_lanes(&tile) {
        // Shorter vectors that rows are multiples of, rather than an index for each element.
        let shorter = 1 << nest.sizes()[depth - 1].trailing_zeros().min(full.trailing_zeros());
        let (other_first, other) = make(shorter);
        if shorter > 1 && !has_lanes(&other) {
            (lanes, first, tile) = (shorter, other_first, other);
        }
    }
    // Where indices are found for each thread, or only the result is large.
    let is_by_index = |class: Class| matches!(class, Class::Row | Class::Repeat | Class::Lanes);
    let is_stretched =
        |operand: usize| (0..depth).any(|level| nest.level(level).1[operand] == 0 && nest.sizes()[level] > 1);
    let is_all_stretched = (1..all.len()).all(is_stretched);
    let stored = if is_all_stretched { Store::Streaming } else { Store::Cached };
    if is_contiguous
        && (tile.arrays.iter().any(|array| is_by_index(array.class)) || is_all_stretched)
        && let Some(table) = RowTable::find(&nest, &all, full)
    {
        return table.launch(&nest, &all, body, stored);
    }
    let tile_elements = elements(first);
    let per_thread = if depth >= DEEP { VECTORS_IF_DEEP } else { 1 };
    let tiles = tile_elements.div_ceil(THREADS * lanes * per_thread);
    let outer: usize = nest.sizes()[..first].iter().product();
    let blocks = u32::try_from(tiles.saturating_mul(outer)).ok().filter(|&blocks| blocks < 1 << 31);
    let blocks = blocks.ok_or(Error::TooLarge)?;

    let mut text = Text::default();
    let Some(buffer) = output.buffer else { return Err(Error::TooLarge) };
    text.target(0, buffer, output.item, all[0].start);
    for (number, operand) in all.iter().enumerate().skip(1) {
        text.source(number, operand);
    }
    text.constants(body, "k");
    let number = tile.number_type();
    text.number(number, "size", tile_elements as i64);

    let mut code = String::new();
    let bases: Vec<(String, Vec<isize>)> =
        (0..all.len()).map(|operand| (format!("b{operand}"), strides(operand, 0..first))).collect();
    for (base, _) in &bases {
        let _ = writeln!(code, "  i64 {base} = 0;");
    }
    let block = if first == 0 {
        "blockIdx.x"
    } else {
        text.divisor("tiles", tiles);
        code +=
            "  const u32 outer = divide(blockIdx.x, mtiles, htiles), block = blockIdx.x - outer * ntiles;\n";
        code += &decompose(&mut text, "d", "outer", &nest.sizes()[..first], &bases);
        "block"
    };
    let count = (!tile_elements.is_multiple_of(lanes)).then_some("count");
    let mut each = format!(
        "#pragma unroll\n  for (int n = 0; n < {per_thread}; n++) {{\n  \
         const {number} e = ((({number}){block} * {per_thread} + n) * {THREADS} + threadIdx.x) * {lanes};\n  \
         if (e < size) {{\n"
    );
    if count.is_some() {
        let _ = writeln!(each, "  const int count = size - e < {lanes} ? (int)(size - e) : {lanes};");
    }
    each += &tile.offsets(&mut text, "e");
    let is_one = |operand: usize| matches!(tile.arrays[operand].class, Class::Uniform | Class::Repeat);
    let read: Vec<usize> = (1..all.len()).filter(|&operand| all[operand].buffer.is_some()).collect();
    let vector = |operand: usize| {
        let raw = raw_type(all[operand].item);
        if is_one(operand) { raw.to_owned() } else { format!("Vec<{raw}, {lanes}>") }
    };
    // All vectors are read before the first one is needed.
    for &operand in &read {
        let _ = writeln!(code, "  {} z{operand}[{per_thread}];", vector(operand));
    }
    code += &each;
    for &operand in &read {
        code += &tile.load(operand, &format!("p{operand} + b{operand}"), "e", count);
        let _ = writeln!(code, "  z{operand}[n] = x{operand};");
    }
    code += "  } }\n";
    code += &each;
    for &operand in &read {
        let _ = writeln!(code, "  const {} x{operand} = z{operand}[n];", vector(operand));
    }
    let (statements, results) = body.statements(
        |operand| tile.lane(operand + 1, &format!("p{0} + b{0}", operand + 1), "e"),
        |constant| format!("k{constant}"),
    );
    let raw = raw_type(output.item);
    let _ = writeln!(
        code,
        "  Vec<{raw}, {lanes}> y;\n#pragma unroll\n  for (int l = 0; l < {lanes}; l++) {{\n{statements}      \
         y.e[l] = as<{raw}>({});\n  }}",
        results[0].value
    );
    code += &tile.store(0, "o0 + b0", "e", count, (stored, "y"));
    code += "  } }\n";
    Ok(text.launch(body.needs(), &code, blocks, THREADS as u32))
}
