//! How a shape is arranged as panels of cells: rank 0 is one cell, rank 1 a row, rank 2 a grid,
//! rank 3 a row of grids, rank 4 a matrix of grids.

/// What is drawn at one place along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// This index.
    At(usize),
    /// Dots for the indices left out.
    Gap,
}

/// How much of a dimension is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// A size up to this is drawn whole.
    whole: usize,
    /// Of a larger one so many indices, dots, and the last.
    head: usize,
}

/// How much is drawn of the dimensions that panels run along, and of those within a panel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    outer: Span,
    inner: Span,
}

const WHOLE: Span = Span { whole: 8, head: 3 };
const SHORT: Span = Span { whole: 4, head: 2 };
const ENDS: Span = Span { whole: 2, head: 1 };

/// From the most that is ever drawn to the least. A level draws no cell that an earlier one does not.
pub(crate) const LEVELS: [Level; 5] = [
    Level { outer: WHOLE, inner: WHOLE },
    Level { outer: SHORT, inner: WHOLE },
    Level { outer: SHORT, inner: SHORT },
    Level { outer: ENDS, inner: SHORT },
    Level { outer: ENDS, inner: ENDS },
];

/// The largest rank that is drawn.
pub(crate) const MOST_DIMENSIONS: usize = 4;

/// What is drawn of one array: four axes, of which a smaller rank uses the last ones.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    rank: usize,
    axes: [Vec<Slot>; MOST_DIMENSIONS],
}

impl Frame {
    /// None where the rank is too large to be drawn.
    pub(crate) fn new(shape: &[usize], level: Level) -> Option<Frame> {
        let unused = MOST_DIMENSIONS.checked_sub(shape.len())?;
        let axes = std::array::from_fn(|axis| match axis.checked_sub(unused) {
            Some(dim) => slots(shape[dim], if axis < 2 { level.outer } else { level.inner }),
            None => vec![Slot::At(0)],
        });
        Some(Frame { rank: shape.len(), axes })
    }

    /// Whether the array has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.axes.iter().any(Vec::is_empty)
    }

    /// How many cells are drawn.
    pub(crate) fn count(&self) -> usize {
        self.axes.iter().map(|axis| indices(axis).count()).product()
    }

    /// The panels, row by row.
    pub(crate) fn panel_rows(&self) -> &[Slot] {
        &self.axes[0]
    }

    /// The panels of a row.
    pub(crate) fn panel_columns(&self) -> &[Slot] {
        &self.axes[1]
    }

    /// The rows of a panel.
    pub(crate) fn rows(&self) -> &[Slot] {
        &self.axes[2]
    }

    /// The cells of a row.
    pub(crate) fn columns(&self) -> &[Slot] {
        &self.axes[3]
    }

    /// The dimension along an axis that leaves indices out.
    pub(crate) fn shortened(&self, axis: usize) -> Option<usize> {
        let is_shortened = self.axes.get(axis)?.contains(&Slot::Gap);
        axis.checked_sub(MOST_DIMENSIONS - self.rank).filter(|_| is_shortened)
    }

    /// Whether rows have an index of their own.
    pub(crate) fn has_rows(&self) -> bool {
        self.rank >= 2
    }

    /// Whether columns have an index of their own.
    pub(crate) fn has_columns(&self) -> bool {
        self.rank >= 1
    }

    /// The index of a cell from its places along the axes.
    pub(crate) fn index(&self, place: [usize; MOST_DIMENSIONS]) -> Vec<usize> {
        place[MOST_DIMENSIONS - self.rank..].to_vec()
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

    /// What stands above a panel: `[2,:,:]`. Nothing where there is but the one.
    pub(crate) fn panel_label(&self, row: usize, column: usize) -> Option<String> {
        match self.rank {
            3 => Some(format!("[{column},:,:]")),
            4 => Some(format!("[{row},{column},:,:]")),
            _ => None,
        }
    }

    /// Which of the drawn cells this is, counted in row-major order.
    pub(crate) fn ordinal(&self, index: &[usize]) -> usize {
        let unused = MOST_DIMENSIONS - self.rank;
        self.axes[unused..].iter().zip(index).fold(0, |ordinal, (axis, &i)| {
            ordinal * indices(axis).count() + indices(axis).position(|at| at == i).unwrap_or(0)
        })
    }
}

/// The places along a dimension.
fn slots(size: usize, span: Span) -> Vec<Slot> {
    if size <= span.whole {
        return (0..size).map(Slot::At).collect();
    }
    (0..span.head).map(Slot::At).chain([Slot::Gap, Slot::At(size - 1)]).collect()
}

/// The indices among places.
pub(crate) fn indices(slots: &[Slot]) -> impl Iterator<Item = usize> + Clone + '_ {
    slots.iter().filter_map(|slot| match slot {
        Slot::At(index) => Some(*index),
        Slot::Gap => None,
    })
}

/// How many shades a source cell can have.
pub(crate) const SHADES: usize = 8;

/// The shade of a source cell: the drawn cells of X run evenly through all shades.
pub(crate) fn shade(x: &Frame, source: &[usize]) -> usize {
    match x.count() {
        0 | 1 => SHADES / 2,
        count => x.ordinal(source) * (SHADES - 1) / (count - 1),
    }
}
