//! GPUs: memory, and kernels that run on them.

#![allow(unsafe_code)]

use crate::disk::{CompileTarget, DiskCache};
use crate::error::Error;
use crate::launch::{Buffer, ENTRY, Kernel, Word};
use crate::nvrtc::Compiler;
use crate::plan::Plan;
use crate::value::Numerics;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{CString, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use unishape_engine::parallel::num_threads;

impl From<DriverError> for Error {
    fn from(error: DriverError) -> Error {
        let name = error.error_string().ok().and_then(|text| text.to_str().ok()).unwrap_or("unknown error");
        Error::Driver(format!("{name} ({:?})", error.0))
    }
}

/// A stream of a device: what is started on it runs in this order.
///
/// The default one is the device's default stream.
///
/// ```
/// assert_eq!(unishape_cuda::Stream::default().handle(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(usize);

impl Default for Stream {
    fn default() -> Stream {
        Stream(1)
    }
}

impl Stream {
    /// A stream by its handle of the driver.
    ///
    /// 0 and 1 are the device's default stream, 2 is that of the calling thread.
    ///
    /// # Safety
    ///
    /// A stream with this handle exists on the devices that it is used with, for as long as arrays and memory that were
    /// allocated on it exist.
    pub const unsafe fn from_handle(handle: usize) -> Stream {
        // Both are the default stream, but only 1 is one by all protocols.
        Stream(if handle == 0 { 1 } else { handle })
    }

    /// The handle of the driver; never 0.
    pub const fn handle(self) -> usize {
        self.0
    }

    pub(crate) fn raw(self) -> sys::CUstream {
        self.0 as sys::CUstream
    }
}

/// Loads the driver, if that has not happened yet.
fn find_driver() -> Result<(), Error> {
    static IS_FOUND: AtomicBool = AtomicBool::new(false);
    if IS_FOUND.load(Ordering::Relaxed) {
        return Ok(());
    }
    // Safety: the initializers of the driver have no preconditions.
    if !unsafe { sys::is_culib_present() } {
        let names = vec!["libcuda.so.1 (the NVIDIA driver)".to_owned()];
        return Err(Error::NoLibrary { names, folders: Vec::new(), problems: Vec::new(), advice: None });
    }
    result::init()?;
    IS_FOUND.store(true, Ordering::Relaxed);
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The newest version of CUDA that the driver supports, such as 13.
fn driver_version() -> Option<i32> {
    let mut version = 0;
    // Safety: the pointer is to an integer.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    status.result().ok().map(|()| version / 1000)
}

/// A GPU: compiles and runs kernels, and allocates memory.
///
/// Every `Device` with the same number shares one context and its kernels. It is the device's primary context, which
/// PyTorch, CuPy and JAX use, too, and is kept until the process ends: plans and cached expressions refer to kernels that
/// were loaded in it.
///
/// ```no_run
/// use unishape::expr::Expr;
/// use unishape_cuda::{Array, Device, Stream};
///
/// let device = Device::new(0, &[])?;
/// let a = Array::from_slice(&device, &[1.0f32, 2.0, 3.0], Stream::default())?;
/// let doubled = device.evaluate(&Expr::parse("a + a")?, &[(&a).into()], Stream::default())?;
/// assert_eq!(doubled.to_vec::<f32>(Stream::default())?, [2.0, 4.0, 6.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Device {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    context: usize,
    capability: i32,
    /// Folders in which Python packages are installed, to find the compiler.
    site_packages: Mutex<Vec<PathBuf>>,
    compiler: OnceLock<Compiler>,
    disk: DiskCache,
    /// Loaded kernels, by their source. Modules are never unloaded: kernels may still run.
    functions: Mutex<HashMap<(Arc<str>, Numerics), usize>>,
}

/// The devices of this process, by their numbers.
static DEVICES: Mutex<BTreeMap<usize, Device>> = Mutex::new(BTreeMap::new());

impl Device {
    /// A device by its number.
    ///
    /// `site_packages` are folders in which Python packages are installed, to find NVRTC.
    ///
    /// # Errors
    ///
    /// Where there is no driver, or no such device.
    pub fn new(ordinal: usize, site_packages: &[PathBuf]) -> Result<Device, Error> {
        let mut devices = lock(&DEVICES);
        if let Some(device) = devices.get(&ordinal) {
            let mut known = lock(&device.shared.site_packages);
            let new: Vec<PathBuf> =
                site_packages.iter().filter(|folder| !known.contains(folder)).cloned().collect();
            known.extend(new);
            return Ok(device.clone());
        }
        let device = Device::open(ordinal, site_packages)?;
        devices.insert(ordinal, device.clone());
        Ok(device)
    }

    fn open(ordinal: usize, site_packages: &[PathBuf]) -> Result<Device, Error> {
        find_driver()?;
        let device = result::device::get(i32::try_from(ordinal).unwrap_or(i32::MAX))?;
        use sys::CUdevice_attribute_enum as Attribute;
        // Safety: the device exists.
        let attribute = |attribute| unsafe { result::device::get_attribute(device, attribute) };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // Safety: the device exists. The context is never released.
        let context = unsafe { result::primary_ctx::retain(device)? };
        let shared = Shared {
            context: context as usize,
            capability: major * 10 + minor,
            site_packages: Mutex::new(site_packages.to_vec()),
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
    pub(crate) fn enter(&self) -> Result<Entered, Error> {
        let previous = result::ctx::get_current()?.map_or(0, |context| context as usize);
        if previous == self.shared.context {
            return Ok(Entered { previous: None });
        }
        // Safety: the context is retained.
        unsafe { result::ctx::set_current(self.shared.context as sys::CUcontext)? };
        Ok(Entered { previous: Some(previous) })
    }

    /// Whether another value is the same device.
    pub(crate) fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The function of a kernel: loaded before, compiled before and kept on disk, or compiled now.
    fn function(&self, kernel: &Kernel) -> Result<usize, Error> {
        let numerics = kernel.numerics;
        let functions = || lock(&self.shared.functions);
        let key = (kernel.source.clone(), numerics);
        if let Some(function) = functions().get(&key) {
            return Ok(*function);
        }
        // Without the lock: other threads need not wait. Two that need the same kernel load it twice.
        let code = self.code(&kernel.source, numerics)?;
        let _relaxed = RelaxedCapture::new();
        // Safety: the code is machine code, or a text that ends with a zero. The context is current.
        let function = unsafe {
            let module = result::module::load_data(code.as_ptr().cast())?;
            result::module::get_function(module, CString::new(ENTRY).unwrap_or_default())?
        };
        functions().insert(key, function as usize);
        Ok(function as usize)
    }

    /// The compiled code of a source.
    fn code(&self, source: &str, numerics: Numerics) -> Result<Vec<u8>, Error> {
        let Shared { compiler, disk, capability, site_packages, .. } = &*self.shared;
        let compiler = match compiler.get() {
            Some(compiler) => compiler,
            None => {
                let folders = lock(site_packages).clone();
                let loaded = Compiler::load_for(&folders, driver_version())?;
                compiler.get_or_init(|| loaded)
            }
        };
        let target = CompileTarget { capability: *capability, compiler: compiler.version(), numerics };
        if let Some(code) = disk.get(source, target) {
            return Ok(code);
        }
        let code = compiler.compile(source, *capability, numerics)?;
        disk.insert(source, target, &code);
        Ok(code)
    }

    /// The number of the device that an address belongs to.
    ///
    /// # Errors
    ///
    /// Where there is no driver, or the address is none of a device.
    pub fn of_address(address: u64) -> Result<usize, Error> {
        find_driver()?;
        let mut ordinal: std::ffi::c_int = 0;
        // Safety: the attribute is an integer, and so is what the pointer points to.
        let status = unsafe {
            sys::cuPointerGetAttribute(
                (&raw mut ordinal).cast(),
                sys::CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                address,
            )
        };
        match status {
            sys::CUresult::CUDA_ERROR_INVALID_VALUE => Err(Error::NotOnDevice),
            status => {
                status.result()?;
                usize::try_from(ordinal).map_err(|_| Error::NotOnDevice)
            }
        }
    }

    /// Whether the kernels of a plan are loaded: whether running it compiles nothing.
    pub fn is_loaded(&self, plan: &Plan) -> bool {
        plan.loaded.has(self.shared.context)
    }

    /// Compiles and loads the kernels of a plan, without running them.
    ///
    /// Different kernels are compiled at the same time, on at most as many threads as an expression on the CPU has.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, or the driver fails.
    pub fn prepare(&self, plan: &Plan) -> Result<(), Error> {
        self.functions_of(plan).map(drop)
    }

    /// The functions of a plan's kernels.
    fn functions_of(&self, plan: &Plan) -> Result<Arc<[usize]>, Error> {
        plan.loaded.get_or_load(self.shared.context, || {
            let mut kernels: Vec<&Kernel> = Vec::new();
            for launch in plan.launches() {
                if !kernels.contains(&&launch.kernel) {
                    kernels.push(&launch.kernel);
                }
            }
            let functions = self.load(&kernels)?;
            let function = |kernel: &Kernel| {
                let at = kernels.iter().position(|own| *own == kernel);
                at.map(|at| functions[at]).ok_or_else(|| Error::Compile("a kernel was not loaded".into()))
            };
            plan.launches().iter().map(|launch| function(&launch.kernel)).collect()
        })
    }

    /// Loads different kernels, on several threads.
    fn load(&self, kernels: &[&Kernel]) -> Result<Vec<usize>, Error> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, usize)>, Error> {
            let _entered = self.enter()?;
            let mut loaded = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                match kernels.get(at) {
                    Some(kernel) => loaded.push((at, self.function(kernel)?)),
                    None => return Ok(loaded),
                }
            }
        };
        let mut loaded = thread::scope(|scope| {
            // Where no thread can be started, this one does all of the work.
            let start = |_| thread::Builder::new().spawn_scoped(scope, work).ok();
            let threads: Vec<_> = (1..num_threads().min(kernels.len())).filter_map(start).collect();
            let mut loaded = work()?;
            for thread in threads {
                let failed = |_| Error::Compile("a thread of the compiler failed".into());
                loaded.extend(thread.join().map_err(failed)??);
            }
            Ok::<_, Error>(loaded)
        })?;
        loaded.sort_unstable();
        Ok(loaded.into_iter().map(|(_, function)| function).collect())
    }

    /// Starts the kernels of a plan on a stream.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, or the driver fails.
    ///
    /// # Panics
    ///
    /// Where there are fewer addresses than the plan has variables or temporaries.
    ///
    /// # Safety
    ///
    /// `addresses` are those of the plan's variables, and `output` is that of its result: arrays on this device with the
    /// shapes, strides and alignments that the plan was made for. `temporaries` are addresses of as many bytes as
    /// [`Plan::temporaries`] says. All must stay allocated until the stream has run the kernels; nothing else may write
    /// what they read, or access the output and the temporaries, meanwhile.
    pub unsafe fn run(
        &self,
        plan: &Plan,
        addresses: &[u64],
        output: u64,
        temporaries: &[u64],
        stream: Stream,
    ) -> Result<(), Error> {
        let functions = self.functions_of(plan)?;
        let _entered = self.enter()?;
        let mut words: Vec<u64> = Vec::new();
        for (launch, &function) in plan.launches().iter().zip(&*functions) {
            words.clear();
            words.extend(launch.words.iter().map(|word| match *word {
                Word::Value(value) => value,
                Word::Address { buffer, offset } => {
                    let first = match buffer {
                        Buffer::Variable(number) => addresses[number],
                        Buffer::Temporary(number) => temporaries[number],
                        Buffer::Output => output,
                    };
                    first.wrapping_add_signed(offset)
                }
            }));
            let mut parameters = [words.as_mut_ptr().cast::<c_void>()];
            // Safety: the kernel takes one structure of these words, which the driver copies. The caller vouches for
            // addresses.
            unsafe {
                result::launch_kernel(
                    function as sys::CUfunction,
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
    ///
    /// # Errors
    ///
    /// Where memory is exhausted, or the driver fails.
    pub fn allocate(&self, bytes: usize, stream: Stream) -> Result<DeviceMemory, Error> {
        let _entered = self.enter()?;
        // Safety: the stream is one of this device.
        let address = unsafe { result::malloc_async(stream.raw(), bytes.max(1))? };
        Ok(DeviceMemory { device: self.clone(), address, stream })
    }

    /// Writes a few bytes at an address, in the order of a stream.
    ///
    /// They are part of what is started: nothing is copied from the host later, so that a captured graph has them, too.
    ///
    /// # Errors
    ///
    /// Where the driver fails.
    ///
    /// # Safety
    ///
    /// The address is one of this device with room for the bytes, and is aligned to their number.
    pub unsafe fn write(&self, address: u64, bytes: &[u8], stream: Stream) -> Result<(), Error> {
        let _entered = self.enter()?;
        for (at, part) in bytes.chunks(4).enumerate() {
            let address = address + 4 * at as u64;
            // Safety: the caller vouches for the address; parts have 1, 2 or 4 bytes.
            let status = unsafe {
                match *part {
                    [a, b, c, d] => {
                        sys::cuMemsetD32Async(address, u32::from_le_bytes([a, b, c, d]), 1, stream.raw())
                    }
                    [a, b] => sys::cuMemsetD16Async(address, u16::from_le_bytes([a, b]), 1, stream.raw()),
                    _ => sys::cuMemsetD8Async(address, part[0], part.len(), stream.raw()),
                }
            };
            status.result()?;
        }
        Ok(())
    }

    /// Makes a stream wait for what was started on another one so far.
    ///
    /// The calling thread does not wait.
    ///
    /// # Errors
    ///
    /// Where the driver fails.
    ///
    /// # Safety
    ///
    /// Both are streams of this device.
    pub unsafe fn order(&self, first: Stream, then: Stream) -> Result<(), Error> {
        if first == then {
            return Ok(());
        }
        let _entered = self.enter()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
        // Safety: the caller vouches for the streams. An event may be destroyed before it has occurred.
        unsafe {
            let recorded = result::event::record(event, first.raw());
            let waiting = recorded.and_then(|()| {
                result::stream::wait_event(then.raw(), event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT)
            });
            result::event::destroy(event)?;
            Ok(waiting?)
        }
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

/// Restores the context that was current before. Where there was none, there is none afterwards: a context would become
/// the current device of the libraries that this thread uses.
pub(crate) struct Entered {
    /// 0 for no context; `None` where the device's own one was current.
    previous: Option<usize>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            // Safety: it was current when this was made, or is null.
            _ = unsafe { result::ctx::set_current(previous as sys::CUcontext) };
        }
    }
}

/// Allows this thread to load modules while a stream is captured, until it is dropped.
struct RelaxedCapture(sys::CUstreamCaptureMode);

impl RelaxedCapture {
    fn new() -> RelaxedCapture {
        let mut mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // Safety: exchanges the mode of this thread. Where that fails, loading reports why.
        _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
        RelaxedCapture(mode)
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // Safety: sets the mode that this thread had before.
        _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut self.0) };
    }
}

/// Memory of a device, freed in the order of its stream.
///
/// See [`Device::allocate`].
#[derive(Debug)]
pub struct DeviceMemory {
    device: Device,
    address: u64,
    stream: Stream,
}

impl DeviceMemory {
    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The stream in whose order it was allocated and is freed.
    pub fn stream(&self) -> Stream {
        self.stream
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        if let Ok(_entered) = self.device.enter() {
            // Safety: allocated on this stream, and not used afterwards.
            _ = unsafe { result::free_async(self.address, self.stream.raw()) };
        }
    }
}
