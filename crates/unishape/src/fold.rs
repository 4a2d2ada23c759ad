//! Folds of [`reduce`](crate::reduce()): what is computed of many items.
//!
//! | fold | of items | result of no items |
//! |---|---|---|
//! | [`Sum`], [`Product`] | numbers | 0, 1 |
//! | [`Mean`] | floats | NaN |
//! | [`Min`], [`Max`] | anything ordered | an error |
//! | [`Any`], [`All`] | `bool` | `false`, `true` |
//! | a closure `\|acc: &mut T, item: T\|` | `T` | an error |
//! | your own [`Fold`] | anything | as you define it |

use num_traits::{Float, One, Zero};
use unishape_engine::reduce::Accumulate;

/// Combines many items into one result.
///
/// Items are folded into accumulators in several places at once, and accumulators are merged. Neither the order nor
/// the grouping is specified, so `merge` must be associative and commutative, up to rounding errors:
///
/// - `merge(a, b)` and `merge(b, a)` are the same, and so are `merge(merge(a, b), c)` and `merge(a, merge(b, c))`;
/// - `fold(a, item)` is the same as `merge(a, start(item))`.
///
/// For arrays of the same shape, strides and element types, order and grouping are the same on any number of threads;
/// so are the results, to the last bit. Loops over accumulators of at most 32 bytes become SIMD code where
/// `start`, `fold` and `merge` are simple; mark them `#[inline]`.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Fold, reduce};
///
/// /// Mean and variance, merged by Chan's formula.
/// struct MeanVar;
///
/// struct Moments {
///     count: f64,
///     mean: f64,
///     squares: f64,
/// }
///
/// impl Fold<f64> for MeanVar {
///     type Acc = Moments;
///     type Output = (f64, f64);
///
///     fn start(&self, item: f64) -> Moments {
///         Moments { count: 1.0, mean: item, squares: 0.0 }
///     }
///
///     fn merge(&self, acc: &mut Moments, other: Moments) {
///         let (count, delta) = (acc.count + other.count, other.mean - acc.mean);
///         acc.mean += delta * other.count / count;
///         acc.squares += other.squares + delta * delta * acc.count * other.count / count;
///         acc.count = count;
///     }
///
///     fn finish(&self, acc: Moments, count: usize) -> (f64, f64) {
///         (acc.mean, acc.squares / count as f64)
///     }
/// }
///
/// let a = arr2(&[[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]]);
/// assert_eq!(reduce((&a,), Axis(1), |x| *x, MeanVar)?, arr1(&[(2.0, 2.0 / 3.0), (5.0, 0.0)]));
///
/// // The smallest value and where it is: items are pairs of a value and an index.
/// let index = arr1(&[0, 1, 2]);
/// let first_smallest = |acc: &mut (f64, i32), item: (f64, i32)| {
///     if item < *acc {
///         *acc = item;
///     }
/// };
/// let smallest = reduce((&a, &index), Axis(1), |&x, &i| (x, i), first_smallest)?;
/// assert_eq!(smallest, arr1(&[(1.0, 0), (5.0, 0)]));
/// # Ok::<(), unishape::Error>(())
/// ```
pub trait Fold<T> {
    /// What items are folded into.
    type Acc;
    /// What an accumulator becomes in the end.
    type Output;

    /// The accumulator of one item.
    ///
    /// ```
    /// use unishape::fold::{Fold, Sum};
    ///
    /// assert_eq!(Sum.start(3), 3);
    /// ```
    fn start(&self, item: T) -> Self::Acc;

    /// Adds an item to an accumulator.
    ///
    /// By default, merges the accumulator of that item.
    ///
    /// ```
    /// use unishape::fold::{Fold, Sum};
    ///
    /// let mut sum = 3;
    /// Sum.fold(&mut sum, 4);
    /// assert_eq!(sum, 7);
    /// ```
    #[inline(always)]
    fn fold(&self, acc: &mut Self::Acc, item: T) {
        self.merge(acc, self.start(item));
    }

    /// Adds the items of another accumulator.
    ///
    /// ```
    /// use unishape::fold::{Fold, Max};
    ///
    /// let mut largest = 3;
    /// Fold::<i32>::merge(&Max, &mut largest, 4);
    /// assert_eq!(largest, 4);
    /// ```
    fn merge(&self, acc: &mut Self::Acc, other: Self::Acc);

    /// The accumulator of no items.
    ///
    /// By default there is none, and a reduction of no items is an error.
    ///
    /// ```
    /// use unishape::fold::{Fold, Max, Sum};
    ///
    /// assert_eq!((Fold::<i32>::empty(&Sum), Fold::<i32>::empty(&Max)), (Some(0), None));
    /// ```
    fn empty(&self) -> Option<Self::Acc> {
        None
    }

    /// The result for an accumulator of `count` items.
    ///
    /// ```
    /// use unishape::fold::{Fold, Mean};
    ///
    /// assert_eq!(Fold::<f32>::finish(&Mean, 6.0, 4), 1.5);
    /// ```
    fn finish(&self, acc: Self::Acc, count: usize) -> Self::Output;
}

/// A closure that adds an item to an accumulator, or an accumulator to another: both are of type `T`.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::reduce;
///
/// fn gcd(a: u32, b: u32) -> u32 {
///     if b == 0 { a } else { gcd(b, a % b) }
/// }
///
/// let a = arr2(&[[12, 18, 30], [7, 21, 35]]);
/// let divisors = reduce((&a,), Axis(1), |x| *x, |acc: &mut u32, x: u32| *acc = gcd(*acc, x))?;
/// assert_eq!(divisors, arr1(&[6, 7]));
/// # Ok::<(), unishape::Error>(())
/// ```
impl<T, F: Fn(&mut T, T)> Fold<T> for F {
    type Acc = T;
    type Output = T;

    #[inline(always)]
    fn start(&self, item: T) -> T {
        item
    }

    #[inline(always)]
    fn merge(&self, acc: &mut T, other: T) {
        self(acc, other);
    }

    #[inline(always)]
    fn finish(&self, acc: T, _: usize) -> T {
        acc
    }
}

/// Implements a fold whose accumulators are items.
macro_rules! fold {
    (
        $Fold:ident<$T:ident> where $($bound:ty: $Bound:path),+;
        |$acc:ident, $other:ident| $merge:expr;
        empty: $empty:expr;
        |$sum:ident, $count:ident| $finish:expr
    ) => {
        impl<$T> Fold<$T> for $Fold
        where
            $($bound: $Bound),+
        {
            type Acc = $T;
            type Output = $T;

            #[inline(always)]
            fn start(&self, item: $T) -> $T {
                item
            }

            #[inline(always)]
            fn merge(&self, $acc: &mut $T, $other: $T) {
                $merge
            }

            fn empty(&self) -> Option<$T> {
                $empty
            }

            #[inline(always)]
            fn finish(&self, $sum: $T, $count: usize) -> $T {
                $finish
            }
        }
    };
}

/// The sum, with the items' own `+`.
///
/// Integers overflow with a panic in debug builds and wrap in release builds. Rounding errors of floats grow
/// with the logarithm of the number of items; for even smaller ones return `f64::from(x)` from the function.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Sum, reduce};
///
/// let (a, weights) = (arr2(&[[1.0, 2.0], [3.0, 4.0]]), arr1(&[10.0, 1.0]));
/// assert_eq!(reduce((&a, &weights), Axis(1), |a, w| a * w, Sum)?, arr1(&[12.0, 34.0]));
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum;

fold! {
    Sum<T> where T: Zero;
    |acc, other| *acc = std::mem::replace(acc, T::zero()) + other;
    empty: Some(T::zero());
    |acc, _count| acc
}

/// The product, with the items' own `*`.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Product, reduce};
///
/// assert_eq!(reduce((&arr2(&[[1, 2], [3, 4]]),), Axis(0), |x| *x, Product)?, arr1(&[3, 8]));
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Product;

fold! {
    Product<T> where T: One;
    |acc, other| *acc = std::mem::replace(acc, T::one()) * other;
    empty: Some(T::one());
    |acc, _count| acc
}

/// The mean of floats: [`Sum`] divided by the number of items. NaN of no items.
///
/// ```
/// use ndarray::arr2;
/// use unishape::{fold::Mean, reduce};
///
/// let (a, b) = (arr2(&[[1.0, 2.0]]), arr2(&[[0.0], [1.0]]));
/// assert_eq!(reduce((&a, &b), .., |a, b| a - b, Mean)?.into_scalar(), 1.0);
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean;

fold! {
    Mean<T> where T: Float;
    |acc, other| *acc = *acc + other;
    empty: Some(T::zero());
    |acc, count| acc / <T as num_traits::NumCast>::from(count).unwrap_or_else(T::nan)
}

/// The smallest item; NaN where there is one.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Min, reduce};
///
/// let a = arr2(&[[3.0, -1.0], [f32::NAN, 1.0]]);
/// let smallest = reduce((&a,), Axis(1), |x| *x, Min)?;
/// assert!(smallest[0] == -1.0 && smallest[1].is_nan());
/// let names = arr1(&["Oslo".to_string(), "Bern".to_string()]);
/// assert_eq!(reduce((&names,), .., |name| name.clone(), Min)?.into_scalar(), "Bern");
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Min;

fold! {
    Min<T> where T: PartialOrd;
    |acc, other| if other < *acc || !is_ordered(&other) { *acc = other };
    empty: None;
    |acc, _count| acc
}

/// The largest item; NaN where there is one.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Max, reduce};
///
/// let (a, b) = (arr2(&[[1.0f32, 5.0], [2.0, 2.0]]), arr1(&[3.0, 3.0]));
/// assert_eq!(reduce((&a, &b), Axis(1), |a, b| (a - b).abs(), Max)?, arr1(&[2.0, 1.0]));
///
/// let none = ndarray::Array2::<i32>::zeros((0, 3));
/// let error = reduce((&none,), Axis(0), |x| *x, Max).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot reduce axis 0 of 0x3: its size is 0, and this fold has no value for no elements"
/// );
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Max;

fold! {
    Max<T> where T: PartialOrd;
    |acc, other| if other > *acc || !is_ordered(&other) { *acc = other };
    empty: None;
    |acc, _count| acc
}

/// Whether an item compares with itself: false for NaN only.
#[inline(always)]
#[allow(clippy::eq_op)]
fn is_ordered<T: PartialEq>(item: &T) -> bool {
    item == item
}

/// Implements a fold of truth values.
macro_rules! fold_bool {
    ($Fold:ident: $operator:tt, $empty:literal) => {
        impl Fold<bool> for $Fold {
            type Acc = bool;
            type Output = bool;

            #[inline(always)]
            fn start(&self, item: bool) -> bool {
                item
            }

            #[inline(always)]
            fn merge(&self, acc: &mut bool, other: bool) {
                *acc $operator other;
            }

            fn empty(&self) -> Option<bool> {
                Some($empty)
            }

            #[inline(always)]
            fn finish(&self, acc: bool, _: usize) -> bool {
                acc
            }
        }
    };
}

/// Whether any item is true. All items are computed.
///
/// ```
/// use ndarray::{Axis, arr1, arr2};
/// use unishape::{fold::Any, reduce};
///
/// let (a, limit) = (arr2(&[[1, 9], [2, 3]]), arr1(&[5]));
/// assert_eq!(reduce((&a, &limit), Axis(1), |a, limit| a > limit, Any)?, arr1(&[true, false]));
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Any;

fold_bool! {
    Any: |=, false
}

/// Whether all items are true. All items are computed.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::{fold::All, reduce};
///
/// let (a, b) = (arr1(&[1, 2]), arr2(&[[1, 2], [1, 2]]));
/// assert!(reduce((&a, &b), .., |a, b| a == b, All)?.into_scalar());
/// # Ok::<(), unishape::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct All;

fold_bool! {
    All: &=, true
}

/// A fold as the engine calls it.
#[derive(Debug)]
pub(crate) struct Accumulator<'f, R>(pub(crate) &'f R);

impl<T, R: Fold<T>> Accumulate<T> for Accumulator<'_, R> {
    type Acc = R::Acc;

    #[inline(always)]
    fn start(&self, item: T) -> R::Acc {
        self.0.start(item)
    }

    #[inline(always)]
    fn fold(&self, acc: &mut R::Acc, item: T) {
        self.0.fold(acc, item);
    }

    #[inline(always)]
    fn merge(&self, acc: &mut R::Acc, other: R::Acc) {
        self.0.merge(acc, other);
    }
}
