//! Views as maps of indices: which element of a node each element of a view is.

use super::error::{ExprError, ExprErrorKind};
use super::reduction::Reduction;
use super::view::{IndexItem, View};
use crate::dim_map::DimMap;
use crate::error::Error;
use smallvec::{SmallVec, smallvec};
use unishape_core::{Rules, broadcast_strides};

/// A shape of an ordinary rank without an allocation.
pub(crate) type Shape = SmallVec<[usize; 6]>;

/// A map for each dimension of an array.
pub(crate) type DimMaps = SmallVec<[DimMap; 4]>;

/// The maps of an array whose elements have the indices of the view.
pub(crate) fn identity(rank: usize) -> DimMaps {
    (0..rank).map(DimMap::same).collect()
}

/// Maps of an array in terms of a loop nest, from maps in terms of a view and those of the view.
pub(crate) fn compose(inner: &[DimMap], outer: &[DimMap]) -> DimMaps {
    inner.iter().map(|map| map.after(outer)).collect()
}

/// The maps of an array of shape `from` that is broadcast to a compatible shape.
pub(crate) fn stretch(from: &[usize], to: &[usize]) -> DimMaps {
    let added = to.len() - from.len();
    let map = |(dim, &size): (usize, &usize)| match size == to[dim + added] {
        true => DimMap::same(dim + added),
        false => DimMap::fixed(0),
    };
    from.iter().enumerate().map(map).collect()
}

/// The dimension of an axis, which counts from the end where it is negative.
pub(crate) fn normalize_axis(axis: i64, rank: usize) -> Result<usize, ExprErrorKind> {
    let dim = if axis < 0 { axis + rank as i64 } else { axis };
    match usize::try_from(dim) {
        Ok(dim) if dim < rank => Ok(dim),
        _ => Err(ExprErrorKind::Axis { axis, rank }),
    }
}

/// The dimensions of some axes; all of them by default.
pub(crate) fn normalize_axes(
    axes: Option<&[i64]>,
    rank: usize,
) -> Result<SmallVec<[usize; 4]>, ExprErrorKind> {
    let Some(axes) = axes else { return Ok((0..rank).collect()) };
    let mut dims: SmallVec<[usize; 4]> = SmallVec::new();
    for &axis in axes {
        let dim = normalize_axis(axis, rank)?;
        if dims.contains(&dim) {
            return Err(ExprErrorKind::RepeatedAxis(axis));
        }
        dims.push(dim);
    }
    Ok(dims)
}

impl Reduction {
    /// The dimensions of an array of this rank that are reduced.
    ///
    /// ```
    /// # use unishape::expr::{ReduceOp, Reduction};
    /// assert_eq!(Reduction::new(ReduceOp::Sum).reduced_dims(2)?, [0, 1]);
    /// assert_eq!(Reduction::new(ReduceOp::Sum).axes([0, -1]).reduced_dims(3)?, [0, 2]);
    /// assert!(Reduction::new(ReduceOp::Sum).axes(2).reduced_dims(2).is_err());
    /// # Ok::<(), unishape::expr::ExprError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the array does not have an axis, or an axis is given twice.
    pub fn reduced_dims(&self, rank: usize) -> Result<Vec<usize>, ExprError> {
        match normalize_axes(self.axes.as_deref(), rank) {
            Ok(dims) => Ok(dims.to_vec()),
            Err(kind) => Err(kind.into()),
        }
    }
}

/// The shape of a view of an array, and the maps of the array's dimensions.
pub(crate) fn view(view: &View, shape: &[usize]) -> Result<(Shape, DimMaps), ExprErrorKind> {
    let rank = shape.len();
    match view {
        View::Index(items) => index(items, shape),
        View::Transpose(None) => permute(shape, (0..rank).rev().collect()),
        View::Transpose(Some(axes)) => {
            let dims = normalize_axes(Some(axes), rank)?;
            if dims.len() != rank {
                return Err(ExprErrorKind::Permutation { given: dims.len(), rank });
            }
            permute(shape, dims)
        }
        View::SwapAxes(a, b) => {
            let (a, b) = (normalize_axis(*a, rank)?, normalize_axis(*b, rank)?);
            let mut dims: SmallVec<[usize; 4]> = (0..rank).collect();
            dims.swap(a, b);
            permute(shape, dims)
        }
        View::ExpandDims(axes) => {
            let new_rank = rank + axes.len();
            let added = normalize_axes(Some(axes), new_rank)?;
            let kept = (0..new_rank).filter(|dim| !added.contains(dim));
            let maps: DimMaps = kept.map(DimMap::same).collect();
            let mut result: Shape = smallvec![1; new_rank];
            for (map, &size) in maps.iter().zip(shape) {
                map.dim.into_iter().for_each(|dim| result[dim] = size);
            }
            Ok((result, maps))
        }
        View::Squeeze(axes) => {
            let removed: SmallVec<[usize; 4]> = match axes {
                Some(axes) => normalize_axes(Some(axes), rank)?,
                None => (0..rank).filter(|&dim| shape[dim] == 1).collect(),
            };
            match removed.iter().find(|&&dim| shape[dim] != 1) {
                Some(&dim) => Err(ExprErrorKind::Squeeze { axis: dim, size: shape[dim] }),
                None => Ok(squeeze(shape, &removed)),
            }
        }
        View::BroadcastTo(to) => {
            let strides: SmallVec<[isize; 6]> = smallvec![0; rank];
            let mut stretched: SmallVec<[isize; 6]> = smallvec![0; to.len()];
            match broadcast_strides(Rules::STANDARD, shape, &strides, to, &mut stretched) {
                Ok(()) => Ok((Shape::from_slice(to), stretch(shape, to))),
                Err(reason) => Err(ExprErrorKind::Shapes(Error::not_broadcastable(shape, to, reason))),
            }
        }
    }
}

/// Removes dimensions of size 1.
pub(crate) fn squeeze(shape: &[usize], removed: &[usize]) -> (Shape, DimMaps) {
    let mut result = Shape::new();
    let mut maps = DimMaps::new();
    for (dim, &size) in shape.iter().enumerate() {
        if removed.contains(&dim) {
            maps.push(DimMap::fixed(0));
        } else {
            maps.push(DimMap::same(result.len()));
            result.push(size);
        }
    }
    (result, maps)
}

/// The view whose dimension `d` is dimension `dims[d]` of the array.
fn permute(shape: &[usize], dims: SmallVec<[usize; 4]>) -> Result<(Shape, DimMaps), ExprErrorKind> {
    let mut maps: DimMaps = smallvec![DimMap::fixed(0); shape.len()];
    for (dim, &of) in dims.iter().enumerate() {
        maps[of] = DimMap::same(dim);
    }
    Ok((dims.iter().map(|&dim| shape[dim]).collect(), maps))
}

/// Basic indexing.
fn index(items: &[IndexItem], shape: &[usize]) -> Result<(Shape, DimMaps), ExprErrorKind> {
    let rank = shape.len();
    let takes_axis = |item: &&IndexItem| matches!(item, IndexItem::At(_) | IndexItem::Slice { .. });
    let given = items.iter().filter(takes_axis).count();
    if given > rank {
        return Err(ExprErrorKind::TooManyIndices { given, rank });
    }
    let mut result = Shape::new();
    let mut maps = DimMaps::new();
    let all = |result: &mut Shape, maps: &mut DimMaps, count: usize| {
        for _ in 0..count {
            let size = shape[maps.len()];
            maps.push(DimMap::same(result.len()));
            result.push(size);
        }
    };
    let mut has_ellipsis = false;
    for item in items {
        match *item {
            IndexItem::NewAxis => result.push(1),
            IndexItem::Ellipsis if has_ellipsis => return Err(ExprErrorKind::TwoEllipses),
            IndexItem::Ellipsis => {
                all(&mut result, &mut maps, rank - given);
                has_ellipsis = true;
            }
            IndexItem::At(index) => {
                let (axis, size) = (maps.len(), shape[maps.len()]);
                let at = if index < 0 { index.checked_add(size as i64) } else { Some(index) };
                match at {
                    Some(at) if (0..size as i64).contains(&at) => maps.push(DimMap::fixed(at as isize)),
                    _ => return Err(ExprErrorKind::IndexOutOfBounds { index, axis, size }),
                }
            }
            IndexItem::Slice { step: Some(0), .. } => return Err(ExprErrorKind::ZeroStep),
            IndexItem::Slice { start, stop, step } => {
                let size = shape[maps.len()];
                let (start, step, count) = slice(start, stop, step.unwrap_or(1), size as i64);
                maps.push(DimMap { dim: Some(result.len()), start: start as isize, step: step as isize });
                result.push(count);
            }
        }
    }
    let rest = rank - maps.len();
    all(&mut result, &mut maps, rest);
    Ok((result, maps))
}

/// First index, step and number of elements of `start:stop:step`, as in Python. The step is not 0.
fn slice(start: Option<i64>, stop: Option<i64>, step: i64, size: i64) -> (i64, i64, usize) {
    // Larger steps leave one element, too, and cannot overflow.
    let step = step.clamp(-size.max(1), size.max(1));
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let bound = |index: i64| {
        let index = if index < 0 { index.saturating_add(size) } else { index };
        index.clamp(lowest, highest)
    };
    let (first, last) = if step > 0 { (0, size) } else { (size - 1, -1) };
    let start = start.map_or(first, bound);
    let stop = stop.map_or(last, bound);
    let distance = if step > 0 { stop - start } else { start - stop };
    let count = if distance <= 0 { 0 } else { (distance - 1) / step.abs() + 1 };
    (if count == 0 { 0 } else { start }, step, count as usize)
}

#[cfg(test)]
mod tests {
    use super::{index, slice};
    use crate::expr::view::IndexItem;
    use crate::expr::{ReduceOp, Reduction};
    use proptest::prelude::*;

    proptest! {
        /// Against the definition: indices from `start` on, until `stop` is reached or passed.
        #[test]
        fn slices_are_those_of_python(
            start in proptest::option::of(-12i64..12),
            stop in proptest::option::of(-12i64..12),
            step in prop_oneof![-9i64..0, 1i64..9, Just(i64::MAX), Just(i64::MIN)],
            size in 0i64..9,
        ) {
            let wrapped = |index: i64| if index < 0 { index + size } else { index };
            let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
            let first = start.map_or(if step > 0 { 0 } else { size - 1 }, |start| wrapped(start).clamp(low, high));
            let end = stop.map_or(if step > 0 { size } else { -1 }, |stop| wrapped(stop).clamp(low, high));
            let mut expected = Vec::new();
            let mut at = first as i128;
            while (step > 0 && at < end as i128) || (step < 0 && at > end as i128) {
                expected.push(at);
                at += step as i128;
            }
            let (start, step, count) = slice(start, stop, step, size);
            let indices: Vec<i128> = (0..count as i128).map(|i| start as i128 + i * step as i128).collect();
            prop_assert_eq!(indices, expected);
        }
    }

    #[test]
    fn reduced_dimensions_are_all_or_those_of_the_axes() {
        let sum = || Reduction::new(ReduceOp::Sum);
        assert_eq!(sum().reduced_dims(2).unwrap(), [0, 1]);
        assert_eq!(sum().axes([0, -1]).reduced_dims(3).unwrap(), [0, 2]);
        assert!(sum().axes(2).reduced_dims(2).is_err() && sum().axes([0, -2]).reduced_dims(2).is_err());
    }

    #[test]
    fn an_ellipsis_stands_for_the_axes_that_are_left() {
        let items = [IndexItem::At(-1), IndexItem::Ellipsis, IndexItem::NewAxis];
        let (shape, maps) = index(&items, &[2, 3, 4]).unwrap();
        assert_eq!(&shape[..], [3, 4, 1]);
        assert_eq!((maps[0].dim, maps[0].start, maps[2].dim), (None, 1, Some(1)));
    }
}
