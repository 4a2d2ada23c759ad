//! The views of expressions.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

/// A view: a node's elements at other indices, without a copy.
///
/// Axes and indices may be negative: then they count from the end, as in NumPy.
///
/// ```
/// use unishape::expr::{View, lazy};
///
/// let a = ndarray::arr2(&[[1, 2, 3]]);
/// assert_eq!(lazy(&a).view(View::Transpose(None)).bind()?.shape(), [3, 1]);
/// # Ok::<(), unishape::expr::ExprError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum View {
    /// Basic indexing, such as `x[1:, None, 0]`.
    Index(Vec<IndexItem>),
    /// Permuted axes; reversed without any.
    Transpose(Option<Vec<i64>>),
    /// Two axes swapped.
    SwapAxes(i64, i64),
    /// New axes of size 1, at these positions of the result.
    ExpandDims(Vec<i64>),
    /// Axes of size 1 removed; all of them without any.
    Squeeze(Option<Vec<i64>>),
    /// Broadcast to a shape.
    BroadcastTo(Vec<usize>),
}

/// An item of an index: what `x[...]` has between its commas.
///
/// ```
/// use unishape::expr::IndexItem;
///
/// let slice = IndexItem::Slice { start: Some(1), stop: None, step: None };
/// assert_eq!((IndexItem::from(1..), IndexItem::from(-1)), (slice, IndexItem::At(-1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IndexItem {
    /// An integer: one element, and the axis is dropped.
    At(i64),
    /// `start:stop:step`, as in Python.
    Slice {
        /// First index.
        start: Option<i64>,
        /// First index that is excluded.
        stop: Option<i64>,
        /// Distance of indices; not 0, and 1 by default.
        step: Option<i64>,
    },
    /// `None`: a new axis of size 1.
    NewAxis,
    /// `...`: all axes that are not indexed.
    Ellipsis,
}

impl IndexItem {
    /// `:`, all elements of an axis.
    pub(crate) const FULL: IndexItem = IndexItem::Slice { start: None, stop: None, step: None };
}

impl From<i64> for IndexItem {
    fn from(index: i64) -> IndexItem {
        IndexItem::At(index)
    }
}

impl From<Range<i64>> for IndexItem {
    fn from(range: Range<i64>) -> IndexItem {
        IndexItem::Slice { start: Some(range.start), stop: Some(range.end), step: None }
    }
}

impl From<RangeFrom<i64>> for IndexItem {
    fn from(range: RangeFrom<i64>) -> IndexItem {
        IndexItem::Slice { start: Some(range.start), stop: None, step: None }
    }
}

impl From<RangeTo<i64>> for IndexItem {
    fn from(range: RangeTo<i64>) -> IndexItem {
        IndexItem::Slice { start: None, stop: Some(range.end), step: None }
    }
}

impl From<RangeFull> for IndexItem {
    fn from(_: RangeFull) -> IndexItem {
        IndexItem::FULL
    }
}
