//! Entry points: closures over tuples of operands.

use super::access::{Access, Assign, ElementRef, Read, ReadAccess, WriteUninit};
use super::execute::ClosureJob;
use super::flow::{Fallible, FirstError, Flow};
use super::operand::Operand;
use crate::layout::set_row_major;
use crate::memory::{AllocError, reserve};
use smallvec::SmallVec;
use std::mem::needs_drop;
use std::ops::ControlFlow;

/// A tuple of operands, and a closure that gets an element of each.
pub trait ForEach<F> {
    /// What the closure returns.
    type Output;

    /// Calls the closure for every index, in any order.
    ///
    /// Several threads share large work.
    ///
    /// # Panics
    ///
    /// Where the operands differ in shape, or the closure panics. The remaining chunks are not started then.
    fn for_each(self, closure: &F)
    where
        Self::Output: Flow;

    /// The same until the closure returns an error; other threads stop soon after it.
    ///
    /// # Errors
    ///
    /// The first error of the closure.
    ///
    /// # Panics
    ///
    /// As [`for_each`](ForEach::for_each).
    fn try_for_each<E: Send>(self, closure: &F) -> Result<(), E>
    where
        Self::Output: Fallible<(), E>;
}

/// A tuple of operands that are read, and a closure of an element of each.
pub trait Map<F> {
    /// What the closure returns.
    type Output;

    /// Calls the closure for every index and returns its results in row-major order.
    ///
    /// # Errors
    ///
    /// [`AllocError`] where there is no memory for the results.
    ///
    /// # Panics
    ///
    /// Where the operands differ in shape, or the closure panics. Results so far are dropped then.
    fn map(self, closure: &F) -> Result<Vec<Self::Output>, AllocError>;

    /// The same until the closure returns an error; results so far are dropped then.
    ///
    /// # Errors
    ///
    /// [`AllocError`] where there is no memory for the results; inside, the first error of the closure.
    ///
    /// # Panics
    ///
    /// As [`map`](Map::map).
    fn try_map<T: Send, E: Send>(self, closure: &F) -> Result<Result<Vec<T>, E>, AllocError>
    where
        Self::Output: Fallible<T, E>;

    /// Calls the closure for every index and assigns its results to an output.
    ///
    /// Large outputs are written with non-temporal stores.
    ///
    /// # Panics
    ///
    /// Where the operands differ in shape, or the closure panics. Some of the output is assigned then.
    fn map_into(self, output: Operand<'_, Assign<Self::Output>>, closure: &F);
}

/// Strides of a row-major array.
type Strides = SmallVec<[isize; 8]>;

fn row_major(shape: &[usize]) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    set_row_major(&mut strides, shape);
    strides
}

/// Number of elements of a shape.
fn checked_len(shape: &[usize]) -> Result<usize, AllocError> {
    let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
    // A size of 0 after an overflow: there are no elements.
    let count = count.or_else(|| shape.contains(&0).then_some(0));
    count.ok_or(AllocError { bytes: usize::MAX })
}

macro_rules! for_each {
    ($($K:ident $x:ident)+) => {
        impl<$($K: Access,)+ F, O> ForEach<F> for ($(Operand<'_, $K>,)+)
        where
            F: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> O + Sync,
            $(for<'o> Operand<'o, $K>: Sync,)+
        {
            type Output = O;

            #[inline]
            fn for_each(self, closure: &F)
            where
                O: Flow,
            {
                let ($($x,)+) = &self;
                ClosureJob::new::<($($K,)+), F>(closure, [$($x.erased()),+]).run();
            }

            fn try_for_each<Er: Send>(self, closure: &F) -> Result<(), Er>
            where
                O: Fallible<(), Er>,
            {
                let ($($x,)+) = &self;
                let first_error = FirstError::new();
                let call = for_each!(@closure $($K)+; |$($x),+| match closure($($x),+).into_result() {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => first_error.set(error),
                });
                ClosureJob::new::<($($K,)+), _>(&call, [$($x.erased()),+]).run();
                first_error.into_result()
            }
        }
    };
    // A closure of elements, whatever lifetimes they have.
    (@closure $($K:ident)+; $closure:expr) => {{
        fn of_elements<$($K: Access,)+ Call, O>(closure: Call) -> Call
        where
            Call: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> O + Sync,
        {
            closure
        }
        of_elements::<$($K,)+ _, _>($closure)
    }};
}
for_each!(A a);
for_each!(A a B b);
for_each!(A a B b C c);
for_each!(A a B b C c D d);
for_each!(A a B b C c D d E e);
for_each!(A a B b C c D d E e G g);
for_each!(A a B b C c D d E e G g H h);
for_each!(A a B b C c D d E e G g H h I i);

macro_rules! map {
    ($($K:ident $x:ident)+) => {
        impl<$($K: ReadAccess<Elem: Sync>,)+ F, R: Send> Map<F> for ($(Operand<'_, $K>,)+)
        where
            F: for<'x> Fn($(<$K as ElementRef<'x>>::Item),+) -> R + Sync,
        {
            type Output = R;

            #[inline]
            fn map(self, closure: &F) -> Result<Vec<R>, AllocError> {
                let ($($x,)+) = &self;
                let shape = self.0.shape();
                let strides = row_major(shape);
                let count = checked_len(shape)?;
                let mut results: Vec<R> = reserve(count)?;
                let first = results.as_mut_ptr();
                // Safety: there is capacity for a row-major array of this shape, which nothing else accesses.
                let output = unsafe { Operand::<WriteUninit<R>>::new(first, shape, &strides) };
                let write = map!(@closure R, $($K)+; |output: *mut R, $($x),+| {
                    // Safety: the operand's elements are writable.
                    unsafe { output.write(closure($($x),+)) }
                });
                let job = ClosureJob::new::<(WriteUninit<R>, $($K,)+), _>(&write, [output.erased(), $($x.erased()),+]);
                job.dropping_output_on_panic::<R>().run();
                // Safety: every one of them has been written.
                unsafe { results.set_len(count) };
                Ok(results)
            }

            fn try_map<T: Send, Er: Send>(self, closure: &F) -> Result<Result<Vec<T>, Er>, AllocError>
            where
                R: Fallible<T, Er>,
            {
                let ($($x,)+) = &self;
                let shape = self.0.shape();
                let strides = row_major(shape);
                let count = checked_len(shape)?;
                let mut results: Vec<T> = reserve(count)?;
                let first = results.as_mut_ptr();
                // Safety: there is capacity for a row-major array of this shape, which nothing else accesses.
                let output = unsafe { Operand::<WriteUninit<T>>::new(first, shape, &strides) };
                let first_error = FirstError::new();
                let write = map!(@closure T, $($K)+; |output: *mut T, $($x),+| {
                    match closure($($x),+).into_result() {
                        Ok(value) => {
                            // Safety: the operand's elements are writable.
                            unsafe { output.write(value) };
                            ControlFlow::Continue(())
                        }
                        Err(error) => first_error.set(error),
                    }
                });
                let job =
                    ClosureJob::new::<(WriteUninit<T>, $($K,)+), _>(&write, [output.erased(), $($x.erased()),+]);
                job.dropping_output_on_panic::<T>().run();
                Ok(first_error.into_result().map(|()| {
                    // Safety: no call has failed, so every one of them has been written.
                    unsafe { results.set_len(count) };
                    results
                }))
            }

            #[inline]
            fn map_into(self, output: Operand<'_, Assign<R>>, closure: &F) {
                let ($($x,)+) = &self;
                let write = map!(@closure R, $($K)+; |output: *mut R, $($x),+| {
                    let result = closure($($x),+);
                    // Safety: the operand's elements are writable; they are initialised, but for the staging
                    // buffer of a streamed output, which has no elements to drop.
                    unsafe {
                        if needs_drop::<R>() { *output = result } else { output.write(result) }
                    }
                });
                let job = ClosureJob::new::<(Assign<R>, $($K,)+), _>(&write, [output.erased(), $($x.erased()),+]);
                job.run_streaming::<R>();
            }
        }
    };
    // A closure of the output and elements, whatever lifetimes they have.
    (@closure $R:ty, $($K:ident)+; $closure:expr) => {{
        fn of_elements<R, $($K: Access,)+ Call, O>(closure: Call) -> Call
        where
            Call: for<'x> Fn(*mut R, $(<$K as ElementRef<'x>>::Item),+) -> O,
        {
            closure
        }
        of_elements::<$R, $($K,)+ _, _>($closure)
    }};
}
map!(A a);
map!(A a B b);
map!(A a B b C c);
map!(A a B b C c D d);
map!(A a B b C c D d E e);
map!(A a B b C c D d E e G g);
map!(A a B b C c D d E e G g H h);
map!(A a B b C c D d E e G g H h I i);

/// Clones the elements of an operand into row-major order, on the calling thread.
///
/// # Errors
///
/// [`AllocError`] where there is no memory for them.
pub fn clone_elements<T: Clone>(input: &Operand<'_, Read<T>>) -> Result<Vec<T>, AllocError> {
    let strides = row_major(input.shape());
    let count = checked_len(input.shape())?;
    let mut clones: Vec<T> = reserve(count)?;
    // Safety: there is capacity for a row-major array of this shape, which nothing else accesses.
    let output = unsafe { Operand::<WriteUninit<T>>::new(clones.as_mut_ptr(), input.shape(), &strides) };
    let clone = |output: *mut T, element: &T| {
        // Safety: the operand's elements are writable.
        unsafe { output.write(element.clone()) }
    };
    let job = ClosureJob::new::<(WriteUninit<T>, Read<T>), _>(&clone, [output.erased(), input.erased()]);
    job.dropping_output_on_panic::<T>().run_on_caller();
    // Safety: every one of them has been written.
    unsafe { clones.set_len(count) };
    Ok(clones)
}
