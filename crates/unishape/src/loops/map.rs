//! A function of the elements of several arrays, called for each index of their common shape.

use super::copy::reserve;
use super::each::Operands;
use super::layout::set_row_major;
use super::past;
use super::plan::Plan;
use super::walk::{Base, Place, Read};
use crate::error::Error;
use crate::operand::{CommonDim, Operand};
use crate::shapes::common_dim;
use ndarray::{Array, ArrayRef, Dimension};
use smallvec::SmallVec;
use unishape_core::{Rules, broadcast_strides};

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
/// assert!(error.to_string().starts_with("cannot broadcast 3 to 2x1"));
/// # Ok::<(), unishape::Error>(())
/// ```
///
/// No input can share memory with the output: `&mut` says so, and the compiler refuses what does not
/// comply. To change an array where it is, see [`for_each`](crate::for_each()).
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

/// What becomes of what was in the output before.
pub(crate) trait Put {
    /// Whether the output's memory was there before. Fresh memory is slower to write past the cache.
    const WAS_THERE: bool;

    /// # Safety
    ///
    /// `place` can be written to, and holds a value if this one drops it.
    unsafe fn put<R>(place: *mut R, value: R);
}

/// Nothing was there.
pub(crate) struct Fresh;

impl Put for Fresh {
    const WAS_THERE: bool = false;

    #[inline(always)]
    unsafe fn put<R>(place: *mut R, value: R) {
        // Safety: the caller vouches for the place.
        unsafe { place.write(value) }
    }
}

/// It is dropped.
struct Over;

impl Put for Over {
    const WAS_THERE: bool = true;

    #[inline(always)]
    unsafe fn put<R>(place: *mut R, value: R) {
        // Safety: the caller vouches for the place and what is in it.
        unsafe { *place = value }
    }
}

/// A tuple of arrays that a function is called with, once it is known where its results go.
trait Work<F, R> {
    /// # Safety
    ///
    /// The plan's first operand is the output, whose places can be written to as `P` does and nobody else
    /// has to do with; its others are these arrays, in their order.
    unsafe fn work<P: Put>(&self, plan: Plan, out: *mut R, function: &F);
}

/// An array that is read.
#[inline]
fn read<A, D: Dimension>(array: &ArrayRef<A, D>) -> Base<Read<A>> {
    Base(array.as_ptr().cast_mut())
}

/// Strides of operands, one after another.
pub(super) type Strides = SmallVec<[isize; 24]>;

/// Adds the strides of an array stretched to a shape.
#[inline]
pub(super) fn add_strides<A, D: Dimension>(
    strides: &mut Strides,
    array: &ArrayRef<A, D>,
    shape: &[usize],
) -> Result<(), Error> {
    let at = strides.len();
    strides.resize(at + shape.len(), 0);
    broadcast_strides(Rules::STANDARD, array.shape(), array.strides(), shape, &mut strides[at..])
        .map_err(|error| Error::not_broadcastable(array.shape(), shape, error))
}

/// The plan for so many operands of these strides.
#[inline]
pub(super) fn plan_of(shape: &[usize], operands: usize, strides: &Strides) -> Plan {
    Plan::new(shape, operands, |operand, dim| strides[operand * shape.len() + dim])
}

/// A tuple of this length.
macro_rules! mapping {
    ($operands:literal: $($T:ident $x:ident)+) => {
        impl<$($T: Operand,)+ F, R> Work<F, R> for ($($T,)+)
        where
            F: Fn($(&$T::Elem),+) -> R + Sync,
            $($T::Elem: Sync,)+
            R: Send,
        {
            unsafe fn work<P: Put>(&self, plan: Plan, out: *mut R, function: &F) {
                let ($($x,)+) = self;
                let operands = (Base::<Place<R>>(out), $(read($x.as_array()),)+);
                let function = |out: *mut R, $($x: &$T::Elem),+| {
                    // Safety: the caller vouches for each place of the output.
                    unsafe { P::put(out, function($($x),+)) }
                };
                // Safety: the caller vouches for the plan. Where it pays, there is nothing to drop.
                unsafe {
                    if P::WAS_THERE && past::pays(out, plan.len()) {
                        operands.run_all_past(&function, plan);
                    } else {
                        operands.run_all(&function, plan);
                    }
                }
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
                let dim = common_dim!(Rules::STANDARD, Self::Dim: $($x.as_array().shape()),+);
                let shape = dim.slice();
                let mut elements: Vec<R> = reserve(shape)?;
                let mut strides = Strides::from_elem(0, shape.len());
                set_row_major(&mut strides, shape);
                $(add_strides(&mut strides, $x.as_array(), shape)?;)+
                let plan = plan_of(shape, $operands, &strides);
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
                let mut strides = Strides::from_slice(out.strides());
                $(add_strides(&mut strides, $x.as_array(), out.shape())?;)+
                let plan = plan_of(out.shape(), $operands, &strides);
                // Safety: the output holds elements that nobody else has to do with, as `&mut` says; the
                // inputs are stretched to the same shape.
                unsafe { self.work::<Over>(plan, out.as_mut_ptr(), &function) };
                Ok(())
            }
        }
    };
}
mapping!(2: A a);
mapping!(3: A a B b);
mapping!(4: A a B b C c);
mapping!(5: A a B b C c D d);
mapping!(6: A a B b C c D d E e);
mapping!(7: A a B b C c D d E e G g);
mapping!(8: A a B b C c D d E e G g H h);
mapping!(9: A a B b C c D d E e G g H h I i);
