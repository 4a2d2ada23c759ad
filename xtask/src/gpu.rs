//! `cargo xtask gpu`: tests of CUDA kernels that need a GPU, or much time.

use crate::command::{self, cargo, output, root};
use crate::files::{copy, copy_folder};
use std::fs;
use std::path::Path;

/// Options of `cargo xtask gpu`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compile the kernel of every operation, dtype and access class with NVRTC; needs no GPU.
    #[arg(long)]
    compile_all: bool,
}

/// What a machine with a GPU needs.
const FOLDER: &str = "target/gpu";

/// Runs everything on such a machine: `sh target/gpu/run.sh [PART…]`.
const SCRIPT: &str = r#"#!/bin/sh
# Tests and benchmarks on a machine with a GPU, Python and PyTorch, CuPy or JAX. The output is also in $OUT/gpu.txt.
# Parts: kernels (tests of kernels), python (tests of the package), sanitizer, bars (kernels only), bench (with rivals),
# own-bench (without). With UNISHAPE_GPU_ALL=1, tests of the package fail where PyTorch, CuPy or JAX is missing. Exits
# with 1 if a part fails or there is no GPU.
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here}
[ $# -gt 0 ] || set -- kernels python bars bench sanitizer
export PYTHONPATH="$here/python:$here/tests" XDG_CACHE_HOME="${XDG_CACHE_HOME:-$here/cache}"
UNISHAPE_SITE_PACKAGES=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
export UNISHAPE_SITE_PACKAGES UNISHAPE_GPU=1
sanitize() {
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
  if [ -z "$sanitizer" ]; then
    echo "compute-sanitizer is not installed"
    return 1
  fi
  found=0
  for tool in memcheck racecheck; do
    UNISHAPE_GPU_FEW=1 "$sanitizer" --tool $tool --error-exitcode 9 "$here/unishape-gpu" --test-threads=1 results \
      >"$out/$tool.txt" 2>&1 || found=1
    tail -n 8 "$out/$tool.txt"
  done
  return $found
}
: >"$out/failed"
for part in "$@"; do
  echo "== $part"
  start=$(date +%s)
  case $part in
    kernels) "$here/unishape-gpu" --nocapture --test-threads=1 results ;;
    python) python3 "$here/tests/test_gpu.py" ;;
    bars) UNISHAPE_GPU_BENCH=1 "$here/unishape-gpu" --nocapture --test-threads=1 bars ;;
    bench) python3 "$here/bench/gpu.py" ;;
    own-bench) python3 "$here/bench/gpu.py" --no-rivals ;;
    sanitizer) sanitize ;;
    *) echo "there is no part '$part'"; false ;;
  esac
  status=$?
  [ $status = 0 ] || echo "$part" >>"$out/failed"
  echo "== $part: exit status $status, $(($(date +%s) - start)) s"
done 2>&1 | tee "$out/gpu.txt"
[ ! -s "$out/failed" ]
"#;

pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.compile_all {
        let mut tests = cargo(&["test", "-p", "unishape-cuda", "--test", "nvrtc", "--", "--nocapture"]);
        // Without NVRTC the tests fail, as in CI.
        tests.env("UNISHAPE_COMPILE_ALL", "1").env("CI", "1");
        return command::run("all kernels compiled by NVRTC", tests);
    }
    let build = ["test", "-p", "unishape-cuda", "--test", "gpu", "--no-run", "--message-format=json"];
    let messages = output("tests for a GPU", cargo(&build))?;
    let program = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(message["executable"].as_str()?.to_owned())
    });
    let program = program.ok_or("cargo does not say where the tests are")?;
    // As in a wheel, since the overhead of calls is measured; not linked to the library of this Python.
    let mut build = cargo(&["build", "--release", "-p", "unishape-python", "--message-format=json"]);
    build.env("PYO3_BUILD_EXTENSION_MODULE", "1");
    let messages = output("the extension module", build)?;
    let is_library = |text: &str| text.ends_with("lib_unishape.so");
    let module =
        messages.split('"').find(|text| is_library(text)).ok_or("cargo does not say where the module is")?;

    let folder = root().join(FOLDER);
    let pack = || {
        let _ = fs::remove_dir_all(&folder);
        copy_stripped(Path::new(&program), &folder.join("unishape-gpu"))?;
        copy_folder(&root().join("python/unishape"), &folder.join("python/unishape"))?;
        copy_stripped(Path::new(module), &folder.join("python/unishape/_unishape.abi3.so"))?;
        copy(&root().join("python/tests/test_gpu.py"), &folder.join("tests/test_gpu.py"))?;
        copy(&root().join("bench/python/gpu.py"), &folder.join("bench/gpu.py"))?;
        fs::write(folder.join("run.sh"), SCRIPT)
    };
    pack().map_err(|error| format!("{FOLDER}: {error}"))?;
    println!("On a machine with a GPU, run in the repository root: sh {FOLDER}/run.sh");
    Ok(())
}

/// Copies a program or library without its debug information, which is most of it.
fn copy_stripped(from: &Path, to: &Path) -> std::io::Result<()> {
    copy(from, to)?;
    // Without `strip` it is only larger.
    _ = command::command("strip", &["-S"]).arg(to).status();
    Ok(())
}
