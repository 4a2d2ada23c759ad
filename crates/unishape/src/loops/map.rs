//! A function of the elements of several arrays, called for each index of their common shape.

use super::copy::reserve;
use super::layout::set_row_major;
use super::pieces::in_pieces;
use super::plan::{Block, Plan};
use super::walk::{Along, In, Out, Same, Steps, Walk};
use crate::error::Error;
use crate::operand::{CommonDim, Operand};
use crate::shapes::{Quick, why};
use ndarray::{Array, ArrayRef, Dimension};
use smallvec::SmallVec;
use std::marker::PhantomData;
use unishape_core::{Rules, broadcast_strides};
use unishape_elements::{Job, at_full_width};

/// Calls a function for each index of the arrays' common shape with one element of each, and gives the
/// array of its results.
///
/// Nothing is stretched in memory: an element that stands for many is handed to the function many times.
/// The function may be called in any order, and on several threads where that pays.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::map;
///
/// let (a, b, c) = (arr2(&[[1.0], [2.0]]), arr1(&[10.0, 20.0, 30.0]), arr1(&[0.5]));
/// let result = map((&a, &b, &c), |a, b, c| a * b + c)?;
/// assert_eq!(result, arr2(&[[10.5, 20.5, 30.5], [20.5, 40.5, 60.5]]));
///
/// // Any types, each array its own.
/// let (names, times) = (arr1(&["ha".to_string(), "ho".to_string()]), arr1(&[3usize]));
/// assert_eq!(map((&names, &times), |name, &n| name.repeat(n))?, arr1(&["hahaha", "hohoho"]));
/// # Ok::<(), unishape::Error>(())
/// ```
#[inline]
pub fn map<I: Mapping<F>, F>(inputs: I, function: F) -> Result<Array<I::Result, I::Dim>, Error> {
    inputs.map(function)
}

/// The same into an array that is there already, whose shape the inputs are stretched to.
///
/// ```
/// use ndarray::{Array2, arr1, arr2};
/// use unishape::map_into;
///
/// let (a, b) = (arr2(&[[1], [2]]), arr1(&[10, 20, 30]));
/// let mut sums = Array2::zeros((2, 3));
/// map_into(&mut sums, (&a, &b), |a, b| a + b)?;
/// assert_eq!(sums, arr2(&[[11, 21, 31], [12, 22, 32]]));
///
/// let mut small = Array2::zeros((2, 1));
/// let error = map_into(&mut small, (&a, &b), |a, b| a + b).unwrap_err();
/// assert!(error.to_string().starts_with("cannot stretch 3 to 2x1"));
/// # Ok::<(), unishape::Error>(())
/// ```
#[inline]
pub fn map_into<I: Mapping<F>, F, D: Dimension>(
    out: &mut ArrayRef<I::Result, D>,
    inputs: I,
    function: F,
) -> Result<(), Error> {
    inputs.map_into(out, function)
}

/// What [`map`] takes: a tuple of one to eight arrays, each with its own element type and rank, and a
/// function of as many references.
///
/// ```
/// use ndarray::arr1;
/// use unishape::Mapping;
///
/// let doubled = (&arr1(&[1, 2]),).map(|x: &i32| 2 * x)?;
/// assert_eq!(doubled, arr1(&[2, 4]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Mapping<F> {
    /// What the function gives.
    type Result;
    /// The largest rank among the arrays.
    type Dim: Dimension;

    /// See [`map`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::Mapping;
    ///
    /// assert_eq!((&arr1(&[1, 2]),).map(|x: &i32| x + 1)?, arr1(&[2, 3]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    fn map(self, function: F) -> Result<Array<Self::Result, Self::Dim>, Error>;

    /// See [`map_into`].
    ///
    /// ```
    /// use ndarray::arr1;
    /// use unishape::Mapping;
    ///
    /// let mut out = arr1(&[0, 0]);
    /// (&arr1(&[1, 2]),).map_into(&mut out, |x: &i32| x + 1)?;
    /// assert_eq!(out, arr1(&[2, 3]));
    /// # Ok::<(), unishape::Error>(())
    /// ```
    fn map_into<D: Dimension>(self, out: &mut ArrayRef<Self::Result, D>, function: F) -> Result<(), Error>;
}

/// One way through each input, and the function that takes an element of each.
trait Lanes<F>: Copy {
    type Result;

    /// # Safety
    ///
    /// As for [`Walk::at`], in each of them.
    unsafe fn call(self, function: &F, i: usize) -> Self::Result;

    /// The lanes of row number `row`, where the output is operand 0.
    ///
    /// # Safety
    ///
    /// As for [`Walk::from`], in each of them.
    unsafe fn row(self, row: usize, steps: &[isize]) -> Self;
}

/// What becomes of what was in the output before.
pub(crate) trait Put {
    /// # Safety
    ///
    /// `place` can be written to, and holds a value if this one drops it.
    unsafe fn put<R>(place: *mut R, value: R);
}

/// Nothing was there.
pub(crate) struct Fresh;

impl Put for Fresh {
    #[inline(always)]
    unsafe fn put<R>(place: *mut R, value: R) {
        // Safety: the caller vouches for the place.
        unsafe { place.write(value) }
    }
}

/// It is dropped.
struct Over;

impl Put for Over {
    #[inline(always)]
    unsafe fn put<R>(place: *mut R, value: R) {
        // Safety: the caller vouches for the place and what is in it.
        unsafe { *place = value }
    }
}

/// The work of one block, with the ways through it picked.
struct Rows<'b, P, F, L: Lanes<F>, const N: usize> {
    function: &'b F,
    lanes: L,
    out: *mut L::Result,
    block: &'b Block<N>,
    put: PhantomData<P>,
}

impl<P: Put, F, L: Lanes<F>, const N: usize> Rows<'_, P, F, L, N> {
    /// Rows of `len` elements, those of the output `step` apart. These are the block's own, given once more
    /// so that a caller who knows them lets the compiler know.
    ///
    /// # Safety
    ///
    /// All elements of the block are there, and nobody else has to do with those of the output.
    #[inline(always)]
    unsafe fn run(&self, len: usize, step: isize) {
        for row in 0..self.block.rows {
            // Safety: row and i are below the numbers of the block.
            unsafe {
                let lanes = self.lanes.row(row, &self.block.row_steps);
                let out = self.out.offset(row as isize * self.block.row_steps[0]);
                for i in 0..len {
                    P::put(out.offset(i as isize * step), lanes.call(self.function, i));
                }
            }
        }
    }

    /// Any rows at all, short ones without a loop inside the loop.
    ///
    /// # Safety
    ///
    /// As for [`run`](Rows::run).
    #[inline]
    unsafe fn run_any(&self) {
        let step = self.block.steps[0];
        // Safety: the caller vouches for the block.
        unsafe {
            match self.block.len {
                2 => self.run(2, step),
                3 => self.run(3, step),
                4 => self.run(4, step),
                5 => self.run(5, step),
                6 => self.run(6, step),
                7 => self.run(7, step),
                8 => self.run(8, step),
                len => self.run(len, step),
            }
        }
    }
}

/// Rows of neighbours, for [`at_full_width`].
impl<P: Put, F, L: Lanes<F>, const N: usize> Job for Rows<'_, P, F, L, N> {
    #[inline(always)]
    fn run(self) {
        // Safety: who made the job vouches for the block.
        unsafe { Rows::run(&self, self.block.len, 1) }
    }
}

/// Rows shorter than this gain nothing from wide vectors.
const LONG: usize = 16;

/// Strides of operands, one after another.
type Strides = SmallVec<[isize; 24]>;

/// Adds the strides of an array stretched to a shape.
#[inline]
fn add_strides<A, D: Dimension>(
    strides: &mut Strides,
    array: &ArrayRef<A, D>,
    shape: &[usize],
) -> Result<(), Error> {
    let at = strides.len();
    strides.resize(at + shape.len(), 0);
    broadcast_strides(Rules::STANDARD, array.shape(), array.strides(), shape, &mut strides[at..])
        .map_err(|error| Error::cannot_stretch(array.shape(), shape, error))
}

/// Pointers to the inputs, each to its element at index 0, and a function of such elements.
pub(crate) trait Pointers<F, const N: usize>: Copy {
    type Result;

    /// Calls the function for each element of a block and puts what it gives into the output.
    ///
    /// # Safety
    ///
    /// All elements of the block are there: `out` is the block's operand 0 and the inputs are the others,
    /// in their order. Those of the output can be written to as `P` does, and nobody else has to do with
    /// them meanwhile.
    unsafe fn run<P: Put>(self, out: *mut Self::Result, function: &F, block: &Block<N>);
}

/// A tuple of arrays that a function is called with, once it is known where its results go.
trait Work<F, R> {
    /// # Safety
    ///
    /// The plan's first operand is the output, of which each place is walked once and can be written to as
    /// `P` does; its others are these arrays, in their order.
    unsafe fn work<P: Put>(&self, plan: Plan, out: *mut R, function: &F);
}

/// Picks the way through each input by its step, which is 1 or 0.
macro_rules! pick {
    (@ ($($picked:expr,)*) [] $steps:ident, $lanes:ident => $run:expr) => {{
        let $lanes = ($($picked,)*);
        $run
    }};
    (@ ($($picked:expr,)*) [$x:ident $n:tt $($rest:tt)*] $steps:ident, $lanes:ident => $run:expr) => {
        if $steps[$n] == 1 {
            pick!(@ ($($picked,)* Along($x),) [$($rest)*] $steps, $lanes => $run)
        } else {
            pick!(@ ($($picked,)* Same($x),) [$($rest)*] $steps, $lanes => $run)
        }
    };
}

/// A tuple of this length. Each combination of ways is compiled by itself for up to three arrays; beyond
/// that, only the one in which all inputs are neighbours.
macro_rules! mapping {
    ($operands:literal, $few:literal: $($T:ident $x:ident $n:tt $W:ident)+) => {
        impl<$($W: Walk,)+ F, R> Lanes<F> for ($($W,)+)
        where
            F: Fn($(&$W::Item),+) -> R,
        {
            type Result = R;

            #[inline(always)]
            unsafe fn call(self, function: &F, i: usize) -> R {
                let ($($x,)+) = self;
                // Safety: the caller vouches for the elements.
                unsafe { function($($x.at(i)),+) }
            }

            #[inline(always)]
            unsafe fn row(self, row: usize, steps: &[isize]) -> Self {
                let ($($x,)+) = self;
                // Safety: the caller vouches for the places.
                unsafe { ($($x.from(row as isize * steps[$n]),)+) }
            }
        }

        impl<$($T,)+ F, R> Pointers<F, $operands> for ($(*const $T,)+)
        where
            F: Fn($(&$T),+) -> R,
        {
            type Result = R;

            #[inline]
            unsafe fn run<P: Put>(self, out: *mut R, function: &F, block: &Block<$operands>) {
                let ($($x,)+) = self;
                let steps = &block.steps;
                // Safety: the caller vouches for the elements.
                unsafe {
                    let out = out.offset(block.starts[0]);
                    $(let $x = $x.offset(block.starts[$n]);)+
                    let put = PhantomData::<P>;
                    let neighbours = steps[0] == 1 && block.len >= LONG;
                    if $few && neighbours && $(matches!(steps[$n], 0 | 1))&&+ {
                        pick!(@ () [$($x $n)+] steps, lanes =>
                            at_full_width(Rows { function, lanes, out, block, put }))
                    } else if neighbours && $(steps[$n] == 1)&&+ {
                        let lanes = ($(Along($x),)+);
                        at_full_width(Rows { function, lanes, out, block, put });
                    } else {
                        let lanes = ($(Steps($x, steps[$n]),)+);
                        Rows { function, lanes, out, block, put }.run_any();
                    }
                }
            }
        }

        impl<$($T: Operand,)+ F, R> Work<F, R> for ($($T,)+)
        where
            F: Fn($(&$T::Elem),+) -> R + Sync,
            $($T::Elem: Sync,)+
            R: Send,
        {
            unsafe fn work<P: Put>(&self, plan: Plan, out: *mut R, function: &F) {
                let ($($x,)+) = self;
                let (out, inputs) = (Out(out), ($(In($x.as_array().as_ptr()),)+));
                let bytes = size_of::<R>()$( + size_of::<$T::Elem>())+;
                in_pieces(plan, bytes, &|piece| {
                    let (out, ($($x,)+)) = (&out, &inputs);
                    piece.blocks::<$operands>(|block| {
                        // Safety: the plan stays within the arrays, and the caller vouches for it.
                        unsafe { ($($x.0,)+).run::<P>(out.0, function, block) }
                    });
                });
            }
        }

        impl<$($T: Operand,)+ F, R> Mapping<F> for ($($T,)+)
        where
            ($($T::Dim,)+): CommonDim,
            F: Fn($(&$T::Elem),+) -> R + Sync,
            $($T::Elem: Sync,)+
            R: Send,
        {
            type Result = R;
            type Dim = <($($T::Dim,)+) as CommonDim>::Dim;

            #[inline]
            fn map(self, function: F) -> Result<Array<R, Self::Dim>, Error> {
                let ($($x,)+) = &self;
                let rank = 0usize$(.max($x.as_array().ndim()))+;
                let mut dim = Self::Dim::zeros(rank);
                let mut common = Quick::new(Rules::STANDARD, dim.slice_mut());
                $(common.push($x.as_array().shape());)+
                if common.failed() {
                    return Err(why(Rules::STANDARD, &[$($x.as_array().shape()),+]));
                }
                let shape = dim.slice();
                let mut elements: Vec<R> = reserve(shape)?;
                let mut strides = Strides::from_elem(0, rank);
                set_row_major(&mut strides, shape);
                $(add_strides(&mut strides, $x.as_array(), shape)?;)+
                let plan = Plan::new(shape, $operands, |operand, dim| strides[operand * rank + dim]);
                let count = plan.len();
                // Safety: room for `count` results in row-major order has been reserved, and nothing is
                // there yet; the inputs are stretched to the same shape.
                unsafe { self.work::<Fresh>(plan, elements.as_mut_ptr(), &function) };
                // Safety: each of them has been written.
                unsafe { elements.set_len(count) };
                Array::from_shape_vec(dim.clone(), elements).map_err(|_| Error::too_large(dim.slice(), None))
            }

            #[inline]
            fn map_into<Out: Dimension>(self, out: &mut ArrayRef<R, Out>, function: F) -> Result<(), Error> {
                let ($($x,)+) = &self;
                let rank = out.ndim();
                let mut strides = Strides::from_slice(out.strides());
                $(add_strides(&mut strides, $x.as_array(), out.shape())?;)+
                let plan = Plan::new(out.shape(), $operands, |operand, dim| strides[operand * rank + dim]);
                // Safety: the output holds elements, each at one index only, that nobody else has to do
                // with, as `&mut` says; the inputs are stretched to the same shape.
                unsafe { self.work::<Over>(plan, out.as_mut_ptr(), &function) };
                Ok(())
            }
        }
    };
}
mapping!(2, true: A a 1 V1);
mapping!(3, true: A a 1 V1 B b 2 V2);
mapping!(4, true: A a 1 V1 B b 2 V2 C c 3 V3);
mapping!(5, false: A a 1 V1 B b 2 V2 C c 3 V3 D d 4 V4);
mapping!(6, false: A a 1 V1 B b 2 V2 C c 3 V3 D d 4 V4 E e 5 V5);
mapping!(7, false: A a 1 V1 B b 2 V2 C c 3 V3 D d 4 V4 E e 5 V5 G g 6 V6);
mapping!(8, false: A a 1 V1 B b 2 V2 C c 3 V3 D d 4 V4 E e 5 V5 G g 6 V6 H h 7 V7);
mapping!(9, false: A a 1 V1 B b 2 V2 C c 3 V3 D d 4 V4 E e 5 V5 G g 6 V6 H h 7 V7 I i 8 V8);
