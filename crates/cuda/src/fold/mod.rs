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

/// The kernels that fold a program's results along some loops, and their arguments.
pub(crate) fn fold(
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
