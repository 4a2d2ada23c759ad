//! Bindings to the programs of core_common.mlw, for both types of sizes.

use crate::int32::{int32, length, non_negative};
use crate::{ExtentRecord, Rules};
use std::ffi::c_int;
use std::fmt;
use unishape_core::{Extent, FoldError, Mismatch, Size};

/// A type of sizes that the programs are extracted for.
pub trait Proven: Size {
    /// The C representation of a size.
    type Record: Copy + fmt::Debug + From<Self> + Into<Self>;

    /// The extracted programs.
    const PROGRAMS: Programs<Self::Record>;
}

/// The C representation of a fold.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommonRecord<C> {
    sizes: *mut C,
    from: *mut usize,
    capacity: i32,
    from_capacity: i32,
    rank: i32,
    inputs: usize,
}

/// The result of `push`: a kind of result or error, and its fields.
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

/// The C representation of a fold without owners.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FastRecord<C> {
    sizes: *mut C,
    rank: i32,
    inputs: usize,
    fits: c_int,
}

/// The result of `finish`.
#[repr(C)]
#[derive(Debug)]
pub struct FinishResult {
    kind: i32,
    least: usize,
    skip: i32,
}

/// The C functions of the module `CommonUsize` or `CommonExtent`.
///
/// Why3 extracts the same programs once for each type of sizes. The fields have the programs' names.
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
    pub fast_new: unsafe extern "C" fn(*mut C, i32) -> FastRecord<C>,
    pub fast_push: unsafe extern "C" fn(Rules, *mut FastRecord<C>, *const C, i32),
    pub fast_inputs_so_far: unsafe extern "C" fn(*mut FastRecord<C>) -> usize,
    pub fast_finish: unsafe extern "C" fn(Rules, *mut FastRecord<C>) -> c_int,
}

/// Declares the C functions of one module and implements [`Proven`] with them.
macro_rules! programs {
    ($size:ty, $record:ty, $padded_dim:ident, $new:ident, $resume:ident, $push:ident, $shape:ident,
     $from_inputs:ident, $inputs_so_far:ident, $finish:ident, $join_shape:ident, $fast_new:ident, $fast_push:ident,
     $fast_inputs_so_far:ident, $fast_finish:ident) => {
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
            fn $fast_new(sizes: *mut $record, rank: i32) -> FastRecord<$record>;
            fn $fast_push(rules: Rules, c: *mut FastRecord<$record>, shape: *const $record, len: i32);
            fn $fast_inputs_so_far(c: *mut FastRecord<$record>) -> usize;
            fn $fast_finish(rules: Rules, c: *mut FastRecord<$record>) -> c_int;
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
                fast_new: $fast_new,
                fast_push: $fast_push,
                fast_inputs_so_far: $fast_inputs_so_far,
                fast_finish: $fast_finish,
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
    common_usize_join_shape,
    common_usize_fast_new,
    common_usize_fast_push,
    common_usize_fast_inputs_so_far,
    common_usize_fast_finish
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
    common_extent_join_shape,
    common_extent_fast_new,
    common_extent_fast_push,
    common_extent_fast_inputs_so_far,
    common_extent_fast_finish
);

fn records<S: Proven>(sizes: &[S]) -> Vec<S::Record> {
    sizes.iter().map(|&size| S::Record::from(size)).collect()
}

fn sizes<S: Proven>(records: &[S::Record]) -> Vec<S> {
    records.iter().map(|&record| record.into()).collect()
}

/// `Common`, with buffers of its own.
///
/// The C representation of sizes can differ from Rust's.
#[derive(Debug)]
pub struct Common<S: Proven> {
    rules: Rules,
    sizes: Vec<S::Record>,
    from: Vec<usize>,
    /// Points into `sizes` and `from`, which are never resized.
    record: CommonRecord<S::Record>,
}

impl<S: Proven> Common<S> {
    /// `Common::new`, in copies of these buffers.
    pub fn new(rules: Rules, sizes: &[S], from: &[usize]) -> Common<S> {
        let (mut sizes, mut from) = (records(sizes), from.to_vec());
        let (s, f) = (sizes.as_mut_ptr(), from.as_mut_ptr());
        // Safety: each pointer is passed with its buffer's length, and the program writes within it.
        let record = unsafe { (S::PROGRAMS.new)(s, length(&sizes), f, length(&from)) };
        Common { rules, sizes, from, record }
    }

    /// `Common::resume`, in copies of these buffers.
    pub fn resume(rules: Rules, sizes: &[S], from: &[usize], rank: usize, inputs: usize) -> Common<S> {
        let (mut sizes, mut from) = (records(sizes), from.to_vec());
        let (s, f) = (sizes.as_mut_ptr(), from.as_mut_ptr());
        // Safety: each pointer is passed with its buffer's length; the program advances it within the buffer.
        let record =
            unsafe { (S::PROGRAMS.resume)(s, length(&sizes), f, length(&from), int32(rank), inputs) };
        Common { rules, sizes, from, record }
    }

    /// `Common::push`.
    pub fn push(&mut self, shape: &[S]) -> Result<(), FoldError<S>> {
        let shape = records(shape);
        // Safety: `new`, `resume` or `push` wrote the record, and `self` owns its buffers; the shape's pointer
        // is passed with its length.
        let result =
            unsafe { (S::PROGRAMS.push)(self.rules, &raw mut self.record, shape.as_ptr(), length(&shape)) };
        let PushResult { kind, x, y, p, q, ours, theirs } = result;
        match kind {
            0 => Ok(()),
            1 => Err(FoldError::Mismatch(Mismatch {
                dim: non_negative(x),
                rank: non_negative(y),
                inputs: [p, q],
                sizes: [ours.into(), theirs.into()],
            })),
            2 => Err(FoldError::UnequalRank { first: non_negative(x), input: p, rank: non_negative(y) }),
            4 => Err(FoldError::TooManyInputs { limit: p }),
            5 => Err(FoldError::BufferTooSmall { rank: non_negative(x), capacity: non_negative(y) }),
            _ => panic!("push has no result of kind {kind}"),
        }
    }

    /// `Common::shape`.
    pub fn shape(&mut self) -> Vec<S> {
        // Safety: the program returns a pointer to the last `rank` sizes of the buffer; `&mut self` prevents
        // writes to it while the slice exists.
        let records = unsafe {
            let start = (S::PROGRAMS.shape)(&raw mut self.record);
            std::slice::from_raw_parts(start, non_negative(self.record.rank))
        };
        sizes(records)
    }

    /// `Common::from`.
    pub fn from(&mut self) -> Vec<usize> {
        // Safety: as for `shape`.
        let from = unsafe {
            let start = (S::PROGRAMS.from_inputs)(&raw mut self.record);
            std::slice::from_raw_parts(start, non_negative(self.record.rank))
        };
        from.to_vec()
    }

    /// `Common::inputs`.
    pub fn inputs(&mut self) -> usize {
        // Safety: the program only reads a field of the record.
        unsafe { (S::PROGRAMS.inputs_so_far)(&raw mut self.record) }
    }

    /// `Common::finish`, without consuming the buffers.
    pub fn finish(&mut self) -> Result<Vec<S>, FoldError<S>> {
        // Safety: the program only reads fields of the record.
        let result = unsafe { (S::PROGRAMS.finish)(self.rules, &raw mut self.record) };
        let FinishResult { kind, least, skip } = result;
        match kind {
            0 => {
                // Safety: the record's pointer is to `capacity` sizes of the buffer, which `self` owns.
                let all = unsafe {
                    std::slice::from_raw_parts(self.record.sizes, non_negative(self.record.capacity))
                };
                Ok(sizes(&all[non_negative(skip)..]))
            }
            3 => Err(FoldError::TooFewInputs { least }),
            _ => panic!("finish has no result of kind {kind}"),
        }
    }

    /// Copies of both buffers.
    pub fn buffers(&self) -> (Vec<S>, Vec<usize>) {
        (sizes(&self.sizes), self.from.clone())
    }
}

/// `FastCommon`, with a buffer of its own.
#[derive(Debug)]
pub struct FastCommon<S: Proven> {
    rules: Rules,
    sizes: Vec<S::Record>,
    /// Points into `sizes`, which is never resized.
    record: FastRecord<S::Record>,
}

impl<S: Proven> FastCommon<S> {
    /// `FastCommon::new`, in a copy of this buffer.
    pub fn new(rules: Rules, sizes: &[S]) -> FastCommon<S> {
        let mut sizes = records(sizes);
        let start = sizes.as_mut_ptr();
        // Safety: the pointer is passed with its buffer's length.
        let record = unsafe { (S::PROGRAMS.fast_new)(start, length(&sizes)) };
        FastCommon { rules, sizes, record }
    }

    /// `FastCommon::push`.
    pub fn push(&mut self, shape: &[S]) {
        let shape = records(shape);
        // Safety: `new` or `push` wrote the record, and `self` owns its buffer; the shape's pointer is passed with
        // its length.
        unsafe {
            (S::PROGRAMS.fast_push)(self.rules, &raw mut self.record, shape.as_ptr(), length(&shape));
        }
    }

    /// `FastCommon::inputs`.
    pub fn inputs(&mut self) -> usize {
        // Safety: the program only reads a field of the record.
        unsafe { (S::PROGRAMS.fast_inputs_so_far)(&raw mut self.record) }
    }

    /// `FastCommon::finish`, and the contents of the buffer.
    pub fn finish(mut self) -> (bool, Vec<S>) {
        // Safety: the program only reads fields of the record.
        let found = unsafe { (S::PROGRAMS.fast_finish)(self.rules, &raw mut self.record) };
        (found != 0, sizes(&self.sizes))
    }
}

/// `padded_dim`: the program of core_common.mlw, for all types of sizes.
pub fn padded_dim<S: Proven>(shape: &[S], rank: usize, dim: usize) -> S {
    let shape = records(shape);
    // Safety: the pointer is passed with the shape's length, and the program reads at most one size.
    unsafe { (S::PROGRAMS.padded_dim)(shape.as_ptr(), length(&shape), int32(rank), int32(dim)) }.into()
}

/// `join_shape`.
pub fn join_shape<S: Proven>(rules: Rules, common: &mut [S], shape: &[S]) -> bool {
    let (mut joined, shape) = (records(common), records(shape));
    let (rank, len) = (length(&joined), length(&shape));
    // Safety: each pointer is passed with its buffer's length.
    let ok = unsafe { (S::PROGRAMS.join_shape)(rules, joined.as_mut_ptr(), rank, shape.as_ptr(), len) };
    common.copy_from_slice(&sizes(&joined));
    ok != 0
}
