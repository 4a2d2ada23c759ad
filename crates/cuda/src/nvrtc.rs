//! NVRTC: compiles CUDA C++ at run time.

#![allow(unsafe_code)]

use crate::error::Error;
use crate::libraries::load_nvrtc;
use crate::value::Numerics;
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr;

/// The oldest version that keeps compiled code itself. The cache of version 13.0 returns code of other options, such as
/// those of `Numerics::Fused` for `Numerics::Fast`.
const HAS_CACHE: (i32, i32) = (12, 9);

/// Options of a compilation.
fn options(numerics: Numerics) -> &'static [&'static CStr] {
    match numerics {
        // Multiplications and additions are rounded separately, as on the CPU; division and square roots are exact by default.
        Numerics::Exact => &[c"--std=c++17", c"--fmad=false"],
        Numerics::Fused => &[c"--std=c++17", c"--fmad=true", c"--prec-div=false", c"--prec-sqrt=false"],
        Numerics::Fast => &[c"--std=c++17", c"--use_fast_math"],
    }
}

type Program = *mut c_void;

/// A compiled program with its status code; 0 is success.
type Status = c_int;

/// Functions of the library.
struct Functions {
    version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status,
    create: unsafe extern "C" fn(
        *mut Program,
        *const c_char,
        *const c_char,
        c_int,
        *const *const c_char,
        *const *const c_char,
    ) -> Status,
    compile: unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status,
    destroy: unsafe extern "C" fn(*mut Program) -> Status,
    log_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    log: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    cubin_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    cubin: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ptx_size: unsafe extern "C" fn(Program, *mut usize) -> Status,
    ptx: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    arch_count: unsafe extern "C" fn(*mut c_int) -> Status,
    archs: unsafe extern "C" fn(*mut c_int) -> Status,
}

/// NVRTC, loaded at run time.
///
/// ```no_run
/// use unishape_cuda::{Compiler, Numerics};
///
/// let compiler = Compiler::load(&["/opt/python/lib/python3.12/site-packages".into()])?;
/// let cubin = compiler.compile("extern \"C\" __global__ void nothing() {}", 90, Numerics::Exact)?;
/// # Ok::<(), unishape_cuda::Error>(())
/// ```
pub struct Compiler {
    functions: Functions,
    version: (i32, i32),
    /// Compute capabilities that it compiles for, ascending, such as 90 for 9.0.
    capabilities: Vec<i32>,
    /// Keeps the functions valid.
    _library: Library,
}

impl Compiler {
    /// Finds and loads the library.
    ///
    /// `site_packages` are folders in which Python packages are installed.
    ///
    /// # Errors
    ///
    /// Where there is none. The error lists where it was looked for.
    pub fn load(site_packages: &[PathBuf]) -> Result<Compiler, Error> {
        Compiler::load_for(site_packages, None)
    }

    /// The same, with the version of CUDA that the driver supports, such as 13.
    pub(crate) fn load_for(site_packages: &[PathBuf], driver: Option<i32>) -> Result<Compiler, Error> {
        let library = load_nvrtc(site_packages, driver)?;
        let missing = |error: libloading::Error| Error::Library(error.to_string());
        // Safety: these are the functions' signatures in nvrtc.h, the same in all versions since CUDA 11.2.
        let functions = unsafe {
            Functions {
                version: *library.get(b"nvrtcVersion\0").map_err(missing)?,
                create: *library.get(b"nvrtcCreateProgram\0").map_err(missing)?,
                compile: *library.get(b"nvrtcCompileProgram\0").map_err(missing)?,
                destroy: *library.get(b"nvrtcDestroyProgram\0").map_err(missing)?,
                log_size: *library.get(b"nvrtcGetProgramLogSize\0").map_err(missing)?,
                log: *library.get(b"nvrtcGetProgramLog\0").map_err(missing)?,
                cubin_size: *library.get(b"nvrtcGetCUBINSize\0").map_err(missing)?,
                cubin: *library.get(b"nvrtcGetCUBIN\0").map_err(missing)?,
                ptx_size: *library.get(b"nvrtcGetPTXSize\0").map_err(missing)?,
                ptx: *library.get(b"nvrtcGetPTX\0").map_err(missing)?,
                arch_count: *library.get(b"nvrtcGetNumSupportedArchs\0").map_err(missing)?,
                archs: *library.get(b"nvrtcGetSupportedArchs\0").map_err(missing)?,
            }
        };
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // Safety: the pointers are those of variables of these types.
        let status = unsafe {
            match (functions.version)(&mut major, &mut minor) {
                0 => (functions.arch_count)(&mut count),
                status => status,
            }
        };
        let mut capabilities = vec![0; usize::try_from(count).unwrap_or(0)];
        let status = match status {
            // Safety: the vector has as many numbers as the library has just reported.
            0 => unsafe { (functions.archs)(capabilities.as_mut_ptr()) },
            status => status,
        };
        if status != 0 || capabilities.is_empty() {
            return Err(Error::Library(format!("NVRTC does not report its version (status {status})")));
        }
        Ok(Compiler { functions, version: (major, minor), capabilities, _library: library })
    }

    /// Major and minor version of the library.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles to what the driver loads.
    ///
    /// The compute capability is 90 for 9.0, for example.
    ///
    /// That is machine code; for devices that are newer than the library, code that the driver translates.
    ///
    /// # Errors
    ///
    /// Where the source is wrong, or the device is too old for the library.
    pub fn compile(&self, source: &str, capability: i32, numerics: Numerics) -> Result<Vec<u8>, Error> {
        let known = self.capabilities.iter().rev().find(|&&known| known <= capability);
        let Some(&known) = known else {
            let (major, minor) = self.version;
            return Err(Error::Compile(format!(
                "NVRTC {major}.{minor} does not support devices of compute capability {}.{}: install an older version",
                capability / 10,
                capability % 10
            )));
        };
        let is_exact = known == capability;
        let architecture = format!("--gpu-architecture={}_{known}", if is_exact { "sm" } else { "compute" });
        let text = |text: String| CString::new(text).map_err(|error| Error::Compile(error.to_string()));
        let (source, architecture) = (text(source.to_owned())?, text(architecture)?);
        let no_cache = (self.version >= HAS_CACHE).then_some(c"--no-cache");
        let options = options(numerics).iter().copied().chain(no_cache).chain([architecture.as_c_str()]);
        let options: Vec<*const c_char> = options.map(CStr::as_ptr).collect();
        let mut program: Program = ptr::null_mut();
        let Functions { create, compile, destroy, .. } = self.functions;
        // Safety: the strings end with a zero and outlive the program, which is destroyed below.
        let status = unsafe {
            create(&mut program, source.as_ptr(), c"unishape.cu".as_ptr(), 0, ptr::null(), ptr::null())
        };
        if status != 0 {
            return Err(Error::Compile(format!("NVRTC cannot create a program (status {status})")));
        }
        // Safety: the program exists, and there are as many options as stated.
        let status = unsafe { compile(program, options.len() as c_int, options.as_ptr()) };
        let Functions { cubin_size, cubin, ptx_size, ptx, log_size, log, .. } = self.functions;
        let result = match (status, is_exact) {
            (0, true) => self.text(program, cubin_size, cubin),
            (0, false) => self.text(program, ptx_size, ptx),
            _ => {
                let log = self.text(program, log_size, log).unwrap_or_default();
                Err(Error::Compile(String::from_utf8_lossy(&log).trim_end_matches('\0').into()))
            }
        };
        // Safety: the program exists, and is not used after this.
        unsafe { destroy(&mut program) };
        result
    }

    /// A result of a program, by the functions for its size and its bytes.
    fn text(
        &self,
        program: Program,
        size: unsafe extern "C" fn(Program, *mut usize) -> Status,
        bytes: unsafe extern "C" fn(Program, *mut c_char) -> Status,
    ) -> Result<Vec<u8>, Error> {
        let mut count = 0;
        // Safety: the program exists.
        let status = unsafe { size(program, &mut count) };
        let mut all = vec![0u8; count];
        let status = match status {
            // Safety: there are as many bytes as the library has just reported.
            0 => unsafe { bytes(program, all.as_mut_ptr().cast()) },
            status => status,
        };
        match status {
            0 => Ok(all),
            _ => Err(Error::Compile(format!("NVRTC has no result (status {status})"))),
        }
    }
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiler").field("version", &self.version).finish_non_exhaustive()
    }
}
