//! The wheel and the source distribution of the Python package.

use super::musl::MuslBuilder;
use super::stage::Stage;
use crate::command::{self, command, output, succeeds};
use crate::python::{interpreter, pip_install};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds and checks packages: the compiler driver that links to an old glibc, and the checks of indexes.
const TOOLS: [&str; 5] =
    ["maturin>=1.9,<2", "ziglang>=0.14,<0.16", "auditwheel>=6.4", "abi3audit>=0.0.20", "twine>=6.1"];

/// The end of the names of wheels for systems with musl.
const MUSL_WHEEL: &str = "musllinux_1_2_x86_64.whl";

/// glibc 2.17, of 2012.
const LINUX: [&str; 3] = ["--zig", "--compatibility", "manylinux2014"];

/// Prints the libraries that the module in a wheel needs.
const NEEDED: &str = "
import io, sys, zipfile
from elftools.elf.elffile import ELFFile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    name = next(name for name in wheel.namelist() if name.endswith('.so'))
    dynamic = ELFFile(io.BytesIO(wheel.read(name))).get_section_by_name('.dynamic')
    print(*(tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == 'DT_NEEDED'))
";

/// Builds the wheel of this platform and checks it.
pub(crate) fn wheel(folder: &Path) -> Result<(), String> {
    let stage = Stage::new(folder.join("stage"))?;
    let tools = Tools::set_up(folder)?;
    for old in wheels(folder)? {
        fs::remove_file(&old).map_err(|error| format!("{}: {error}", old.display()))?;
    }
    let mut build = tools.command("maturin", &stage.folder);
    build.args(["build", "--release", "--locked", "--out"]).arg(folder);
    build.arg("--target-dir").arg(folder.join("build"));
    if cfg!(target_os = "linux") {
        build.args(LINUX);
    }
    build.env("RUSTFLAGS", stage.remapped()).env("SOURCE_DATE_EPOCH", &stage.time);
    command::run("the wheel", build)?;
    let wheel = only_wheel(folder)?;
    if cfg!(target_os = "linux") {
        let mut audit = tools.command("auditwheel", folder);
        audit.arg("show").arg(&wheel);
        let text = output("auditwheel", audit)?;
        print!("{text}");
        if !is_consistent_with(&text, "manylinux_2_17_") {
            return Err("the wheel needs a newer glibc than 2.17".into());
        }
    }
    check(&tools, folder, &wheel)
}

/// Whether the report of `auditwheel show` says that a wheel is consistent with this platform tag, or one that starts so.
///
/// The name of the wheel, which the report begins with, has the tag that the wheel claims.
fn is_consistent_with(report: &str, tag: &str) -> bool {
    let words: Vec<&str> = report.split_whitespace().collect();
    let text = words.join(" ");
    let found = text.split_once("is consistent with the following platform tag: ");
    found.is_some_and(|(_, found)| found.trim_start_matches('"').starts_with(tag))
}

/// Builds the wheel for systems with musl and checks it; returns what built it.
pub(crate) fn musl_wheel(folder: &Path, debian: &Path) -> Result<MuslBuilder, String> {
    let stage = Stage::new(folder.join("stage"))?;
    let tools = Tools::set_up(folder)?;
    let builder = MuslBuilder::set_up(debian.to_owned(), &tools.python)?;
    // A shared library uses the C library of the interpreter that loads it.
    let flags = format!("{} -C target-feature=-crt-static", stage.remapped());
    let mut build = builder.command(&stage.folder, &flags, &["maturin", "build"]);
    build.args(["--compatibility", "musllinux_1_2", "--out"]).arg(folder);
    build.arg("--target-dir").arg(folder.join("musl-build"));
    command::run("the wheel for musl", build)?;
    let wheel = folder.join(musl_wheel_name(&stage.version));
    // `auditwheel` looks for libraries of this system, which are not musl's.
    let needed = output("libraries", command(&tools.python, &["-c", NEEDED, &wheel.to_string_lossy()]))?;
    if needed.trim() != "libc.so" {
        return Err(format!("the wheel for musl needs libraries besides its libc.so: {needed}"));
    }
    check(&tools, folder, &wheel)?;
    Ok(builder)
}

/// The file name of the wheel for systems with musl.
pub(crate) fn musl_wheel_name(version: &str) -> String {
    format!("unishape-{version}-cp311-abi3-{MUSL_WHEEL}")
}

/// Checks of every wheel.
fn check(tools: &Tools, folder: &Path, wheel: &Path) -> Result<(), String> {
    let mut abi = tools.command("abi3audit", folder);
    abi.args(["--strict", "--verbose"]).arg(wheel);
    command::run("use of Python's stable interface", abi)?;
    check_metadata(tools, folder, wheel)
}

/// Packs the sources, and builds them without network, from crates that are downloaded already.
pub(crate) fn sdist(folder: &Path) -> Result<(), String> {
    let stage = Stage::new(folder.join("stage"))?;
    let tools = Tools::set_up(folder)?;
    let name = format!("unishape-{}.tar.gz", stage.version);
    let mut pack = tools.command("maturin", &stage.folder);
    pack.args(["sdist", "--out"]).arg(folder).env("SOURCE_DATE_EPOCH", &stage.time);
    command::run("the source distribution", pack)?;
    let sdist = folder.join(name);
    check_metadata(&tools, folder, &sdist)?;

    let environment = environment(&folder.join("sdist-environment"), "python3")?;
    let mut install = pip_install(&environment);
    install.args(["maturin>=1.9,<2", "numpy"]);
    command::run("the build requirement", install)?;
    let mut install = pip_install(&environment);
    install.args(["--no-build-isolation", "--no-deps", "--no-index", "--force-reinstall"]).arg(&sdist);
    install.env("CARGO_NET_OFFLINE", "true").env("PATH", tools.path(&environment)?);
    // Only that it builds: unoptimized code is built in less time. Not with `--locked`: cargo removes the crates from the
    // lock file that are not in the sources, such as tests and tools.
    install.env("MATURIN_PEP517_ARGS", "--profile dev").env("CARGO_TARGET_DIR", folder.join("sdist-build"));
    command::run("the source distribution, built offline", install)?;
    let mut import =
        command(&environment, &["-c", "import unishape; print(unishape.evaluate('a + 1', {'a': 2}))"]);
    import.current_dir(folder);
    command::run("the package from its sources", import)
}

fn check_metadata(tools: &Tools, folder: &Path, file: &Path) -> Result<(), String> {
    let mut check = tools.command("twine", folder);
    check.args(["check", "--strict"]).arg(file);
    command::run("metadata, and the README as an index renders it", check)
}

/// The wheels of this platform in a folder.
fn wheels(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let files = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_own = |file: &PathBuf| {
        let name = file.to_string_lossy();
        name.ends_with(".whl") && !name.ends_with(MUSL_WHEEL)
    };
    Ok(files.flatten().map(|file| file.path()).filter(is_own).collect())
}

/// The only wheel of this platform in a folder.
pub(crate) fn only_wheel(folder: &Path) -> Result<PathBuf, String> {
    let mut wheels = wheels(folder)?;
    match (wheels.pop(), wheels.len()) {
        (Some(wheel), 0) => Ok(wheel),
        (None, _) => Err(format!("{} has no wheel", folder.display())),
        (Some(_), more) => Err(format!("{} has {} wheels; remove the old ones", folder.display(), more + 1)),
    }
}

/// The interpreter of a virtual environment, which is created unless it is there.
fn environment(folder: &Path, python: &str) -> Result<PathBuf, String> {
    let interpreter = interpreter(folder);
    if !succeeds(command(&interpreter, &["-m", "pip", "--version"])) {
        let mut create = command(python, &["-m", "venv"]);
        create.arg(folder);
        command::run(&format!("an environment of {python}"), create)?;
    }
    Ok(interpreter)
}

/// The programs that build and check packages, in an environment of their own.
struct Tools {
    python: PathBuf,
}

impl Tools {
    fn set_up(folder: &Path) -> Result<Tools, String> {
        let python = environment(&folder.join("tools"), "python3")?;
        let mut install = pip_install(&python);
        // There is no compiler to be had this way for Windows on ARM, and none is needed there.
        install.args(TOOLS.iter().filter(|tool| cfg!(target_os = "linux") || !tool.starts_with("zig")));
        command::run("tools for packages", install)?;
        Ok(Tools { python })
    }

    /// A program of the environment, run in a folder.
    fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = command(self.python.with_file_name(program), &[]);
        command.current_dir(folder);
        if let Ok(path) = self.path(&self.python) {
            command.env("PATH", path);
        }
        command
    }

    /// The search path with the programs of an environment first.
    fn path(&self, python: &Path) -> Result<std::ffi::OsString, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = python.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
        std::env::join_paths(folders).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::is_consistent_with;

    #[test]
    fn the_tag_in_the_name_of_a_wheel_is_no_result() {
        let report = |tag: &str| {
            format!(
                "\nunishape-0.1.0-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl\n\
                 is consistent with the following platform tag:\n\"{tag}\".\n\n\
                 The wheel references external versioned symbols in these\nsystem-provided shared libraries: libc.so.6"
            )
        };
        assert!(is_consistent_with(&report("manylinux_2_17_x86_64"), "manylinux_2_17_"));
        assert!(!is_consistent_with(&report("manylinux_2_28_x86_64"), "manylinux_2_17_"));
        assert!(!is_consistent_with("manylinux_2_17_x86_64.whl has no tag", "manylinux_2_17_"));
    }
}
