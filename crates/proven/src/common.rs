//! The programs of core_common.mlw, for both kinds of sizes.

use crate::{ExtentRecord, Rules, int32, length, natural};
use std::ffi::c_int;
use std::fmt;
use unishape_core::{Extent, FoldError, Mismatch, Size};

/// A kind of sizes that there are programs for.
pub trait Proven: Size {
    /// The same size, as the programs have it.
    type Record: Copy + fmt::Debug + From<Self> + Into<Self>;

    /// The programs.
    const PROGRAMS: Programs<Self::Record>;
}

/// What a program reads and writes of a fold.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommonRecord<C> {
    sizes: *mut C,
    from: *mut usize,
    room: i32,
    rank: i32,
    inputs: usize,
}

/// The answer of `push`: a kind and what goes with it.
#[repr(C)]
#[derive(Debug)]
pub struct PushResult<C> {
    kind: i32,
    x: i32,
    y: i32,
    p: usize,
    q: usize,
    ours: C,
    theirs: C,
}

/// The answer of `finish`.
#[repr(C)]
#[derive(Debug)]
pub struct FinishResult {
    kind: i32,
    least: usize,
}

/// The programs of module `CommonUsize` or of module `CommonExtent`: the same ones with sizes of another
/// type, and in C therefore other functions. Their names are those of the programs.
#[derive(Debug)]
#[expect(missing_docs)]
pub struct Programs<C> {
    pub padded_dim: unsafe extern "C" fn(*const C, i32, i32, i32) -> C,
    pub new: unsafe extern "C" fn(*mut C, i32, *mut usize, i32) -> CommonRecord<C>,
    pub resume: unsafe extern "C" fn(*mut C, i32, *mut usize, i32, i32, usize) -> CommonRecord<C>,
    pub push: unsafe extern "C" fn(Rules, *mut CommonRecord<C>, *const C, i32) -> PushResult<C>,
    pub shape: unsafe extern "C" fn(*mut CommonRecord<C>) -> *mut C,
    pub from_inputs: unsafe extern "C" fn(*mut CommonRecord<C>) -> *mut usize,
    pub inputs_so_far: unsafe extern "C" fn(*mut CommonRecord<C>) -> usize,
    pub finish: unsafe extern "C" fn(Rules, *mut CommonRecord<C>) -> FinishResult,
    pub join_shape: unsafe extern "C" fn(Rules, *mut C, i32, *const C, i32) -> c_int,
}

/// Declares the functions of one module, under the names that build.rs gives them, and puts them together.
macro_rules! programs {
    ($size:ty, $record:ty, $padded_dim:ident, $new:ident, $resume:ident, $push:ident, $shape:ident,
     $from_inputs:ident, $inputs_so_far:ident, $finish:ident, $join_shape:ident) => {
        unsafe extern "C" {
            fn $padded_dim(shape: *const $record, len: i32, rank: i32, dim: i32) -> $record;
            fn $new(s: *mut $record, s_len: i32, f: *mut usize, f_len: i32) -> CommonRecord<$record>;
            fn $resume(
                sizes: *mut $record,
                sizes_len: i32,
                from: *mut usize,
                from_len: i32,
                rank: i32,
                inputs: usize,
            ) -> CommonRecord<$record>;
            fn $push(
                rules: Rules,
                c: *mut CommonRecord<$record>,
                shape: *const $record,
                len: i32,
            ) -> PushResult<$record>;
            fn $shape(c: *mut CommonRecord<$record>) -> *mut $record;
            fn $from_inputs(c: *mut CommonRecord<$record>) -> *mut usize;
            fn $inputs_so_far(c: *mut CommonRecord<$record>) -> usize;
            fn $finish(rules: Rules, c: *mut CommonRecord<$record>) -> FinishResult;
            fn $join_shape(
                rules: Rules,
                sizes: *mut $record,
                rank: i32,
                shape: *const $record,
                len: i32,
            ) -> c_int;
        }

        impl Proven for $size {
            type Record = $record;

            const PROGRAMS: Programs<$record> = Programs {
                padded_dim: $padded_dim,
                new: $new,
                resume: $resume,
                push: $push,
                shape: $shape,
                from_inputs: $from_inputs,
                inputs_so_far: $inputs_so_far,
                finish: $finish,
                join_shape: $join_shape,
            };
        }
    };
}

programs!(
    usize,
    usize,
    common_usize_padded_dim,
    common_usize_new,
    common_usize_resume,
    common_usize_push,
    common_usize_shape,
    common_usize_from_inputs,
    common_usize_inputs_so_far,
    common_usize_finish,
    common_usize_join_shape
);
programs!(
    Extent,
    ExtentRecord,
    common_extent_padded_dim,
    common_extent_new,
    common_extent_resume,
    common_extent_push,
    common_extent_shape,
    common_extent_from_inputs,
    common_extent_inputs_so_far,
    common_extent_finish,
    common_extent_join_shape
);

fn records<S: Proven>(sizes: &[S]) -> Vec<S::Record> {
    sizes.iter().map(|&size| S::Record::from(size)).collect()
}

fn sizes<S: Proven>(records: &[S::Record]) -> Vec<S> {
    records.iter().map(|&record| record.into()).collect()
}

/// `Common`. It has its buffers in itself, for the programs' sizes may be other ones than Rust's.
#[derive(Debug)]
pub struct Common<S: Proven> {
    rules: Rules,
    sizes: Vec<S::Record>,
    from: Vec<usize>,
    /// Points into the two above, which keep their length.
    record: CommonRecord<S::Record>,
}

impl<S: Proven> Common<S> {
    /// `Common::new`, in copies of these buffers.
    pub fn new(rules: Rules, sizes: &[S], from: &[usize]) -> Common<S> {
        let (mut sizes, mut from) = (records(sizes), from.to_vec());
        let (s, f) = (sizes.as_mut_ptr(), from.as_mut_ptr());
        // Safety: the pointers come with the lengths, and the program fills no more.
        let record = unsafe { (S::PROGRAMS.new)(s, length(&sizes), f, length(&from)) };
        Common { rules, sizes, from, record }
    }

    /// `Common::resume`, in copies of these buffers.
    pub fn resume(rules: Rules, sizes: &[S], from: &[usize], rank: usize, inputs: usize) -> Common<S> {
        let (mut sizes, mut from) = (records(sizes), from.to_vec());
        let (s, f) = (sizes.as_mut_ptr(), from.as_mut_ptr());
        // Safety: the pointers come with the lengths; the program moves them on within these.
        let record =
            unsafe { (S::PROGRAMS.resume)(s, length(&sizes), f, length(&from), int32(rank), inputs) };
        Common { rules, sizes, from, record }
    }

    /// `Common::push`.
    pub fn push(&mut self, shape: &[S]) -> Result<(), FoldError<S>> {
        let shape = records(shape);
        // Safety: the record is as `new` or `resume` made it or `push` left it, and its buffers are alive;
        // the shape comes with its length.
        let answer =
            unsafe { (S::PROGRAMS.push)(self.rules, &raw mut self.record, shape.as_ptr(), length(&shape)) };
        let PushResult { kind, x, y, p, q, ours, theirs } = answer;
        match kind {
            0 => Ok(()),
            1 => Err(FoldError::Mismatch(Mismatch {
                dim: natural(x),
                rank: natural(y),
                inputs: [p, q],
                sizes: [ours.into(), theirs.into()],
            })),
            2 => Err(FoldError::UnequalRank { first: natural(x), input: p, rank: natural(y) }),
            4 => Err(FoldError::TooManyInputs { limit: p }),
            5 => Err(FoldError::NoRoom { rank: natural(x), room: natural(y) }),
            _ => panic!("push has no answer of kind {kind}"),
        }
    }

    /// `Common::shape`.
    pub fn shape(&mut self) -> Vec<S> {
        // Safety: `rank` sizes from there on are within the buffer, which nobody writes to meanwhile.
        let records = unsafe {
            let start = (S::PROGRAMS.shape)(&raw mut self.record);
            std::slice::from_raw_parts(start, natural(self.record.rank))
        };
        sizes(records)
    }

    /// `Common::from`.
    pub fn from(&mut self) -> Vec<usize> {
        // Safety: as above.
        let from = unsafe {
            let start = (S::PROGRAMS.from_inputs)(&raw mut self.record);
            std::slice::from_raw_parts(start, natural(self.record.rank))
        };
        from.to_vec()
    }

    /// `Common::inputs`.
    pub fn inputs(&mut self) -> usize {
        // Safety: the program reads a field of the record.
        unsafe { (S::PROGRAMS.inputs_so_far)(&raw mut self.record) }
    }

    /// `Common::finish`, which leaves this here for the buffers to be looked at.
    pub fn finish(&mut self) -> Result<Vec<S>, FoldError<S>> {
        // Safety: the program reads a field of the record.
        let FinishResult { kind, least } = unsafe { (S::PROGRAMS.finish)(self.rules, &raw mut self.record) };
        match kind {
            0 => Ok(self.shape()),
            3 => Err(FoldError::TooFewInputs { least }),
            _ => panic!("finish has no answer of kind {kind}"),
        }
    }

    /// The whole of both buffers, as the programs left them.
    pub fn buffers(&self) -> (Vec<S>, Vec<usize>) {
        (sizes(&self.sizes), self.from.clone())
    }
}

/// `padded_dim`, as the fold has it.
pub fn padded_dim<S: Proven>(shape: &[S], rank: usize, dim: usize) -> S {
    let shape = records(shape);
    // Safety: the program reads one size of the shape, or none.
    unsafe { (S::PROGRAMS.padded_dim)(shape.as_ptr(), length(&shape), int32(rank), int32(dim)) }.into()
}

/// `join_shape`.
pub fn join_shape<S: Proven>(rules: Rules, common: &mut [S], shape: &[S]) -> bool {
    let (mut joined, shape) = (records(common), records(shape));
    let (rank, len) = (length(&joined), length(&shape));
    // Safety: both pointers come with their lengths.
    let ok = unsafe { (S::PROGRAMS.join_shape)(rules, joined.as_mut_ptr(), rank, shape.as_ptr(), len) };
    common.copy_from_slice(&sizes(&joined));
    ok != 0
}
