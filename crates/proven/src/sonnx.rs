//! Bindings to the C of `sonnx/c`: Broadcast on the tensors of SONNX, for elements of 64 and of 8 bits.
//!
//! Elements are copied and never interpreted, so that bits stand for elements of any type of their size.

use crate::int32::{length, non_negative};

/// The C representation of a tensor. Only the elements of outputs are written to.
#[repr(C)]
struct CTensor<E> {
    rank: i32,
    dims: *mut i32,
    data: *mut E,
}

unsafe extern "C" {
    fn sonnx_u64_clarger_rank(rank: i32, ds: *mut i32, n: i32) -> i32;
    fn sonnx_u64_cstart_dims(zs: *mut i32, rank: i32);
    fn sonnx_u64_cjoin_dims(zs: *mut i32, rank: i32, ds: *mut i32, n: i32) -> i32;
    fn sonnx_u64_ccount(u: *mut i32, n: i32) -> i32;
    fn sonnx_u64_copbroadcast(x: CTensor<u64>, r: CTensor<u64>);
    fn sonnx_u8_copbroadcast(x: CTensor<u8>, r: CTensor<u8>);
    fn sonnx_u64_copbroadcast2(x0: CTensor<u64>, x1: CTensor<u64>, z0: CTensor<u64>, z1: CTensor<u64>);
}

/// Elements that the C is compiled for.
pub trait Element: Copy + PartialEq {
    /// The value that outputs have before a call. No input may have it, so that elements that are not written show.
    const UNSET: Self;
    #[doc(hidden)]
    const BROADCAST: Broadcast<Self>;
}

#[doc(hidden)]
pub struct Broadcast<E>(unsafe extern "C" fn(CTensor<E>, CTensor<E>));

impl Element for u64 {
    const UNSET: u64 = 0xdead_beef_dead_beef;
    const BROADCAST: Broadcast<u64> = Broadcast(sonnx_u64_copbroadcast);
}

impl Element for u8 {
    const UNSET: u8 = 0xee;
    const BROADCAST: Broadcast<u8> = Broadcast(sonnx_u8_copbroadcast);
}

/// A tensor: positive dimensions, and elements in row-major order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor<E> {
    dims: Vec<i32>,
    data: Vec<E>,
}

impl<E: Element> Tensor<E> {
    /// A tensor of this shape.
    ///
    /// # Panics
    ///
    /// If a size is 0 or exceeds 2³¹−1, or if there are too few or too many elements.
    pub fn new(shape: &[usize], data: Vec<E>) -> Tensor<E> {
        let dims = dims(shape);
        assert_eq!(count(&dims), i32::try_from(data.len()).ok(), "not as many elements as {shape:?} has");
        Tensor { dims, data }
    }

    /// The shape.
    pub fn shape(&self) -> Vec<usize> {
        shape(&self.dims)
    }

    /// The elements.
    pub fn data(&self) -> &[E] {
        &self.data
    }

    /// A tensor of this shape that the C writes to.
    fn output(shape: &[usize]) -> Tensor<E> {
        let count = shape.iter().product();
        Tensor::new(shape, vec![E::UNSET; count])
    }

    fn record(&mut self) -> CTensor<E> {
        CTensor { rank: length(&self.dims), dims: self.dims.as_mut_ptr(), data: self.data.as_mut_ptr() }
    }

    /// `copbroadcast`: this input made its output.
    ///
    /// The output has the common shape of all inputs.
    ///
    /// # Panics
    ///
    /// If the input does not stretch to that shape, or has an element [`Element::UNSET`].
    #[must_use]
    pub fn broadcast(&self, common: &[usize]) -> Tensor<E> {
        assert!(!self.data.contains(&E::UNSET), "an element is that of outputs that are not written");
        assert_eq!(common_shape(&[&self.shape(), common]).as_deref(), Ok(common), "not the common shape");
        let (mut input, mut output) = (self.clone(), Tensor::output(common));
        let Broadcast(broadcast) = E::BROADCAST;
        // Safety: both tensors are valid, their elements do not overlap, and the input stretches to the output.
        unsafe { broadcast(input.record(), output.record()) };
        assert_eq!(input.dims, self.dims, "the input was written to");
        output
    }
}

/// `copbroadcast2`.
///
/// # Panics
///
/// If `common` is not the common shape of both inputs.
#[must_use]
pub fn broadcast2(x0: &Tensor<u64>, x1: &Tensor<u64>, common: &[usize]) -> (Tensor<u64>, Tensor<u64>) {
    assert_eq!(common_shape(&[&x0.shape(), &x1.shape()]).as_deref(), Ok(common), "not the common shape");
    let (mut x0, mut x1) = (x0.clone(), x1.clone());
    let (mut z0, mut z1) = (Tensor::output(common), Tensor::output(common));
    // Safety: as in `Tensor::broadcast`.
    unsafe { sonnx_u64_copbroadcast2(x0.record(), x1.record(), z0.record(), z1.record()) };
    (z0, z1)
}

/// The common shape of the inputs, or the axis of an error E1.
///
/// It is computed by `clarger_rank`, `cstart_dims` and `cjoin_dims`. The shapes are incompatible along the axis.
///
/// # Panics
///
/// If a size is 0 or exceeds 2³¹−1.
pub fn common_shape(shapes: &[&[usize]]) -> Result<Vec<usize>, usize> {
    let mut inputs: Vec<Vec<i32>> = shapes.iter().map(|shape| dims(shape)).collect();
    let mut rank = 0;
    for dims in &mut inputs {
        // Safety: the program does not access the dimensions.
        rank = unsafe { sonnx_u64_clarger_rank(rank, dims.as_mut_ptr(), length(dims)) };
    }
    let mut common = vec![0; non_negative(rank)];
    // Safety: the pointer is passed with the buffer's length.
    unsafe { sonnx_u64_cstart_dims(common.as_mut_ptr(), rank) };
    for dims in &mut inputs {
        // Safety: each pointer is passed with its buffer's length; no input has a larger rank.
        let axis =
            unsafe { sonnx_u64_cjoin_dims(common.as_mut_ptr(), rank, dims.as_mut_ptr(), length(dims)) };
        if axis != -1 {
            return Err(non_negative(axis));
        }
    }
    Ok(shape(&common))
}

/// `ccount`: the number of elements, if it fits in 32 bits.
///
/// # Panics
///
/// If a size is 0 or exceeds 2³¹−1.
pub fn element_count(shape: &[usize]) -> Option<usize> {
    count(&dims(shape)).map(non_negative)
}

fn count(dims: &[i32]) -> Option<i32> {
    let mut dims = dims.to_vec();
    // Safety: the pointer is passed with the buffer's length, and all dimensions are positive.
    let count = unsafe { sonnx_u64_ccount(dims.as_mut_ptr(), length(&dims)) };
    (count != -1).then_some(count)
}

fn dims(shape: &[usize]) -> Vec<i32> {
    let dim = |&size| i32::try_from(size).ok().filter(|&size| size >= 1).expect("a size from 1 to 2³¹−1");
    shape.iter().map(dim).collect()
}

fn shape(dims: &[i32]) -> Vec<usize> {
    dims.iter().copied().map(non_negative).collect()
}
