//! `cargo xtask equivalence`: compares machine code of the core with that of the proven programs, for all sizes.
//!
//! rustc compiles the core as for a release, and a C compiler the programs that Why3 extracts. `compare.py` executes both
//! with symbolic sizes, by angr, which is installed into `target/equivalence`. Bugs that are planted in copies of the core
//! have to be found.

use crate::command::{command, root, run, succeeds};
use crate::{extract, python};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Arguments of `cargo xtask equivalence`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The largest rank; each further rank takes several times as long.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(0..=3))]
    rank: u8,
    /// Print every case and its time.
    #[arg(long)]
    verbose: bool,
    /// Compare only these functions, such as `push`, and plant no bugs.
    #[arg(long = "function")]
    functions: Vec<String>,
}

/// The folder of what is built and installed.
const FOLDER: &str = "target/equivalence";

/// angr, and versions of its dependencies that it works with.
const PACKAGES: &str = "xtask/equivalence-packages.txt";

/// The functions of the core and of the programs with the same arguments, and the script that compares them.
const EXPORTED: &str = "crates/exported";

/// The libraries of C: the macro that names the extracted file.
const LIBRARIES: [(&str, &str); 3] =
    [("core", "CORE"), ("common_usize", "COMMON"), ("common_extent", "COMMON")];

/// A bug: a change of a file of the core, and the function whose comparison has to find it.
struct Planted {
    bug: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
    function: &'static str,
}

const PLANTED: [Planted; 12] = [
    Planted {
        bug: "the largest size counts as too large",
        file: "count.rs",
        from: "product <= isize::MAX as usize",
        to: "product < isize::MAX as usize",
        function: "fits_isize",
    },
    Planted {
        bug: "the number of bytes wraps around",
        file: "count.rs",
        from: "count.checked_mul(element)",
        to: "Some(count.wrapping_mul(element))",
        function: "byte_count",
    },
    Planted {
        bug: "1 stretches to 0 under SONNX rules, in one order",
        file: "size.rs",
        from: "else if b == 1 && rules.stretches_to(a) {",
        to: "else if b == 1 {",
        function: "broadcast_dim",
    },
    Planted {
        bug: "unknown with 0 is E1 under SONNX rules",
        file: "size.rs",
        from: "size == 0 && unknown == Extent::Positive && ",
        to: "size == 0 && ",
        function: "join_extents",
    },
    Planted {
        bug: "a size has the wrong owner",
        file: "common.rs",
        from: "*owner = input;",
        to: "*owner = input.saturating_sub(1);",
        function: "push",
    },
    Planted {
        bug: "one input too many",
        file: "common.rs",
        from: "self.inputs >= self.rules.max_inputs()",
        to: "self.inputs > self.rules.max_inputs()",
        function: "push",
    },
    Planted {
        bug: "a shape that does not fit is forgotten",
        file: "common.rs",
        from: "self.fits = self.fits && join_shape(",
        to: "self.fits = join_shape(",
        function: "fast",
    },
    Planted {
        bug: "shapes are aligned on the left",
        file: "stretch.rs",
        from: "match dim.checked_sub(pad) {",
        to: "match Some(dim) {",
        function: "padded_dim",
    },
    Planted {
        bug: "1 stretches to 0 under SONNX rules, to a target",
        file: "stretch.rs",
        from: "None => false,",
        to: "None => size == S::ONE,",
        function: "check_broadcast_to",
    },
    Planted {
        bug: "an error names the wrong dimension",
        file: "stretch.rs",
        from: "dim: pad.saturating_add(dim)",
        to: "dim: dim",
        function: "broadcast_strides",
    },
    Planted {
        bug: "an index that is out of bounds by one",
        file: "stretch.rs",
        from: "if index >= size {",
        to: "if index > size {",
        function: "source_index",
    },
    Planted {
        bug: "an offset wraps around",
        file: "stretch.rs",
        from: "offset.checked_add(step)",
        to: "Some(offset.wrapping_add(step))",
        function: "source_offset",
    },
];

pub(crate) fn run_task(options: &Options) -> Result<(), String> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err("the comparison exists for Linux on x86-64 only".into());
    }
    let Some(programs) = extract::set_up()? else { return Err("no proven programs to compare with".into()) };
    let python = angr()?;
    let folder = absolute(&root().join(FOLDER))?;
    let libraries = folder.join("libraries");
    compile_programs(&absolute(&programs)?, &libraries)?;
    compile_core(&root().join("crates/core"), &libraries)?;
    let rank = options.rank.to_string();
    let mut compare = comparison(&python, &libraries, &rank);
    compare.args(options.verbose.then_some("--verbose"));
    if !options.functions.is_empty() {
        compare.arg("--functions").args(&options.functions);
    }
    run(&format!("comparison up to rank {rank}"), compare)?;
    if options.functions.is_empty() { planted(&python, &folder) } else { Ok(()) }
}

/// Fails unless each planted bug is found.
fn planted(python: &Path, folder: &Path) -> Result<(), String> {
    let (core, libraries) = (folder.join("planted/core"), folder.join("planted/libraries"));
    for part in [core.join("src"), libraries.clone()] {
        fs::create_dir_all(&part).map_err(|error| format!("{}: {error}", part.display()))?;
    }
    for (name, _) in LIBRARIES {
        copy(&folder.join("libraries").join(format!("{name}.so")), &libraries.join(format!("{name}.so")))?;
    }
    let sources = root().join("crates/core/src");
    let files = fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    let files: Vec<_> = files.flatten().map(|file| file.file_name()).collect();
    let mut missed = Vec::new();
    for Planted { bug, file, from, to, function } in PLANTED {
        for name in &files {
            copy(&sources.join(name), &core.join("src").join(name))?;
        }
        let path = core.join("src").join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let changed = with_bug(&text, from, to).map_err(|error| format!("{file}: {error}"))?;
        fs::write(&path, changed).map_err(|error| format!("{}: {error}", path.display()))?;
        compile_core(&core, &libraries)?;
        let mut compare = comparison(python, &libraries, "2");
        compare.args(["--first", "--functions", function]);
        let output = compare.output().map_err(|error| format!("cannot compare: {error}"))?;
        // An error of the script is not a difference.
        let found = output.status.code() == Some(1)
            && String::from_utf8_lossy(&output.stdout).contains(": Rust ")
            && output.stderr.is_empty();
        eprintln!("{}: {bug} ({function})", if found { "found" } else { "NOT FOUND" });
        if !found {
            eprintln!("{}", String::from_utf8_lossy(&output.stderr));
            missed.push(bug);
        }
    }
    if missed.is_empty() {
        eprintln!("\nAll {} planted bugs are found.", PLANTED.len());
        Ok(())
    } else {
        Err(format!("\nplanted bugs that are not found:\n  {}", missed.join("\n  ")))
    }
}

/// A text with one change, whose place has to be unique.
fn with_bug(text: &str, from: &str, to: &str) -> Result<String, String> {
    match text.matches(from).count() {
        1 => Ok(text.replace(from, to)),
        count => Err(format!("`{from}` occurs {count} times")),
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(path)
        .and_then(|()| path.canonicalize())
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// The Python interpreter of an environment with angr.
fn angr() -> Result<PathBuf, String> {
    let folder = root().join(FOLDER).join("python");
    let interpreter = python::interpreter(&folder);
    if !succeeds(command(&interpreter, &["-m", "pip", "--version"])) {
        let mut create = command("python3", &["-m", "venv"]);
        create.arg(&folder);
        run("Python environment", create)?;
    }
    let mut install = python::pip_install(&interpreter);
    install.args(["--requirement", PACKAGES]);
    run("angr", install)?;
    Ok(interpreter)
}

fn comparison(python: &Path, libraries: &Path, rank: &str) -> Command {
    let mut compare = command(python, &[&format!("{EXPORTED}/compare.py")]);
    compare.arg(libraries).args(["--rank", rank]);
    compare
}

/// Compiles the programs. `-fno-inline` keeps their functions, two of which are replaced by their contracts;
/// `-Bsymbolic` keeps the libraries apart, which define functions of the same names.
fn compile_programs(programs: &Path, libraries: &Path) -> Result<(), String> {
    fs::create_dir_all(libraries).map_err(|error| format!("{}: {error}", libraries.display()))?;
    for (name, variable) in LIBRARIES {
        let mut compile =
            command("cc", &["-shared", "-fPIC", "-nostdlib", "-Wl,-Bsymbolic", "-O1", "-fno-inline", "-w"]);
        compile.arg(format!("-D{variable}=\"{}\"", programs.join(format!("{name}.c")).display()));
        compile.arg(format!("{EXPORTED}/c/{name}.c")).arg("-o").arg(libraries.join(format!("{name}.so")));
        run(&format!("compiling the programs of {name}.c"), compile)?;
    }
    Ok(())
}

/// Compiles the core in a folder, with its functions for C.
fn compile_core(core: &Path, libraries: &Path) -> Result<(), String> {
    let rustc = || {
        let mut rustc = command("rustc", &["--edition", "2024", "--crate-type", "lib", "-C", "opt-level=3"]);
        rustc.args(["-C", "panic=abort", "-C", "codegen-units=1", "--cap-lints", "allow"]);
        rustc
    };
    let (library, object) = (libraries.join("libunishape_core.rlib"), libraries.join("rust.o"));
    let mut compile = rustc();
    compile.args(["--crate-name", "unishape_core", "-o"]).arg(&library).arg(core.join("src/lib.rs"));
    run("compiling the core", compile)?;
    let mut compile = rustc();
    compile.args(["--crate-name", "unishape_exported", "--emit", "obj", "-o"]).arg(&object);
    compile.arg("--extern").arg(format!("unishape_core={}", library.display()));
    run("compiling its functions for C", {
        compile.arg(format!("{EXPORTED}/src/lib.rs"));
        compile
    })?;
    let mut link = command("cc", &["-shared", "-nostdlib", "-Wl,-Bsymbolic"]);
    link.arg(&object).arg("-o").arg(libraries.join("rust.so"));
    run("linking them", link)
}

#[cfg(test)]
mod tests {
    use super::{PLANTED, Planted, with_bug};
    use crate::command::root;
    use std::fs;

    #[test]
    fn bugs_can_be_planted() {
        for Planted { file, from, to, .. } in PLANTED {
            let text = fs::read_to_string(root().join("crates/core/src").join(file)).unwrap();
            assert_ne!(with_bug(&text, from, to).as_deref(), Ok(&text[..]), "{file}: {from}");
            assert!(with_bug(&text, from, to).is_ok(), "{file}: {from}");
        }
        assert!(with_bug("a a", "a", "b").is_err());
        assert!(with_bug("a", "b", "c").is_err());
    }
}
