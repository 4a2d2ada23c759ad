//! GPUs: memory, and kernels that run on them.

#![allow(unsafe_code)]

use crate::cache::{CompileTarget, DiskCache};
use crate::error::Error;
use crate::launch::{Buffer, ENTRY, Word};
use crate::nvrtc::Compiler;
use crate::plan::{ArrayType, Plan, Variable};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use unishape::DType;
use unishape::expr::Expr;

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        let name = error.error_string().ok().and_then(|text| text.to_str().ok()).unwrap_or("unknown error");
        Error::Driver(format!("{name} ({:?})", error.0))
    }
}

/// A stream of a device: what is started on it runs in this order. 0 is the device's default stream.
///
/// ```
/// assert_eq!(unishape_cuda::Stream::default().0, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stream(pub usize);

impl Stream {
    fn raw(self) -> sys::CUstream {
        self.0 as sys::CUstream
    }
}

/// A GPU: compiles and runs kernels, and allocates memory.
///
/// Clones share it. It uses the device's primary context, which PyTorch, CuPy and JAX use, too.
///
/// ```no_run
/// use unishape::expr::Expr;
/// use unishape_cuda::{Array, Device, Stream};
///
/// let device = Device::new(0, &[])?;
/// let a = Array::from_slice(&device, &[1.0f32, 2.0, 3.0], Stream::default())?;
/// let doubled = device.evaluate(&Expr::parse("a + a")?, &[&a], Stream::default())?;
/// assert_eq!(doubled.to_vec::<f32>(Stream::default())?, [2.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    device: sys::CUdevice,
    context: usize,
    capability: i32,
    /// Folders in which Python packages are installed, to find the compiler.
    site_packages: Vec<PathBuf>,
    compiler: OnceLock<Compiler>,
    disk: DiskCache,
    /// Loaded kernels, by their source.
    functions: Mutex<HashMap<Arc<str>, LoadedKernel>>,
}

/// A loaded kernel. Modules are never unloaded: kernels may still run.
#[derive(Clone, Copy, Debug)]
struct LoadedKernel(usize);

impl Device {
    /// A device by its number. `site_packages` are folders in which Python packages are installed, to find NVRTC.
    ///
    /// # Errors
    ///
    /// Where there is no driver, or no such device.
    pub fn new(ordinal: usize, site_packages: &[PathBuf]) -> Result<Device, Error> {
        // Safety: loads the driver, whose initializers have no preconditions.
        if !unsafe { sys::is_culib_present() } {
            let names = vec!["libcuda.so.1 (the NVIDIA driver)".to_owned()];
            return Err(Error::NoLibrary { names, folders: Vec::new(), problems: Vec::new() });
        }
        result::init()?;
        let device = result::device::get(i32::try_from(ordinal).unwrap_or(i32::MAX))?;
        use sys::CUdevice_attribute_enum as Attribute;
        // Safety: the device exists.
        let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // Safety: the device exists. The context is released with the last clone.
        let context = unsafe { result::primary_ctx::retain(device)? };
        let shared = Shared {
            device,
            context: context as usize,
            capability: major * 10 + minor,
            site_packages: site_packages.to_vec(),
            compiler: OnceLock::new(),
            disk: DiskCache::of_user(),
            functions: Mutex::default(),
        };
        Ok(Device { shared: Arc::new(shared) })
    }

    /// Its compute capability, such as 90 for 9.0.
    pub fn capability(&self) -> i32 {
        self.shared.capability
    }

    /// Makes the device's context current in this thread, until the guard is dropped.
    fn enter(&self) -> Result<Entered, Error> {
        let previous = result::ctx::get_current()?.map(|context| context as usize);
        if previous != Some(self.shared.context) {
            // Safety: the context is retained.
            unsafe { result::ctx::set_current(self.shared.context as sys::CUcontext)? };
        }
        Ok(Entered { previous: previous.filter(|&previous| previous != self.shared.context) })
    }

    /// The kernel of a source: loaded before, compiled before and kept on disk, or compiled now.
    fn function(&self, source: &Arc<str>) -> Result<LoadedKernel, Error> {
        let functions = || self.shared.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions().get(source) {
            return Ok(*function);
        }
        // Without the lock: other threads need not wait. Two that need the same kernel load it twice.
        let code = self.code(source)?;
        // Safety: the code is machine code, or a text that ends with a zero. The context is current.
        let function = unsafe {
            let module = result::module::load_data(code.as_ptr().cast())?;
            result::module::get_function(module, CString::new(ENTRY).unwrap_or_default())?
        };
        let function = LoadedKernel(function as usize);
        functions().insert(source.clone(), function);
        Ok(function)
    }

    /// The compiled code of a source.
    fn code(&self, source: &str) -> Result<Vec<u8>, Error> {
        let Shared { compiler, disk, capability, site_packages, .. } = &*self.shared;
        let compiler = match compiler.get() {
            Some(compiler) => compiler,
            None => {
                let loaded = Compiler::load(site_packages)?;
                compiler.get_or_init(|| loaded)
            }
        };
        let target = CompileTarget { capability: *capability, compiler: compiler.version() };
        if let Some(code) = disk.get(source, target) {
            return Ok(code);
        }
        let code = compiler.compile(source, *capability)?;
        disk.insert(source, target, &code);
        Ok(code)
    }

    /// Compiles and loads the kernels of a plan, without running them.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, or the driver fails.
    pub fn prepare(&self, plan: &Plan) -> Result<(), Error> {
        let _entered = self.enter()?;
        plan.launches().iter().try_for_each(|launch| self.function(&launch.kernel.source).map(|_| ()))
    }

    /// Starts the kernels of a plan on a stream.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, or the driver fails.
    ///
    /// # Safety
    ///
    /// `addresses` are those of the plan's variables, and `output` is that of its result: arrays on this device with
    /// the shapes, strides and alignments that the plan was made for. They must stay allocated until the stream has run
    /// the kernels; nothing else may write what they read, or access the output, meanwhile.
    pub unsafe fn run(
        &self,
        plan: &Plan,
        addresses: &[u64],
        output: u64,
        stream: Stream,
    ) -> Result<(), Error> {
        let _entered = self.enter()?;
        let mut temporaries: Vec<DeviceMemory> = Vec::with_capacity(plan.temporaries().len());
        for &bytes in plan.temporaries() {
            temporaries.push(self.allocate(bytes, stream)?);
        }
        for launch in plan.launches() {
            let function = self.function(&launch.kernel.source)?;
            let words = launch.words.iter().map(|word| match *word {
                Word::Value(value) => value,
                Word::Address { buffer, offset } => {
                    let first = match buffer {
                        Buffer::Variable(number) => addresses[number],
                        Buffer::Temporary(number) => temporaries[number].address,
                        Buffer::Output => output,
                    };
                    first.wrapping_add_signed(offset)
                }
            });
            let mut words: Vec<u64> = words.collect();
            let mut parameters = [words.as_mut_ptr().cast::<c_void>()];
            // Safety: the kernel takes one structure of these words, which the driver copies. The caller vouches for
            // addresses of arrays; temporaries are freed on the same stream, after the kernels.
            unsafe {
                result::launch_kernel(
                    function.0 as sys::CUfunction,
                    (launch.blocks, 1, 1),
                    (launch.kernel.threads, 1, 1),
                    0,
                    stream.raw(),
                    &mut parameters,
                )?;
            }
        }
        Ok(())
    }

    /// Allocates memory in the order of a stream.
    fn allocate(&self, bytes: usize, stream: Stream) -> Result<DeviceMemory, Error> {
        let _entered = self.enter()?;
        // Safety: the stream is one of this device.
        let address = unsafe { result::malloc_async(stream.raw(), bytes.max(1))? };
        Ok(DeviceMemory { device: self.clone(), address, stream })
    }

    /// Computes an expression of arrays on a stream.
    ///
    /// # Errors
    ///
    /// Where the expression does not fit the arrays, memory is exhausted, or the driver fails.
    pub fn evaluate(&self, expr: &Expr, arrays: &[&Array], stream: Stream) -> Result<Array, Error> {
        let strides: Vec<Vec<isize>> =
            arrays.iter().map(|array| crate::operand::row_major(&array.shape)).collect();
        let variables: Vec<Variable<'_>> = arrays
            .iter()
            .zip(&strides)
            .map(|(array, strides)| {
                let alignment = 256;
                Variable::Array(ArrayType { dtype: array.dtype, shape: &array.shape, strides, alignment })
            })
            .collect();
        let plan = Plan::new(expr, &variables, None)?;
        let result = Array::new(self, plan.dtype(), plan.shape(), stream)?;
        let addresses: Vec<u64> = arrays.iter().map(|array| array.memory.address).collect();
        if arrays.iter().any(|array| !Arc::ptr_eq(&array.memory.device.shared, &self.shared)) {
            return Err(Error::Driver("arrays are on different devices: copy them to one".into()));
        }
        // Safety: the plan was made for these contiguous arrays, which are borrowed. Their memory is freed on a stream,
        // after what was started on it before.
        unsafe { self.run(&plan, &addresses, result.memory.address, stream)? };
        Ok(result)
    }

    /// Waits until a stream has run everything that was started on it.
    ///
    /// # Errors
    ///
    /// Where a kernel or the driver failed.
    pub fn synchronize(&self, stream: Stream) -> Result<(), Error> {
        let _entered = self.enter()?;
        // Safety: the stream is one of this device.
        unsafe { result::stream::synchronize(stream.raw())? };
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Safety: retained once, in `Device::new`.
        _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

/// Restores the context that was current before.
struct Entered {
    previous: Option<usize>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // Safety: it was current when this was made.
            _ = unsafe { result::ctx::set_current(previous as sys::CUcontext) };
        }
    }
}

/// Memory of a device, freed in the order of its stream.
#[derive(Debug)]
struct DeviceMemory {
    device: Device,
    address: u64,
    stream: Stream,
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_entered) = self.device.enter() {
            // Safety: allocated on this stream, and not used afterwards.
            _ = unsafe { result::free_async(self.address, self.stream.raw()) };
        }
    }
}

/// An element type of arrays on a device.
pub trait Element: Copy + private::Sealed {
    /// Its dtype.
    const DTYPE: DType;
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($type:ty: $dtype:ident),+) => {
        $(impl private::Sealed for $type {}
        impl Element for $type {
            const DTYPE: DType = DType::$dtype;
        })+
    };
}
elements!(f32: F32, f64: F64, i8: I8, i16: I16, i32: I32, i64: I64, u8: U8, u16: U16, u32: U32, u64: U64);

/// A contiguous array on a device.
///
/// See [`Device`] for an example.
#[derive(Debug)]
pub struct Array {
    memory: DeviceMemory,
    dtype: DType,
    shape: Vec<usize>,
}

impl Array {
    /// An array whose elements have not been written yet.
    fn new(device: &Device, dtype: DType, shape: &[usize], stream: Stream) -> Result<Array, Error> {
        let bytes = shape.iter().try_fold(dtype.item_size(), |bytes, &size| bytes.checked_mul(size));
        let memory = device.allocate(bytes.ok_or(Error::TooLarge)?, stream)?;
        Ok(Array { memory, dtype, shape: shape.to_vec() })
    }

    /// Copies elements to a device, as an array of one dimension.
    ///
    /// # Errors
    ///
    /// Where memory is exhausted, or the driver fails.
    pub fn from_slice<T: Element>(device: &Device, elements: &[T], stream: Stream) -> Result<Array, Error> {
        let array = Array::new(device, T::DTYPE, &[elements.len()], stream)?;
        let _entered = device.enter()?;
        // Safety: there is room for the elements, which are numbers. Waits, so that they may be dropped afterwards.
        unsafe {
            result::memcpy_htod_async(array.memory.address, elements, stream.raw())?;
            result::stream::synchronize(stream.raw())?;
        }
        Ok(array)
    }

    /// The same elements in another shape.
    ///
    /// # Errors
    ///
    /// Where the shape has another number of elements.
    pub fn reshaped(self, shape: &[usize]) -> Result<Array, Error> {
        let count = |shape: &[usize]| shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        match count(shape) == count(&self.shape) {
            true => Ok(Array { shape: shape.to_vec(), ..self }),
            false => Err(Error::OutputShape { result: self.shape, output: shape.to_vec() }),
        }
    }

    /// Its shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Its dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// Copies the elements from the device.
    ///
    /// # Errors
    ///
    /// Where the dtype is another one, or the driver fails.
    pub fn to_vec<T: Element>(&self, stream: Stream) -> Result<Vec<T>, Error> {
        if T::DTYPE != self.dtype {
            return Err(Error::Driver(format!("the array has dtype {}, not {}", self.dtype, T::DTYPE)));
        }
        let _entered = self.memory.device.enter()?;
        let count = self.shape.iter().product();
        let mut elements: Vec<T> = Vec::with_capacity(count);
        // Safety: the memory holds as many numbers, of which all bits are valid; there is room for them.
        unsafe {
            let room = std::slice::from_raw_parts_mut(elements.as_mut_ptr(), count);
            result::memcpy_dtoh_async(room, self.memory.address, stream.raw())?;
            result::stream::synchronize(stream.raw())?;
            elements.set_len(count);
        }
        Ok(elements)
    }
}
