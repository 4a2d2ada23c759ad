//! Arrays on a device that this crate allocates, and expressions of them.

#![allow(unsafe_code)]

use crate::device::{Device, DeviceMemory, Stream};
use crate::error::Error;
use crate::plan::{ALLOCATED, Expression, Plan};
use crate::recent::Recent;
use crate::stage::{Read, ReadFrom, Stage, StageResult, Stages};
use crate::value::{ArrayType, Numerics, Variable};
use cudarc::driver::result;
use std::sync::Arc;
use unishape_engine::layout::row_major;
use unishape_kernels::{DType, Scalar};

/// An element type of arrays on a device.
///
/// ```
/// use unishape_cuda::DeviceElement;
///
/// assert_eq!(f32::DTYPE.to_string(), "float32");
/// ```
pub trait DeviceElement: Copy + private::Sealed {
    /// Its dtype.
    const DTYPE: DType;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $dtype:ident),+) => {
        $(impl private::Sealed for $type {}
        impl DeviceElement for $type {
            const DTYPE: DType = DType::$dtype;
        })+
    };
}
elements!(bool: Bool, i8: I8, i16: I16, i32: I32, i64: I64, u8: U8, u16: U16, u32: U32, u64: U64);
elements!(half::f16: F16, half::bf16: BF16, f32: F32, f64: F64);
elements!(num_complex::Complex<f32>: C64, num_complex::Complex<f64>: C128);

/// An array on a device, or a view of one. Clones share its memory.
///
/// ```no_run
/// use unishape_cuda::{Array, Device, Stream};
///
/// let device = Device::new(0, &[])?;
/// let rows = Array::from_slice(&device, &[1, 2, 3, 4, 5, 6], Stream::default())?.reshaped(&[2, 3])?;
/// assert_eq!(rows.transposed().to_vec::<i32>(Stream::default())?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), unishape_cuda::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Array {
    memory: Arc<DeviceMemory>,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
}

/// The value of a variable of an expression on a device.
///
/// ```
/// use unishape_cuda::DeviceValue;
///
/// assert!(matches!(DeviceValue::from(2.5), DeviceValue::Scalar(_)));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum DeviceValue<'a> {
    /// An array.
    Array(&'a Array),
    /// A number without a dtype: it takes that of the arrays it is combined with.
    Scalar(Scalar),
}

impl<'a> From<&'a Array> for DeviceValue<'a> {
    fn from(array: &'a Array) -> DeviceValue<'a> {
        DeviceValue::Array(array)
    }
}

impl<T: Into<Scalar>> From<T> for DeviceValue<'_> {
    fn from(number: T) -> Self {
        DeviceValue::Scalar(number.into())
    }
}

impl Device {
    /// Computes an expression on a stream.
    ///
    /// The values are those of its variables, in order.
    ///
    /// # Errors
    ///
    /// Where the expression does not fit the values, an array is on another device, memory is exhausted, or the driver
    /// fails.
    pub fn evaluate(
        &self,
        expr: &impl Expression,
        values: &[DeviceValue<'_>],
        stream: Stream,
    ) -> Result<Array, Error> {
        self.evaluate_with(expr, values, stream, Numerics::Exact)
    }

    /// [`evaluate`](Device::evaluate) with another precision.
    ///
    /// # Errors
    ///
    /// Those of [`evaluate`](Device::evaluate).
    pub fn evaluate_with(
        &self,
        expr: &impl Expression,
        values: &[DeviceValue<'_>],
        stream: Stream,
        numerics: Numerics,
    ) -> Result<Array, Error> {
        let variables: Vec<Variable<'_>> = values
            .iter()
            .map(|value| match value {
                DeviceValue::Array(array) => Variable::Array(array.array_type()),
                DeviceValue::Scalar(number) => Variable::Scalar(*number),
            })
            .collect();
        let plan = Plan::cached(expr, &variables, None, numerics)?;
        let arrays = || {
            values.iter().filter_map(|value| match value {
                DeviceValue::Array(array) => Some(*array),
                DeviceValue::Scalar(_) => None,
            })
        };
        if arrays().any(|array| !array.memory.device().is(self)) {
            return Err(Error::OtherDevice);
        }
        let result = Array::new(self, plan.dtype(), plan.shape(), stream)?;
        let temporaries = plan.temporaries().iter().map(|&bytes| self.allocate(bytes, stream));
        let temporaries: Vec<DeviceMemory> = temporaries.collect::<Result<_, _>>()?;
        let addresses: Vec<u64> = values
            .iter()
            .map(|value| match value {
                DeviceValue::Array(array) => array.address(),
                DeviceValue::Scalar(_) => 0,
            })
            .collect();
        let temporary_addresses: Vec<u64> = temporaries.iter().map(DeviceMemory::address).collect();
        // Safety: the plan was made for these arrays, which are on this device. What wrote them before on other streams
        // is waited for, and their memory is freed on these streams, after this one has read it. Temporaries are freed
        // on this stream.
        unsafe {
            for array in arrays() {
                self.order(array.memory.stream(), stream)?;
            }
            self.run(&plan, &addresses, result.memory.address(), &temporary_addresses, stream)?;
            for array in arrays() {
                self.order(stream, array.memory.stream())?;
            }
        }
        Ok(result)
    }
}

impl Array {
    /// An array whose elements have not been written yet.
    fn new(device: &Device, dtype: DType, shape: &[usize], stream: Stream) -> Result<Array, Error> {
        let bytes = shape.iter().try_fold(dtype.item_size(), |bytes, &size| bytes.checked_mul(size));
        let memory = Arc::new(device.allocate(bytes.ok_or(Error::TooLarge)?, stream)?);
        Ok(Array { memory, dtype, shape: shape.to_vec(), strides: row_major(shape) })
    }

    /// Copies elements to a device, as an array of one dimension.
    ///
    /// # Errors
    ///
    /// Where memory is exhausted, or the driver fails.
    pub fn from_slice<T: DeviceElement>(
        device: &Device,
        elements: &[T],
        stream: Stream,
    ) -> Result<Array, Error> {
        let array = Array::new(device, T::DTYPE, &[elements.len()], stream)?;
        let _entered = device.enter()?;
        // Safety: the memory has the size of the elements, which are numbers. Waits, so that they may be dropped afterwards.
        unsafe {
            result::memcpy_htod_async(array.memory.address(), elements, stream.raw())?;
            result::stream::synchronize(stream.raw())?;
        }
        Ok(array)
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    ///
    /// Where the shape has another number of elements, or the array is a view that is not contiguous.
    pub fn reshaped(self, shape: &[usize]) -> Result<Array, Error> {
        let count = |shape: &[usize]| shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        match count(shape) == count(&self.shape) && self.is_contiguous() {
            true => Ok(Array { shape: shape.to_vec(), strides: row_major(shape), ..self }),
            false => Err(Error::OutputShape { result: self.shape, output: shape.to_vec() }),
        }
    }

    /// A view with its axes reversed.
    pub fn transposed(&self) -> Array {
        let mut view = self.clone();
        view.shape.reverse();
        view.strides.reverse();
        view
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Stride of each dimension, in elements.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Address of its element at index 0.
    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    fn is_contiguous(&self) -> bool {
        let dims = self.shape.iter().zip(self.strides.iter().zip(row_major(&self.shape)));
        self.shape.contains(&0)
            || dims.into_iter().all(|(&size, (&own, expected))| size == 1 || own == expected)
    }

    fn array_type(&self) -> ArrayType<'_> {
        // Views begin where the memory does.
        ArrayType { dtype: self.dtype, shape: &self.shape, strides: &self.strides, alignment: ALLOCATED }
    }

    /// Copies the elements from the device, in row-major order.
    ///
    /// # Errors
    ///
    /// Where the dtype is another one, memory is exhausted, or the driver fails.
    pub fn to_vec<T: DeviceElement>(&self, stream: Stream) -> Result<Vec<T>, Error> {
        if T::DTYPE != self.dtype {
            return Err(Error::ElementType { array: self.dtype, elements: T::DTYPE });
        }
        if !self.is_contiguous() {
            return self
                .memory
                .device()
                .evaluate(&Identity::default(), &[self.into()], stream)?
                .to_vec(stream);
        }
        let _entered = self.memory.device().enter()?;
        let count = self.shape.iter().product();
        let mut elements: Vec<T> = Vec::with_capacity(count);
        let target = &mut elements.spare_capacity_mut()[..count];
        // Safety: the memory holds as many numbers, of which all bits are valid, or booleans, which were copied here or
        // written by a kernel, as 0 or 1. What wrote them on another stream is waited for.
        unsafe {
            self.memory.device().order(self.memory.stream(), stream)?;
            result::memcpy_dtoh_async(target, self.address(), stream.raw())?;
            result::stream::synchronize(stream.raw())?;
            elements.set_len(count);
        }
        Ok(elements)
    }
}

/// The expression of a variable alone.
#[derive(Default)]
struct Identity(Recent<Plan>);

impl Expression for Identity {
    fn stages(&self, variables: &[Variable<'_>]) -> Result<Stages, Box<dyn std::error::Error + Send + Sync>> {
        let [Variable::Array(ArrayType { dtype, shape, strides, .. })] = *variables else {
            return Err("a copy is one of an array".into());
        };
        let read = Read {
            from: ReadFrom::Variable(0),
            item: dtype.item_size(),
            start: 0,
            strides: strides.to_vec(),
        };
        let stage = Stage {
            sizes: shape.to_vec(),
            is_reduced: vec![false; shape.len()],
            reads: vec![read],
            constants: Vec::new(),
            steps: Vec::new(),
            results: vec![StageResult { value: 0, dtype, fold: None }],
        };
        Ok(Stages { shape: shape.to_vec(), dtype, stages: vec![stage] })
    }

    fn plans(&self) -> &Recent<Plan> {
        &self.0
    }
}
