//! Arrangement of a shape as panels of cells.
//!
//! Rank 0 is one cell, rank 1 a row, rank 2 a grid, rank 3 a row of grids, rank 4 a matrix of grids.

/// One slot along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DrawnIndex {
    /// This index.
    At(usize),
    /// Dots for omitted indices.
    Gap,
}

/// How much of a dimension is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnPart {
    /// A dimension of at most this size is drawn in full.
    whole: usize,
    /// Number of first indices of a larger one, before dots and the last index.
    head: usize,
}

/// How much is drawn of the two outer and of the two inner dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    outer: DrawnPart,
    inner: DrawnPart,
}

const LONG: DrawnPart = DrawnPart { whole: 8, head: 3 };
const SHORT: DrawnPart = DrawnPart { whole: 4, head: 2 };
const ENDS: DrawnPart = DrawnPart { whole: 2, head: 1 };

impl Level {
    /// The level that draws as much of every dimension as this one of the outer dimensions.
    pub(crate) fn uniform(self) -> Level {
        Level { outer: self.outer, inner: self.outer }
    }
}

/// Levels of detail; each draws a subset of the cells of the one before.
pub(crate) const LEVELS: [Level; 5] = [
    Level { outer: LONG, inner: LONG },
    Level { outer: SHORT, inner: LONG },
    Level { outer: SHORT, inner: SHORT },
    Level { outer: ENDS, inner: SHORT },
    Level { outer: ENDS, inner: ENDS },
];

/// The largest rank that is drawn.
pub(crate) const MAX_DRAWN_RANK: usize = 4;

/// The slots of one array along four axes; a smaller rank uses the last ones.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    rank: usize,
    axes: [Vec<DrawnIndex>; MAX_DRAWN_RANK],
}

impl Frame {
    /// The frame of a shape; `None` where its rank is too large.
    pub(crate) fn new(shape: &[usize], level: Level) -> Option<Frame> {
        let unused = MAX_DRAWN_RANK.checked_sub(shape.len())?;
        let axes = std::array::from_fn(|axis| match axis.checked_sub(unused) {
            Some(dim) => slots(shape[dim], if axis < 2 { level.outer } else { level.inner }),
            None => vec![DrawnIndex::At(0)],
        });
        Some(Frame { rank: shape.len(), axes })
    }

    /// Whether the array has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.axes.iter().any(Vec::is_empty)
    }

    /// Number of cells that are drawn.
    pub(crate) fn count(&self) -> usize {
        self.axes.iter().map(|axis| indices(axis).count()).product()
    }

    /// Rows of panels.
    pub(crate) fn panel_rows(&self) -> &[DrawnIndex] {
        &self.axes[0]
    }

    /// Panels of a row.
    pub(crate) fn panel_columns(&self) -> &[DrawnIndex] {
        &self.axes[1]
    }

    /// Rows of a panel.
    pub(crate) fn rows(&self) -> &[DrawnIndex] {
        &self.axes[2]
    }

    /// Cells of a row.
    pub(crate) fn columns(&self) -> &[DrawnIndex] {
        &self.axes[3]
    }

    /// The dimension along an axis, if the axis omits indices.
    pub(crate) fn shortened(&self, axis: usize) -> Option<usize> {
        let is_shortened = self.axes.get(axis)?.contains(&DrawnIndex::Gap);
        axis.checked_sub(MAX_DRAWN_RANK - self.rank).filter(|_| is_shortened)
    }

    /// Whether rows have an index of their own.
    pub(crate) fn has_rows(&self) -> bool {
        self.rank >= 2
    }

    /// Whether columns have an index of their own.
    pub(crate) fn has_columns(&self) -> bool {
        self.rank >= 1
    }

    /// The index of a cell from its positions along the axes.
    pub(crate) fn index(&self, place: [usize; MAX_DRAWN_RANK]) -> Vec<usize> {
        place[MAX_DRAWN_RANK - self.rank..].to_vec()
    }

    /// Every index that is drawn, in row-major order.
    pub(crate) fn indices(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let [a, b, c, d] = &self.axes;
        indices(a).flat_map(move |i| {
            indices(b).flat_map(move |j| {
                indices(c).flat_map(move |k| indices(d).map(move |l| self.index([i, j, k, l])))
            })
        })
    }

    /// Label of a panel, such as `[2,:,:]`; `None` for a single panel.
    pub(crate) fn panel_label(&self, row: usize, column: usize) -> Option<String> {
        match self.rank {
            3 => Some(format!("[{column},:,:]")),
            4 => Some(format!("[{row},{column},:,:]")),
            _ => None,
        }
    }

    /// Number of a cell among the drawn ones, in row-major order.
    pub(crate) fn ordinal(&self, index: &[usize]) -> usize {
        let unused = MAX_DRAWN_RANK - self.rank;
        self.axes[unused..].iter().zip(index).fold(0, |ordinal, (axis, &i)| {
            ordinal * indices(axis).count() + indices(axis).position(|at| at == i).unwrap_or(0)
        })
    }
}

/// The slots along a dimension.
fn slots(size: usize, span: DrawnPart) -> Vec<DrawnIndex> {
    if size <= span.whole {
        return (0..size).map(DrawnIndex::At).collect();
    }
    (0..span.head).map(DrawnIndex::At).chain([DrawnIndex::Gap, DrawnIndex::At(size - 1)]).collect()
}

/// The indices among slots.
pub(crate) fn indices(slots: &[DrawnIndex]) -> impl Iterator<Item = usize> + Clone + '_ {
    slots.iter().filter_map(|slot| match slot {
        DrawnIndex::At(index) => Some(*index),
        DrawnIndex::Gap => None,
    })
}

/// Number of shades of a source cell.
pub(crate) const SHADES: usize = 8;

/// The shade of a source cell: the drawn cells of X use all shades evenly.
pub(crate) fn shade(x: &Frame, source: &[usize]) -> usize {
    match x.count() {
        0 | 1 => SHADES / 2,
        count => x.ordinal(source) * (SHADES - 1) / (count - 1),
    }
}
