//! Maps of indices in one dimension.

/// The index in one dimension of an array, as a function of the indices of a loop nest or a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DimMap {
    /// The dimension of the view, unless the index is the same everywhere.
    pub(crate) dim: Option<usize>,
    /// The index where that of the view is 0.
    pub(crate) start: isize,
    /// Difference of the indices of neighbouring elements of the view.
    pub(crate) step: isize,
}

impl DimMap {
    /// The same index everywhere.
    pub(crate) fn fixed(start: isize) -> DimMap {
        DimMap { dim: None, start, step: 0 }
    }

    /// The view's own index in a dimension.
    pub(crate) fn same(dim: usize) -> DimMap {
        DimMap { dim: Some(dim), start: 0, step: 1 }
    }

    /// This map applied to the result of `outer`, the maps of the view's dimensions.
    pub(crate) fn after(self, outer: &[DimMap]) -> DimMap {
        match self.dim {
            None => self,
            Some(dim) => {
                let DimMap { dim, start, step } = outer[dim];
                DimMap { dim, start: self.start + self.step * start, step: self.step * step }
            }
        }
    }
}
