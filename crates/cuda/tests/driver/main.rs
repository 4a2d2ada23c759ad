//! Calls of the driver and of NVRTC, recorded by libraries without a GPU.
//!
//! Kernels do nothing: what they compute is tested by emulation and on GPUs. Python's tests do the same with its arrays.

#![allow(unsafe_code)]
#![cfg(target_os = "linux")]

use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use unishape::DType;
use unishape::expr::Expr;
use unishape_cuda::{
    Array, ArrayType, Compiler, Device, DeviceValue, Error, Numerics, Plan, Stream, Variable,
};

/// The recording libraries, of which each test has its own turn.
struct Recorder {
    driver: Library,
    /// NVRTC 13 and 12.
    compilers: [Library; 2],
    folder: tempfile::TempDir,
}

static RECORDER: LazyLock<Mutex<Recorder>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    // Safety: all threads of this process that read variables wait for this.
    unsafe { std::env::set_var("XDG_CACHE_HOME", folder.path()) };
    // The first name that is tried: it is found before the driver of a machine with a GPU.
    let driver = compile(folder.path(), "libcuda.so", &[]);
    // As pip installs the packages for CUDA 13 and 12.
    let compilers = [
        compile(&folder.path().join("nvidia/cu13/lib"), "libnvrtc.so.13", &["-DNVRTC=13"]),
        compile(&folder.path().join("nvidia/cuda_nvrtc/lib"), "libnvrtc.so.12", &["-DNVRTC=12"]),
    ];
    Mutex::new(Recorder { driver: load(&driver), compilers: compilers.map(|path| load(&path)), folder })
});

fn compile(folder: &Path, name: &str, options: &[&str]) -> PathBuf {
    std::fs::create_dir_all(folder).unwrap();
    let library = folder.join(name);
    let status = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-pthread", &format!("-Wl,-soname,{name}"), "-o"])
        .arg(&library)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/driver.c"))
        .args(options)
        .status()
        .expect("cc is installed");
    assert!(status.success());
    library
}

fn load(path: &Path) -> Library {
    // Safety: the library has no initializers.
    unsafe { Library::new(path).unwrap() }
}

/// Empties the log of a library, and returns its lines.
fn take_log(library: &Library) -> Vec<String> {
    let mut text: Vec<c_char> = vec![0; 1 << 16];
    // Safety: the function has this signature, and writes at most as many bytes, with a zero at the end.
    let text = unsafe {
        let take: Symbol<'_, unsafe extern "C" fn(*mut c_char)> = library.get(b"take_log\0").unwrap();
        take(text.as_mut_ptr());
        CStr::from_ptr(text.as_ptr()).to_str().unwrap().to_owned()
    };
    text.lines().map(str::to_owned).collect()
}

fn recorder() -> MutexGuard<'static, Recorder> {
    let recorder = RECORDER.lock().unwrap_or_else(PoisonError::into_inner);
    take_log(&recorder.driver);
    recorder.compilers.iter().for_each(|library| drop(take_log(library)));
    recorder.set_current(0);
    recorder
}

impl Recorder {
    fn device(&self, ordinal: usize) -> Device {
        Device::new(ordinal, &[self.folder.path().to_owned()]).unwrap()
    }

    /// Calls of the driver since the last time.
    fn calls(&self) -> Vec<String> {
        take_log(&self.driver)
    }

    /// Makes a context current in this thread; 0 for none.
    fn set_current(&self, context: usize) {
        // Safety: the function has this signature.
        unsafe {
            let set: Symbol<'_, unsafe extern "C" fn(*mut c_void) -> c_int> =
                self.driver.get(b"cuCtxSetCurrent\0").unwrap();
            set(context as *mut c_void);
        }
    }

    fn current(&self) -> usize {
        let mut context: *mut c_void = std::ptr::null_mut();
        // Safety: the function has this signature.
        unsafe {
            let get: Symbol<'_, unsafe extern "C" fn(*mut *mut c_void) -> c_int> =
                self.driver.get(b"cuCtxGetCurrent\0").unwrap();
            get(&mut context);
        }
        context as usize
    }

    fn capture_mode(&self) -> c_int {
        // Safety: the function has this signature.
        unsafe { self.driver.get::<unsafe extern "C" fn() -> c_int>(b"get_capture_mode\0").unwrap()() }
    }
}

/// A stream of the recording driver.
fn stream(number: usize) -> Stream {
    // Safety: the driver has a stream of every number.
    unsafe { Stream::from_handle(number) }
}

fn evaluate(device: &Device, text: &str, values: &[DeviceValue<'_>], stream: Stream) -> Result<Array, Error> {
    device.evaluate(&Expr::parse(text).unwrap(), values, stream)
}

const NUMBERS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

#[test]
fn streams_have_the_handles_of_the_driver() {
    assert_eq!([0, 1, 2, 99].map(|handle| stream(handle).handle()), [1, 1, 2, 99]);
}

#[test]
fn elements_are_copied_to_a_device_and_back() {
    let recorder = recorder();
    let device = recorder.device(0);
    let x = Array::from_slice(&device, &NUMBERS, stream(5)).unwrap();
    assert_eq!((x.shape(), x.strides(), x.dtype()), (&[6][..], &[1][..], DType::F32));
    let address = x.address();
    let expected = [
        "allocate 24 on 5 in 1000",
        &format!("copy 24 to {address:x} on 5 in 1000"),
        "synchronize 5 in 1000",
    ];
    assert_eq!(recorder.calls(), expected);
    assert_eq!(x.to_vec::<f32>(stream(5)).unwrap(), NUMBERS);
    assert_eq!(
        recorder.calls(),
        [&format!("copy 24 from {address:x} on 5 in 1000"), "synchronize 5 in 1000"]
    );
    // Another stream waits for what wrote the elements.
    assert_eq!(x.to_vec::<f32>(stream(6)).unwrap(), NUMBERS);
    assert_eq!(recorder.calls()[..2], ["record 1 on 5", "wait for 1 on 6"]);
    let wrong = x.to_vec::<f64>(stream(5)).unwrap_err().to_string();
    assert_eq!(wrong, "the array has dtype float32, not float64");
    drop(x);
    assert_eq!(recorder.calls(), [format!("free {address:x} on 5 in 1000")]);
}

#[test]
fn views_have_shapes_and_strides_and_are_copied_if_not_contiguous() {
    let recorder = recorder();
    let device = recorder.device(0);
    let one = stream(1);
    let array = |shape: &[usize]| Array::from_slice(&device, &NUMBERS, one).unwrap().reshaped(shape);
    let x = array(&[2, 3]).unwrap();
    assert_eq!((x.shape(), x.strides()), (&[2, 3][..], &[3, 1][..]));
    assert_eq!(x.to_vec::<f32>(one).unwrap(), NUMBERS);
    let view = x.transposed();
    assert_eq!((view.shape(), view.strides(), view.address()), (&[3, 2][..], &[1, 3][..], x.address()));
    let launches = |array: &Array| {
        recorder.calls();
        let elements = array.to_vec::<f32>(one).unwrap();
        assert_eq!(elements.len(), array.shape().iter().product::<usize>());
        recorder.calls().iter().filter(|line| line.starts_with("launch")).count()
    };
    assert_eq!(launches(&view), 1);
    // A row or no elements are contiguous in any order of their axes.
    assert_eq!(launches(&array(&[1, 6]).unwrap().transposed()), 0);
    let empty = Array::from_slice(&device, &NUMBERS[..0], one).unwrap().reshaped(&[0, 3]).unwrap();
    assert_eq!(launches(&empty.transposed()), 0);
    assert!(empty.transposed().reshaped(&[7, 0]).is_ok());
    for wrong in [array(&[4]), array(&[usize::MAX, 2]), view.reshaped(&[6])] {
        assert!(matches!(wrong, Err(Error::OutputShape { .. })), "{wrong:?}");
    }
}

#[test]
fn streams_of_arrays_and_results_wait_for_each_other() {
    let recorder = recorder();
    let device = recorder.device(0);
    let x = Array::from_slice(&device, &NUMBERS, stream(5)).unwrap();
    recorder.calls();
    let y = evaluate(&device, "x * x - k", &[(&x).into(), 0.5.into()], stream(7)).unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[6][..], DType::F32));
    let expected = [
        "allocate 24 on 7 in 1000",
        "record 1 on 5",
        "wait for 1 on 7",
        // The compiler is the one of the driver's version, and loading does not end the capture of a graph.
        "load cubin 12 in 1000, capture mode 2",
        "launch on 7 in 1000",
        "record 2 on 7",
        "wait for 2 on 5",
    ];
    assert_eq!(recorder.calls(), expected);
    assert_eq!(recorder.capture_mode(), 0);
    // NVRTC 12.4 keeps no compiled code.
    let options = "--std=c++17 --fmad=false --gpu-architecture=sm_90";
    assert_eq!(take_log(&recorder.compilers[1]), [options, "destroy"]);
    // The kernel is loaded.
    let z = evaluate(&device, "x * x - k", &[(&x).into(), 1.5.into()], stream(5)).unwrap();
    assert_eq!(recorder.calls(), ["allocate 24 on 5 in 1000", "launch on 5 in 1000"]);
    let addresses = [&y, &z].map(Array::address);
    drop((y, z));
    let [y, z] = addresses;
    assert_eq!(recorder.calls(), [format!("free {y:x} on 7 in 1000"), format!("free {z:x} on 5 in 1000")]);
}

#[test]
fn devices_have_contexts_of_their_own() {
    let recorder = recorder();
    let [first, second] = [0, 1].map(|ordinal| recorder.device(ordinal));
    assert_eq!([first.capability(), second.capability()], [90, 89]);
    assert!(matches!(Device::new(2, &[]), Err(Error::Driver(text)) if text.contains("no such device")));
    let x = Array::from_slice(&second, &NUMBERS, stream(1)).unwrap();
    let other = evaluate(&first, "x + 1", &[(&x).into()], stream(1));
    assert!(matches!(other, Err(Error::OtherDevice)), "{other:?}");
    recorder.calls();
    // The current context is what it was before.
    for current in [0, 1000, 1001] {
        recorder.set_current(current);
        first.synchronize(stream(3)).unwrap();
        second.synchronize(stream(4)).unwrap();
        assert_eq!(recorder.calls(), ["synchronize 3 in 1000", "synchronize 4 in 1001"]);
        assert_eq!(recorder.current(), current);
    }
    recorder.set_current(0);
    // The compiler does not know this device: the driver translates the code.
    evaluate(&second, "x + x * 3", &[(&x).into()], stream(1)).unwrap();
    let calls = recorder.calls();
    assert!(calls.contains(&"load ptx 12 in 1001, capture mode 2".to_owned()), "{calls:?}");
    let memory = second.allocate(0, stream(8)).unwrap();
    assert_eq!((recorder.calls(), memory.stream()), (vec!["allocate 1 on 8 in 1001".to_owned()], stream(8)));
    let address = memory.address();
    drop(memory);
    assert_eq!(recorder.calls(), [format!("free {address:x} on 8 in 1001")]);
}

#[test]
fn plans_are_loaded_once_on_each_device() {
    let recorder = recorder();
    let devices = [0, 1].map(|ordinal| recorder.device(ordinal));
    let array = ArrayType { dtype: DType::F32, shape: &[300, 40], strides: &[40, 1], alignment: 256 };
    let expr = Expr::parse("sum(a * 3 - 1, axis=0) + sum(b * 3 - 1, axis=0)").unwrap();
    let plan = Plan::new(&expr, &[Variable::Array(array); 2], None, Numerics::Exact).unwrap();
    let kernels: std::collections::HashSet<_> = plan.launches().iter().map(|launch| &launch.kernel).collect();
    assert!(1 < kernels.len() && kernels.len() < plan.launches().len());
    for (number, device) in devices.iter().enumerate() {
        assert!(!device.is_loaded(&plan));
        device.prepare(&plan).unwrap();
        assert!(device.is_loaded(&plan));
        let calls = recorder.calls();
        assert_eq!(calls.len(), kernels.len(), "{calls:?}");
        assert!(
            calls
                .iter()
                .all(|line| line.starts_with("load") && line.contains(&format!("in {}", 1000 + number)))
        );
        device.prepare(&plan).unwrap();
        assert!(recorder.calls().is_empty());
    }
}

#[test]
fn compilers_take_options_and_return_machine_code_or_ptx() {
    let recorder = recorder();
    // NVRTC 13 comes first among those that are loaded, and before others in folders.
    let other = recorder.folder.path().join("other");
    compile(&other.join("nvidia/cu13/lib"), "libnvrtc.so.13", &["-DNVRTC=13", "-DMINOR=9"]);
    let compiler = Compiler::load(&[other]).unwrap();
    assert_eq!(compiler.version(), (13, 0));
    assert!(format!("{compiler:?}").contains("(13, 0)"));
    let options = |numerics: Numerics, capability: i32| {
        let code = compiler.compile("kernel", capability, numerics).unwrap();
        let log = take_log(&recorder.compilers[0]);
        assert_eq!(log[1..], ["destroy"]);
        (String::from_utf8(code).unwrap(), log[0].clone())
    };
    let exact = "--std=c++17 --fmad=false --no-cache --gpu-architecture=";
    for (capability, code, architecture) in [
        (75, "cubin 13\0", "sm_75"),
        (89, "ptx 13\0", "compute_80"),
        (90, "cubin 13\0", "sm_90"),
        (999, "ptx 13\0", "compute_90"),
    ] {
        assert_eq!(options(Numerics::Exact, capability), (code.into(), format!("{exact}{architecture}")));
    }
    let fused =
        "--std=c++17 --fmad=true --prec-div=false --prec-sqrt=false --no-cache --gpu-architecture=sm_90";
    assert_eq!(options(Numerics::Fused, 90).1, fused);
    let fast = "--std=c++17 --use_fast_math --no-cache --gpu-architecture=sm_90";
    assert_eq!(options(Numerics::Fast, 90).1, fast);
    for (source, capability, problem) in [
        ("kernel", 74, "NVRTC 13.0 does not support devices of compute capability 7.4"),
        ("wrong", 90, "a kernel cannot be compiled: line"),
        ("refused", 90, "NVRTC cannot create a program (status 3)"),
        ("ker\0nel", 90, "a kernel cannot be compiled: "),
    ] {
        let error = compiler.compile(source, capability, Numerics::Exact).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    assert_eq!(take_log(&recorder.compilers[0])[1..], ["destroy"]);
}
