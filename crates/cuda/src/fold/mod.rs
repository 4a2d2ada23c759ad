//! Kernels of reductions.
//!
//! | module | kernels |
//! |---|---|
//! | `reduction` | what they have in common |
//! | `rows` | several threads fold one result each: what they read is contiguous along reduced loops |
//! | `columns` | a thread folds several neighbouring results: what it reads is contiguous along kept loops, or is so small that it stays in a cache, as in sums over all pairs |
//! | `narrow` | threads read all of an array with short rows, whose columns are folded |
//! | `squares` | a thread folds a square of results in registers: reductions over pairs of rows, such as distances |
//!
//! Where there are few results, loops are split: the first pass folds parts of them, the second folds the results of
//! the first. How is decided by shapes and strides only, so that sums have the same bits in each run on each device.

mod columns;
mod narrow;
mod reduction;
mod rows;
mod squares;

use crate::body::Body;
use crate::error::Error;
use crate::launch::{Buffer, Launch};
use crate::operand::Operand;
use reduction::{FoldLoops, SecondPass};
use unishape_engine::nest::LoopNest;

/// Most results of a launch: fewer than indices of 32 bits can tell apart.
const MAX_RESULTS: usize = 1 << 30;

/// A multiple of the elements of each vector.
const VECTORS: usize = 16;

/// The kernels that fold a program's results along some loops, and their arguments.
///
/// Where there are too many results for one launch, the longest kept loop is split.
pub(crate) fn fold(
    sizes: &[usize],
    is_reduced: &[bool],
    operands: &[Operand],
    outputs: &[Operand],
    body: &Body,
    allocate: &mut dyn FnMut(usize) -> Buffer,
) -> Result<Vec<Launch>, Error> {
    let kept = || (0..sizes.len()).filter(|&dim| !is_reduced[dim]);
    let results = kept().try_fold(1usize, |all, dim| all.checked_mul(sizes[dim])).ok_or(Error::TooLarge)?;
    let Some(longest) = kept().max_by_key(|&dim| sizes[dim]).filter(|_| results > MAX_RESULTS) else {
        return fold_part(sizes, is_reduced, operands, outputs, body, allocate);
    };
    let length = MAX_RESULTS / (results / sizes[longest]);
    // Parts that start at vectors.
    let length = if length > VECTORS { length / VECTORS * VECTORS } else { length };
    if length == 0 {
        return Err(Error::TooLarge);
    }
    let mut launches = Vec::new();
    for first in (0..sizes[longest]).step_by(length) {
        let mut part = sizes.to_vec();
        part[longest] = length.min(sizes[longest] - first);
        let moved = |operand: &Operand| {
            let start = operand.start + first as isize * operand.strides[longest];
            Operand { start, ..operand.clone() }
        };
        let [operands, outputs] = [operands, outputs].map(|all| all.iter().map(moved).collect::<Vec<_>>());
        launches.extend(fold_part(&part, is_reduced, &operands, &outputs, body, allocate)?);
    }
    Ok(launches)
}

/// The kernels of a part of the results.
fn fold_part(
    sizes: &[usize],
    is_reduced: &[bool],
    operands: &[Operand],
    outputs: &[Operand],
    body: &Body,
    allocate: &mut dyn FnMut(usize) -> Buffer,
) -> Result<Vec<Launch>, Error> {
    let dims = |reduced: bool| (0..sizes.len()).filter(move |&dim| is_reduced[dim] == reduced);
    let (kept_dims, reduced_dims): (Vec<usize>, Vec<usize>) = (dims(false).collect(), dims(true).collect());
    let shape = |dims: &[usize]| dims.iter().map(|&dim| sizes[dim]).collect::<Vec<usize>>();
    let all: Vec<&Operand> = outputs.iter().chain(operands).collect();
    let kept = LoopNest::new(&shape(&kept_dims), all.len(), |array, dim| all[array].strides[kept_dims[dim]]);
    let reduced = LoopNest::new(&shape(&reduced_dims), operands.len(), |array, dim| {
        operands[array].strides[reduced_dims[dim]]
    });
    let moved = |operand: &Operand, start: isize| Operand { start: operand.start + start, ..operand.clone() };
    let starts = kept.starts();
    let outputs: Vec<Operand> =
        outputs.iter().zip(starts).map(|(output, &start)| moved(output, start)).collect();
    let starts = starts[outputs.len()..].iter().zip(reduced.starts());
    let inputs = operands.iter().zip(starts).map(|(input, (&a, &b))| moved(input, a + b)).collect();
    let fold = FoldLoops { kept, reduced, inputs, outputs, body };
    if let Some(squares) = squares::Squares::find(&fold) {
        return Ok(vec![squares.launch(&fold)?]);
    }
    let (launch, second) = match narrow::Narrow::find(&fold) {
        Some(narrow) => narrow.launch(&fold, allocate)?,
        None if fold.has_columns() => columns::columns(&fold, allocate)?,
        None => rows::rows(&fold, allocate)?,
    };
    let mut launches = vec![launch];
    if let Some(SecondPass { sizes, reduced, inputs, outputs, body }) = second {
        let is_reduced: Vec<bool> = (0..sizes.len()).map(|dim| dim == reduced).collect();
        launches.extend(self::fold(&sizes, &is_reduced, &inputs, &outputs, &body, allocate)?);
    }
    Ok(launches)
}
