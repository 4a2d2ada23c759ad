//! Errors of broadcasting, with messages that show the shapes.

use crate::alignment::{DiagramRow, alignment_diagram};
use crate::notation::short_shape_text;
use crate::text::truncate;
use std::fmt;
use std::ops::Range;
use unishape_core::{Common, Extent, FoldError, Mismatch, Rules, Size, StretchError};

/// The reason why arrays cannot be broadcast.
///
/// Its message names the inputs and the dimension, and shows all shapes:
///
/// ```
/// use unishape::broadcast_shapes;
///
/// let error = broadcast_shapes(&[&[2, 1][..], &[8, 4, 3]]).unwrap_err();
/// assert_eq!(error.to_string(), "\
/// E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4
///
///   input 0      2 x 1
///   input 1  8 x 4 x 3
///                ^
/// Shapes are aligned on the right; in each column every size must be 1 or the same.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// E1 (BC-9): incompatible sizes in a dimension.
    Incompatible(Box<Incompatible>),
    /// Inputs of unequal rank under [`Rules::strict_rank`].
    UnequalRank {
        /// Rank of input 0.
        first: usize,
        /// The first input of another rank.
        input: usize,
        /// Its rank.
        rank: usize,
        /// Names of the two inputs, if they were [set](Error::named).
        names: Option<Box<[String; 2]>>,
    },
    /// Fewer inputs than the rule set requires.
    TooFewInputs {
        /// Smallest number allowed.
        least: usize,
    },
    /// More inputs than the rule set allows.
    TooManyInputs {
        /// Largest number allowed.
        limit: usize,
    },
    /// An array cannot be stretched to a given shape (BC-12).
    CannotStretch(Box<CannotStretch>),
    /// An array that is written does not have the common shape.
    CannotWrite(Box<CannotWrite>),
    /// An axis that the arrays do not have.
    AxisOutOfRange {
        /// The axis.
        axis: usize,
        /// The common shape of the arrays.
        shape: Vec<usize>,
    },
    /// An axis that is given twice.
    RepeatedAxis {
        /// The axis.
        axis: usize,
    },
    /// A fold of no elements that has no value for them, such as a minimum.
    EmptyReduction {
        /// The reduced axis of size 0.
        axis: usize,
        /// The common shape of the arrays.
        shape: Vec<usize>,
    },
    /// A shape has more elements or bytes than the machine can address (BC-14).
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
        /// Bytes of one element, where the number of bytes is too large.
        element: Option<usize>,
    },
    /// The memory for a result could not be allocated.
    OutOfMemory {
        /// Requested size in bytes.
        bytes: usize,
    },
}

impl Error {
    /// Converts an error of the core; `incompatible` adds the shapes to a mismatch.
    pub(crate) fn from_fold<S: Size>(
        error: FoldError<S>,
        incompatible: impl FnOnce(Mismatch<S>) -> Incompatible,
    ) -> Error {
        match error {
            FoldError::Mismatch(mismatch) => Error::Incompatible(Box::new(incompatible(mismatch))),
            FoldError::UnequalRank { first, input, rank } => {
                Error::UnequalRank { first, input, rank, names: None }
            }
            FoldError::TooFewInputs { least } => Error::TooFewInputs { least },
            FoldError::TooManyInputs { limit } => Error::TooManyInputs { limit },
            // Unreachable: callers' buffers are as long as the largest rank.
            FoldError::BufferTooSmall { rank, .. } => {
                Error::OutOfMemory { bytes: rank.saturating_mul(size_of::<usize>()) }
            }
            _ => Error::OutOfMemory { bytes: 0 },
        }
    }

    /// Sets the names of the inputs, which replace their numbers in the message.
    ///
    /// ```
    /// use unishape::broadcast_shapes;
    ///
    /// let error = broadcast_shapes(&[[3], [4]]).unwrap_err().named(&["prices", "names"]);
    /// assert!(error.to_string().contains("dimension 0: prices has 3, names has 4"));
    /// ```
    #[must_use]
    pub fn named<T: AsRef<str>>(mut self, names: &[T]) -> Error {
        let name = |input: usize| names.get(input).map(|name| truncate(name.as_ref(), MAX_NAME_LENGTH));
        match &mut self {
            Error::Incompatible(incompatible) => incompatible.names = (0..).map_while(name).collect(),
            Error::UnequalRank { input, names, .. } => {
                *names = name(0).zip(name(*input)).map(|(first, other)| Box::new([first, other]));
            }
            Error::CannotWrite(cannot) => cannot.name = name(cannot.input),
            _ => {}
        }
        self
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn too_large(shape: &[usize], element: Option<usize>) -> Error {
        Error::TooLarge { shape: shape.to_vec(), element }
    }

    /// An array of one shape that cannot be broadcast to another shape.
    ///
    /// ```
    /// use unishape::{Error, StretchError};
    ///
    /// let reason = StretchError::Size { dim: 1, size: 3, target: 4 };
    /// let error = Error::not_broadcastable(&[3], &[2, 4], reason);
    /// assert!(error.to_string().starts_with("cannot broadcast 3 to 2x4: dimension 1 has 3, not 4"));
    /// ```
    #[cold]
    #[inline(never)]
    pub fn not_broadcastable(shape: &[usize], target: &[usize], reason: StretchError) -> Error {
        Error::CannotStretch(Box::new(CannotStretch {
            shape: shape.to_vec(),
            target: target.to_vec(),
            reason,
        }))
    }

    #[cfg(feature = "map")]
    #[cold]
    #[inline(never)]
    pub(crate) fn cannot_write(input: usize, shape: &[usize], common: &[usize]) -> Error {
        Error::CannotWrite(Box::new(CannotWrite {
            input,
            shape: shape.to_vec(),
            common: common.to_vec(),
            name: None,
        }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Incompatible(incompatible) => incompatible.fmt(f),
            Error::UnequalRank { first, input, rank, names } => {
                let numbers = || ["input 0".into(), format!("input {input}")];
                let [one, other] = names.as_deref().cloned().unwrap_or_else(numbers);
                write!(
                    f,
                    "strict rank: {one} has {}, {other} has {}; \
                     give them equal ranks with dimensions of size 1, or allow unequal ranks",
                    dimensions(*first),
                    dimensions(*rank),
                )
            }
            Error::TooFewInputs { least } => {
                write!(f, "too few inputs: this rule set requires at least {least}")
            }
            Error::TooManyInputs { limit } => {
                write!(f, "too many inputs: this rule set allows at most {limit}")
            }
            Error::CannotStretch(cannot) => cannot.fmt(f),
            Error::CannotWrite(cannot) => cannot.fmt(f),
            Error::AxisOutOfRange { axis, shape } => {
                let shape_text = short_shape_text(shape);
                match shape.len() {
                    0 => write!(f, "axis {axis} is out of range: the arrays have no axis"),
                    rank => write!(
                        f,
                        "axis {axis} is out of range: the common shape {shape_text} has {}; \
                         the last axis is {}",
                        dimensions(rank),
                        rank - 1,
                    ),
                }
            }
            Error::RepeatedAxis { axis } => write!(f, "axis {axis} is given twice; give each axis once"),
            Error::EmptyReduction { axis, shape } => write!(
                f,
                "cannot reduce axis {axis} of {}: its size is 0, and this fold has no value for no elements",
                short_shape_text(shape)
            ),
            Error::TooLarge { shape, element: None } => {
                write!(f, "{} has more elements than this machine can address", short_shape_text(shape))
            }
            Error::TooLarge { shape, element: Some(bytes) } => write!(
                f,
                "{} with elements of {bytes} bytes takes more memory than this machine can address; \
                 the view takes none",
                short_shape_text(shape)
            ),
            Error::OutOfMemory { bytes } => write!(f, "cannot allocate {bytes} bytes"),
        }
    }
}

fn dimensions(rank: usize) -> String {
    if rank == 1 { "1 dimension".into() } else { format!("{rank} dimensions") }
}

impl std::error::Error for Error {}

/// Details of E1: the dimension, the two inputs, and every shape (BC-9).
///
/// ```
/// use unishape::{Error, Extent::Known, broadcast_shapes};
///
/// let Err(Error::Incompatible(e1)) = broadcast_shapes(&[&[2, 1][..], &[8, 4, 3]]) else { panic!() };
/// assert_eq!((e1.dim(), e1.inputs(), e1.sizes()), (1, [0, 1], [Known(2), Known(4)]));
/// assert_eq!(e1.shapes().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incompatible {
    rules: Rules,
    mismatch: Mismatch<Extent>,
    shapes: Vec<(Range<usize>, Vec<Extent>)>,
    /// Names of the first inputs; the others have numbers.
    names: Vec<String>,
}

impl Incompatible {
    /// A mismatch among some shapes. Its dimension is converted to that of the largest rank of them all.
    pub(crate) fn among<S: Size, T: AsRef<[S]>>(
        rules: Rules,
        shapes: &[T],
        mismatch: Mismatch<S>,
    ) -> Incompatible {
        let shapes: Vec<(Range<usize>, Vec<Extent>)> = shapes
            .iter()
            .enumerate()
            .map(|(input, shape)| (input..input + 1, extents(shape.as_ref())))
            .collect();
        let rank = shapes.iter().map(|(_, shape)| shape.len()).max().unwrap_or(0);
        let dim = mismatch.dim + rank.saturating_sub(mismatch.rank);
        let sizes = mismatch.inputs.map(|input| unishape_core::padded_dim(&shapes[input].1, rank, dim));
        Incompatible {
            rules,
            mismatch: Mismatch { dim, rank, inputs: mismatch.inputs, sizes },
            shapes,
            names: Vec::new(),
        }
    }

    /// A mismatch of a shape with the common shape of all shapes before it.
    pub(crate) fn after<S: Size>(
        rules: Rules,
        inputs: usize,
        so_far: &[S],
        shape: &[S],
        mismatch: Mismatch<S>,
    ) -> Incompatible {
        let Mismatch { dim, rank, inputs: mismatched, sizes } = mismatch;
        // An unknown size is positive because of an input with a 1, which is the input that the error names.
        let sizes = sizes.map(|size| match size.into() {
            Extent::Positive => Extent::Known(1),
            size => size,
        });
        let mismatch = Mismatch { dim, rank, inputs: mismatched, sizes };
        let shapes = vec![(0..inputs, extents(so_far)), (inputs..inputs + 1, extents(shape))];
        Incompatible { rules, mismatch, shapes, names: Vec::new() }
    }

    /// The incompatible dimension, counted from 0 on the left of the common rank.
    ///
    /// ```
    /// # use unishape::{Error, Extent, broadcast_shapes};
    /// let Err(Error::Incompatible(e1)) = broadcast_shapes(&[[5, 3], [5, 4]]) else { panic!() };
    /// assert_eq!(e1.dim(), 1);
    /// ```
    pub fn dim(&self) -> usize {
        self.mismatch.dim
    }

    /// The two inputs that are incompatible in this dimension.
    ///
    /// ```
    /// # use unishape::{Error, Extent, broadcast_shapes};
    /// let Err(Error::Incompatible(e1)) = broadcast_shapes(&[[5, 3], [5, 4]]) else { panic!() };
    /// assert_eq!(e1.inputs(), [0, 1]);
    /// ```
    pub fn inputs(&self) -> [usize; 2] {
        self.mismatch.inputs
    }

    /// Their sizes in this dimension; 1 where a shape has fewer dimensions.
    ///
    /// ```
    /// # use unishape::{Error, Extent, broadcast_shapes};
    /// let Err(Error::Incompatible(e1)) = broadcast_shapes(&[[5, 3], [5, 4]]) else { panic!() };
    /// assert_eq!(e1.sizes(), [Extent::Known(3), Extent::Known(4)]);
    /// ```
    pub fn sizes(&self) -> [Extent; 2] {
        self.mismatch.sizes
    }

    /// Every shape, with the range of inputs that it is the common shape of.
    ///
    /// A range of several inputs is the common shape of those that [`CommonShape`](crate::CommonShape) has
    /// already combined.
    ///
    /// ```
    /// # use unishape::{Error, Extent, broadcast_shapes};
    /// let Err(Error::Incompatible(e1)) = broadcast_shapes(&[[5, 3], [5, 4]]) else { panic!() };
    /// assert_eq!(e1.shapes()[1], (1..2, vec![Extent::Known(5), Extent::Known(4)]));
    /// ```
    pub fn shapes(&self) -> &[(Range<usize>, Vec<Extent>)] {
        &self.shapes
    }

    /// Name of an input, or its number.
    ///
    /// ```
    /// # use unishape::{Error, broadcast_shapes};
    /// let error = broadcast_shapes(&[[5, 3], [5, 4]]).unwrap_err();
    /// let Error::Incompatible(e1) = error.named(&["x"]) else { panic!() };
    /// assert_eq!((e1.name(0), e1.name(1)), ("x".into(), "input 1".into()));
    /// ```
    pub fn name(&self, input: usize) -> String {
        self.names.get(input).cloned().unwrap_or_else(|| format!("input {input}"))
    }

    /// Which dimensions are incompatible: the reported one, and any others.
    fn incompatible_dims(&self) -> Vec<bool> {
        (0..self.mismatch.rank)
            .map(|dim| {
                let (mut size, mut from) = ([Extent::Unknown], [0]);
                let mut common = Common::new(self.rules, &mut size, &mut from);
                let sizes = self
                    .shapes
                    .iter()
                    .map(|(_, shape)| unishape_core::padded_dim(shape, self.mismatch.rank, dim));
                sizes.into_iter().any(|size| matches!(common.push(&[size]), Err(FoldError::Mismatch(_))))
            })
            .collect()
    }

    /// Suggests a shape for the most frequent mistake: an input that is compatible once it is aligned further
    /// to the left. Returns the input and that shape, with trailing dimensions of size 1.
    fn suggested_shape(&self) -> Option<(usize, Vec<Extent>)> {
        if self.shapes.len().saturating_mul(self.mismatch.rank) > 10_000 {
            return None; // the search would take long, and such shapes are not written by hand
        }
        self.mismatch.inputs.into_iter().rev().find_map(|input| {
            let at = self.shapes.iter().position(|(inputs, _)| *inputs == (input..input + 1))?;
            let mut shape = self.shapes[at].1.clone();
            while !shape.is_empty() && shape.len() < self.mismatch.rank {
                shape.push(Extent::Known(1));
                let mut shapes: Vec<&[Extent]> = self.shapes.iter().map(|(_, shape)| &shape[..]).collect();
                shapes[at] = &shape;
                if have_common_shape(self.rules, &shapes) {
                    return Some((input, shape));
                }
            }
            None
        })
    }
}

/// Whether shapes are compatible.
fn have_common_shape(rules: Rules, shapes: &[&[Extent]]) -> bool {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let (mut sizes, mut from) = (vec![Extent::Known(1); rank], vec![0; rank]);
    let mut common = Common::new(rules, &mut sizes, &mut from);
    shapes.iter().all(|shape| common.push(shape).is_ok()) && common.finish().is_ok()
}

fn extents<S: Size>(shape: &[S]) -> Vec<Extent> {
    shape.iter().map(|&size| size.into()).collect()
}

/// Longest name in a message, in characters.
const MAX_NAME_LENGTH: usize = 60;

/// Largest number of shapes that a message shows in full.
const MAX_ROWS: usize = 12;

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { dim, inputs: [a, b], sizes: [m, n], .. } = self.mismatch;
        writeln!(
            f,
            "E1: incompatible shapes in dimension {dim}: {} has {m}, {} has {n}\n",
            self.name(a),
            self.name(b),
        )?;
        let mut rows = Vec::new();
        let mut next = 0;
        for (at, (inputs, shape)) in self.shapes.iter().enumerate() {
            let is_at_end = at < 3 || at + 2 >= self.shapes.len();
            if self.shapes.len() > MAX_ROWS && !is_at_end && at != a && at != b {
                continue;
            }
            if at > next {
                rows.push(DiagramRow::Text(format!("⋮ {} more", at - next)));
            }
            next = at + 1;
            let label = match inputs.len() {
                1 => self.name(inputs.start),
                _ => format!("inputs {} to {} together", inputs.start, inputs.end - 1),
            };
            rows.push(DiagramRow::Shape(label, shape));
        }
        f.write_str(&alignment_diagram(&rows, &self.incompatible_dims(), dim))?;
        match self.suggested_shape() {
            Some((input, shape)) => write!(
                f,
                "Shapes are aligned on the right. Perhaps {} is meant to be {}?",
                self.name(input),
                short_shape_text(&shape)
            ),
            None if m == Extent::Known(0) || n == Extent::Known(0) => write!(
                f,
                "Shapes are aligned on the right; {}",
                if self.rules.stretches_to(0) {
                    "in each column every size must be 1 or the same."
                } else {
                    "under these rules a size of 0 is compatible only with 0."
                }
            ),
            None => {
                write!(f, "Shapes are aligned on the right; in each column every size must be 1 or the same.")
            }
        }
    }
}

/// Details of an array that cannot be broadcast to a shape (BC-12).
///
/// ```
/// use unishape::broadcast_to;
///
/// let error = broadcast_to(&ndarray::arr2(&[[1, 2], [3, 4]]), (3, 1)).unwrap_err();
/// assert_eq!(error.to_string(), "\
/// cannot broadcast 2x2 to 3x1: dimension 0 has 2, not 3
///
///   from  2 x 2
///   to    3 x 1
///         ^   ^
/// Only dimensions of size 1 can be stretched, and the target shape is fixed.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotStretch {
    shape: Vec<usize>,
    target: Vec<usize>,
    reason: StretchError,
}

impl CannotStretch {
    /// Shape of the array.
    ///
    /// ```
    /// # use unishape::{Error, StretchError, broadcast_to};
    /// let Err(Error::CannotStretch(error)) = broadcast_to(&ndarray::arr1(&[1, 2, 3]), (3, 4)) else { panic!() };
    /// assert_eq!(error.shape(), [3]);
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The target shape.
    ///
    /// ```
    /// # use unishape::{Error, StretchError, broadcast_to};
    /// let Err(Error::CannotStretch(error)) = broadcast_to(&ndarray::arr1(&[1, 2, 3]), (3, 4)) else { panic!() };
    /// assert_eq!(error.target(), [3, 4]);
    /// ```
    pub fn target(&self) -> &[usize] {
        &self.target
    }

    /// The rank or dimension that is incompatible.
    ///
    /// ```
    /// # use unishape::{Error, StretchError, broadcast_to};
    /// let Err(Error::CannotStretch(error)) = broadcast_to(&ndarray::arr1(&[1, 2, 3]), (3, 4)) else { panic!() };
    /// assert_eq!(error.reason(), StretchError::Size { dim: 1, size: 3, target: 4 });
    /// ```
    pub fn reason(&self) -> StretchError {
        self.reason
    }
}

impl fmt::Display for CannotStretch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, to) = (extents(&self.shape), extents(&self.target));
        write!(f, "cannot broadcast {} to {}: ", short_shape_text(&from), short_shape_text(&to))?;
        let rank = from.len().max(to.len());
        let mut marks = vec![false; rank];
        let focus = match self.reason {
            StretchError::Rank { rank, target } => {
                writeln!(f, "it has {}, the target {target}\n", dimensions(rank))?;
                0
            }
            StretchError::Length => {
                writeln!(f, "its strides are not one a dimension\n")?;
                0
            }
            StretchError::Size { dim, size, target } => {
                writeln!(f, "dimension {dim} has {size}, not {target}\n")?;
                for (dim, mark) in marks.iter_mut().enumerate() {
                    let size = unishape_core::padded_dim(&self.shape, rank, dim);
                    *mark = size != self.target[dim] && size != 1;
                }
                marks[dim] = true;
                dim
            }
        };
        let rows = [DiagramRow::Shape("from".into(), &from), DiagramRow::Shape("to".into(), &to)];
        f.write_str(&alignment_diagram(&rows, &marks, focus))?;
        write!(f, "Only dimensions of size 1 can be stretched, and the target shape is fixed.")
    }
}

/// Details of an array that is written and does not have the common shape.
///
/// Stretched, it would have one element at several indices.
///
/// ```
/// use ndarray::{arr1, arr2};
/// use unishape::for_each;
///
/// let (mut sums, terms) = (arr2(&[[0], [0]]), arr2(&[[1, 2, 3], [4, 5, 6]]));
/// let error = for_each((&mut sums, &terms), |sum, term| *sum += term).unwrap_err();
/// assert_eq!(error.named(&["sums", "terms"]).to_string(), "\
/// sums is written to and cannot be broadcast to the common shape: its shape is 2x1, not 2x3
///
///   sums    2 x 1
///   common  2 x 3
///               ^
/// Only inputs that are read are broadcast. Give sums the common shape; to reduce, use sum_to.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotWrite {
    input: usize,
    shape: Vec<usize>,
    common: Vec<usize>,
    name: Option<String>,
}

impl CannotWrite {
    /// Number of the input.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use unishape::{Error, for_each};
    /// let result = for_each((&mut arr1(&[1]), &arr1(&[1, 2, 3])), |_, _| ());
    /// let Err(Error::CannotWrite(error)) = result else { panic!() };
    /// assert_eq!(error.input(), 0);
    /// ```
    pub fn input(&self) -> usize {
        self.input
    }

    /// Shape of the input.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use unishape::{Error, for_each};
    /// # let result = for_each((&mut arr1(&[1]), &arr1(&[1, 2, 3])), |_, _| ());
    /// # let Err(Error::CannotWrite(error)) = result else { panic!() };
    /// assert_eq!(error.shape(), [1]);
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Common shape of all inputs.
    ///
    /// ```
    /// # use ndarray::arr1;
    /// # use unishape::{Error, for_each};
    /// # let result = for_each((&mut arr1(&[1]), &arr1(&[1, 2, 3])), |_, _| ());
    /// # let Err(Error::CannotWrite(error)) = result else { panic!() };
    /// assert_eq!(error.common(), [3]);
    /// ```
    pub fn common(&self) -> &[usize] {
        &self.common
    }
}

impl fmt::Display for CannotWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.clone().unwrap_or_else(|| format!("input {}", self.input));
        let (shape, common) = (extents(&self.shape), extents(&self.common));
        writeln!(
            f,
            "{name} is written to and cannot be broadcast to the common shape: its shape is {}, not {}\n",
            short_shape_text(&shape),
            short_shape_text(&common),
        )?;
        let rank = common.len();
        let marks: Vec<bool> = (0..rank)
            .map(|dim| dim < rank - shape.len() || shape[dim + shape.len() - rank] != common[dim])
            .collect();
        let focus = marks.iter().position(|&mark| mark).unwrap_or(0);
        let rows = [DiagramRow::Shape(name.clone(), &shape), DiagramRow::Shape("common".into(), &common)];
        f.write_str(&alignment_diagram(&rows, &marks, focus))?;
        write!(
            f,
            "Only inputs that are read are broadcast. Give {name} the common shape; to reduce, use sum_to."
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors that no caller can reach: too many inputs for a test, buffers that are too short.
    #[test]
    fn core_errors_keep_their_fields() {
        let from = |error: FoldError<usize>| Error::from_fold(error, |_| panic!("not a mismatch"));
        assert_eq!(from(FoldError::TooManyInputs { limit: 9 }), Error::TooManyInputs { limit: 9 });
        let bytes = 3 * size_of::<usize>();
        assert_eq!(from(FoldError::BufferTooSmall { rank: 3, capacity: 2 }), Error::OutOfMemory { bytes });
    }
}
