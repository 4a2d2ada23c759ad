//! Arrays with any strides, for the tests.

// The tests of `map` and `for_each` use more of it than the others.
#![cfg_attr(not(feature = "expr"), allow(dead_code))]

use ndarray::{ArrayBase, ArrayD, ArrayViewD, ArrayViewMutD, Axis, IxDyn, RawData, Slice};
use proptest::prelude::*;
use std::ops::RangeInclusive;
use unishape_oracle::{self as oracle, strategies};

/// A shape, and the memory layout of an array of that shape.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    pub(crate) shape: Vec<usize>,
    /// Step in each dimension, as in a slice; negative where it is reversed.
    steps: Vec<isize>,
    /// The order of the dimensions in memory, as sort keys.
    order: Vec<u8>,
}

pub(crate) fn specs(
    inputs: RangeInclusive<usize>,
    rank: RangeInclusive<usize>,
    size: RangeInclusive<usize>,
) -> impl Strategy<Value = Vec<Spec>> {
    strategies::shapes(inputs, rank, size)
        .prop_flat_map(|shapes| shapes.into_iter().map(spec).collect::<Vec<_>>())
}

pub(crate) fn spec(shape: Vec<usize>) -> impl Strategy<Value = Spec> {
    let rank = shape.len();
    let step = prop_oneof![4 => Just(1isize), 1 => Just(-1), 1 => Just(2), 1 => Just(-3)];
    (prop::collection::vec(step, rank), prop::collection::vec(any::<u8>(), rank))
        .prop_map(move |(steps, order)| Spec { shape: shape.clone(), steps, order })
}

/// An array with the memory layout of a [`Spec`].
pub(crate) struct Strided<M> {
    pub(crate) memory: M,
    steps: Vec<isize>,
    /// Position of each dimension in the memory order.
    places: Vec<usize>,
}

impl<T> Strided<ArrayD<T>> {
    pub(crate) fn view(&self) -> ArrayViewD<'_, T> {
        self.view_of(self.memory.view())
    }

    pub(crate) fn view_mut(&mut self) -> ArrayViewMutD<'_, T> {
        let (steps, places) = (self.steps.clone(), self.places.clone());
        Strided { memory: (), steps, places }.view_of(self.memory.view_mut())
    }

    /// All of the memory, including elements that are not in the view.
    pub(crate) fn memory(&self) -> &ArrayD<T> {
        &self.memory
    }
}

impl<M> Strided<M> {
    /// The same layout on other memory of this shape.
    pub(crate) fn view_of<S: RawData>(&self, memory: ArrayBase<S, IxDyn>) -> ArrayBase<S, IxDyn> {
        let mut view = memory;
        for (dim, &step) in self.steps.iter().enumerate() {
            view.slice_axis_inplace(Axis(self.places[dim]), Slice::new(0, None, step));
        }
        view.permuted_axes(IxDyn(&self.places))
    }
}

/// An array with this layout, its memory filled with `element(0)`, `element(1)`, …
pub(crate) fn strided<T>(spec: &Spec, mut element: impl FnMut(usize) -> T) -> Strided<ArrayD<T>> {
    let mut by_place: Vec<usize> = (0..spec.shape.len()).collect();
    by_place.sort_by_key(|&dim| spec.order[dim]);
    let mut places = vec![0; spec.shape.len()];
    for (place, &dim) in by_place.iter().enumerate() {
        places[dim] = place;
    }
    let sizes: Vec<usize> = by_place
        .iter()
        .map(|&dim| match spec.shape[dim] {
            0 => 0,
            size => (size - 1) * spec.steps[dim].unsigned_abs() + 1,
        })
        .collect();
    let mut n = 0;
    let memory = ArrayD::from_shape_simple_fn(IxDyn(&sizes), || {
        n += 1;
        element(n - 1)
    });
    Strided { memory, steps: spec.steps.clone(), places }
}

/// Elements of an array, read index by index, as a tensor of the oracle.
pub(crate) fn contents<T: Clone>(view: &ArrayViewD<'_, T>) -> oracle::Tensor<T> {
    let elements = oracle::Indices::of(view.shape()).map(|index| view[IxDyn(&index)].clone()).collect();
    oracle::Tensor { shape: view.shape().to_vec(), elements }
}
