//! Compiles generated kernels for the CPU, and runs plans with them.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use unishape_cuda::{Buffer, ENTRY, Kernel, Plan, Word};

/// The parts of the prelude, in the order in which they depend on each other.
const PRELUDE: [&str; 6] = [
    include_str!("../../src/prelude/types.cu"),
    include_str!("../../src/prelude/casts.cu"),
    include_str!("../../src/prelude/integer.cu"),
    include_str!("../../src/prelude/float.cu"),
    include_str!("../../src/prelude/complex.cu"),
    include_str!("../../src/prelude/complex_functions.cu"),
];

/// Compiled kernels, by their source.
pub(crate) struct Machine {
    libraries: Vec<libloading::Library>,
    /// The library and the number of each kernel.
    kernels: HashMap<Arc<str>, (usize, usize)>,
    _folder: tempfile::TempDir,
}

/// Memory as aligned as that of a device.
#[derive(Clone, Copy)]
#[repr(align(256))]
struct Line([u8; 256]);

/// Bytes in which unwritten ones can be recognised.
fn allocate(bytes: usize) -> Vec<Line> {
    vec![Line([0xa5; 256]); bytes.div_ceil(256).max(1)]
}

impl Machine {
    /// Compiles the kernels of some plans, on two cores.
    pub(crate) fn new<'p>(plans: impl IntoIterator<Item = &'p Plan>) -> Machine {
        let mut kernels: HashMap<Arc<str>, (usize, usize)> = HashMap::new();
        let mut texts = vec![String::from("#include \"cuda_on_host.h\"\n"); 2];
        texts.iter_mut().for_each(|text| text.extend(PRELUDE));
        texts.iter_mut().for_each(|text| text.push_str(include_str!("../../src/prelude/threads.cu")));
        for Kernel { source, .. } in plans.into_iter().flat_map(Plan::launches).map(|launch| &launch.kernel) {
            let number = kernels.len();
            let library = number % texts.len();
            if kernels.contains_key(source) {
                continue;
            }
            kernels.insert(source.clone(), (library, number));
            let at = source.find("\nstruct Args").expect("the argument comes after the prelude");
            let _ = write!(
                texts[library],
                "namespace kernel_{number} {{\n#define {ENTRY} {ENTRY}_{number}\n{}\n#undef {ENTRY}\n\
                 static void run(const void* words) {{ {ENTRY}_{number}(*(const Args*)words); }} }}\n\
                 extern \"C\" void launch_{number}(const u64* words, unsigned blocks, unsigned threads, bool has_barriers) {{\n  \
                 host::launch(kernel_{number}::run, words, blocks, threads, has_barriers);\n}}\n",
                &source[at..],
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let compile = |(number, text): (usize, &String)| compile(folder.path(), number, text);
        let files: Vec<PathBuf> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                texts.iter().enumerate().map(|text| scope.spawn(move || compile(text))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // Safety: the libraries have no initializers.
        let libraries = files.iter().map(|file| unsafe { libloading::Library::new(file).unwrap() }).collect();
        Machine { libraries, kernels, _folder: folder }
    }

    /// Runs a plan on these arrays, and returns the bytes of the result.
    ///
    /// A preallocated output is written in its place.
    pub(crate) fn run(&self, plan: &Plan, addresses: &[u64], output: Option<u64>) -> Vec<u8> {
        let bytes = plan.shape().iter().product::<usize>() * plan.dtype().item_size();
        let mut result = allocate(bytes);
        let mut temporaries: Vec<Vec<Line>> =
            plan.temporaries().iter().map(|&bytes| allocate(bytes)).collect();
        for launch in plan.launches() {
            let words: Vec<u64> = launch
                .words
                .iter()
                .map(|word| match *word {
                    Word::Value(value) => value,
                    Word::Address { buffer, offset } => {
                        let first = match buffer {
                            Buffer::Variable(number) => addresses[number],
                            Buffer::Temporary(number) => temporaries[number].as_mut_ptr() as u64,
                            Buffer::Output => output.unwrap_or(result.as_mut_ptr() as u64),
                        };
                        first.wrapping_add_signed(offset)
                    }
                })
                .collect();
            let (library, number) = self.kernels[&launch.kernel.source];
            let name = format!("launch_{number}\0");
            let Kernel { threads, has_barriers, .. } = launch.kernel;
            // Safety: the function has this signature. The words are the kernel's argument, with addresses of arrays
            // that outlive the call.
            unsafe {
                let function: libloading::Symbol<'_, unsafe extern "C" fn(*const u64, u32, u32, bool)> =
                    self.libraries[library].get(name.as_bytes()).unwrap();
                function(words.as_ptr(), launch.blocks, threads, has_barriers);
            }
        }
        result.iter().flat_map(|line| line.0).take(bytes).collect()
    }
}

fn compile(folder: &Path, number: usize, text: &str) -> PathBuf {
    let (source, library) = (folder.join(format!("k{number}.cc")), folder.join(format!("libk{number}.so")));
    std::fs::write(&source, text).unwrap();
    let output = Command::new("g++")
        .args([
            "-std=c++17",
            "-O1",
            "-fPIC",
            "-shared",
            "-w",
            "-ffp-contract=off",
            "-fno-strict-aliasing",
            "-I",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/emulation"))
        .arg("-o")
        .args([&library, &source])
        .output()
        .expect("g++ is installed");
    if !output.status.success() {
        let kept = std::env::temp_dir().join("unishape-cuda-failed.cc");
        let _ = std::fs::copy(&source, &kept);
        let errors = String::from_utf8_lossy(&output.stderr);
        panic!("{}: {}", kept.display(), &errors[..errors.len().min(4000)]);
    }
    library
}
