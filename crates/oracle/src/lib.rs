//! Reference implementation of Broadcast, for tests to compare with.
//!
//! It follows the requirements BC-5 to BC-9 (`docs/traceability.md`) and their source documents
//! literally, and shares no code with the crates under test. It does the two steps one after the
//! other and computes every element of every output separately.
//!
//! SONNX is the working group that writes a safety-related ONNX profile. E1 is the error for
//! incompatible shapes in its documents.

mod index;
#[cfg(feature = "strategies")]
pub mod strategies;

pub use index::{Indices, row_major};

/// An interpretation of the documents, which differ where a size is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// The Array API: the common size is the one size other than 1.
    Standard,
    /// The literal SONNX text: the common size is the maximum.
    Sonnx,
}

/// All readings.
pub const READINGS: [Reading; 2] = [Reading::Standard, Reading::Sonnx];

/// A tensor as the documents define it: a shape, and an element for every index.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor<T> {
    /// The shape.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub elements: Vec<T>,
}

impl<T: Clone> Tensor<T> {
    /// A tensor whose element at row-major position `n` is `element(n)`.
    pub fn from_fn(shape: &[usize], element: impl FnMut(usize) -> T) -> Tensor<T> {
        let elements = (0..shape.iter().product()).map(element).collect();
        Tensor { shape: shape.to_vec(), elements }
    }

    /// The element at an index.
    pub fn at(&self, index: &[usize]) -> T {
        self.elements[row_major(&self.shape, index)].clone()
    }
}

/// Step 1 (BC-5): the shape of `Ym`, that of `Xm` padded with 1s to rank `ny`.
pub fn step_1_shape(shape: &[usize], ny: usize) -> Vec<usize> {
    let nx = shape.len();
    (0..ny).map(|i| if i < ny - nx { 1 } else { shape[i - (ny - nx)] }).collect()
}

/// The common rank: the largest (BC-4).
pub fn rank<S: AsRef<[usize]>>(shapes: &[S]) -> usize {
    shapes.iter().map(|shape| shape.as_ref().len()).max().unwrap_or(0)
}

/// Step 2 (BC-6): the common size of one dimension, or `None` for E1.
pub fn common_size(reading: Reading, sizes: &[usize]) -> Option<usize> {
    let common = match reading {
        Reading::Sonnx => *sizes.iter().max().expect("SONNX requires at least one input"),
        Reading::Standard => sizes.iter().copied().find(|&size| size != 1).unwrap_or(1),
    };
    // E1: an input has a size that is neither 1 nor the common one.
    sizes.iter().all(|&size| size == 1 || size == common).then_some(common)
}

/// The common shape, or the incompatible dimensions (E1, BC-9).
///
/// # Errors
///
/// All incompatible dimensions, in ascending order.
pub fn common_shape<S: AsRef<[usize]>>(reading: Reading, shapes: &[S]) -> Result<Vec<usize>, Vec<usize>> {
    let ny = rank(shapes);
    let ys: Vec<Vec<usize>> = shapes.iter().map(|shape| step_1_shape(shape.as_ref(), ny)).collect();
    let (mut common, mut incompatible) = (Vec::new(), Vec::new());
    for i in 0..ny {
        let sizes: Vec<usize> = ys.iter().map(|y| y[i]).collect();
        match common_size(reading, &sizes) {
            Some(size) => common.push(size),
            None => incompatible.push(i),
        }
    }
    if incompatible.is_empty() { Ok(common) } else { Err(incompatible) }
}

/// The index map (BC-7): what output index `a` reads in size `b` stretched to `c`.
pub fn f(a: usize, b: usize, c: usize) -> usize {
    if b == c { a } else { 0 }
}

/// Step 1 on elements: `Ym[0, …, 0, i'] = Xm[i']`.
pub fn step_1<T: Clone>(x: &Tensor<T>, ny: usize) -> Tensor<T> {
    let shape = step_1_shape(&x.shape, ny);
    let elements = Indices::of(&shape).map(|i| x.at(&i[ny - x.shape.len()..])).collect();
    Tensor { shape, elements }
}

/// Step 2 on elements: `Zm[i] = Ym[f(i_0, dYm[0], dZ[0]), …]`.
pub fn step_2<T: Clone>(y: &Tensor<T>, common: &[usize]) -> Tensor<T> {
    let elements = Indices::of(common)
        .map(|i| {
            let source: Vec<usize> = (0..common.len()).map(|k| f(i[k], y.shape[k], common[k])).collect();
            y.at(&source)
        })
        .collect();
    Tensor { shape: common.to_vec(), elements }
}

/// `Z0, …, ZL = Broadcast(X0, …, XL)`.
///
/// # Errors
///
/// The incompatible dimensions (E1), in ascending order.
pub fn broadcast<T: Clone>(reading: Reading, xs: &[Tensor<T>]) -> Result<Vec<Tensor<T>>, Vec<usize>> {
    let shapes: Vec<&[usize]> = xs.iter().map(|x| &x.shape[..]).collect();
    let common = common_shape(reading, &shapes)?;
    Ok(xs.iter().map(|x| step_2(&step_1(x, common.len()), &common)).collect())
}

/// All shapes of rank 0 to `rank` with sizes 0 to `size`.
pub fn all_shapes(rank: usize, size: usize) -> Vec<Vec<usize>> {
    (0..=rank).flat_map(|rank| Indices::of(&vec![size + 1; rank])).collect()
}
