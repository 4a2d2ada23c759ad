//! Extracts the proven programs to C: those of the core for the tests of `crates/proven`, and Broadcast on the tensors of
//! SONNX as it is shipped in `sonnx/c`.

use crate::command::{command, root, succeeds};
use crate::install::apt_install;
use std::fs;
use std::path::PathBuf;

/// The folder of the C files.
const FOLDER: &str = "target/proof/c";

/// The C files and their WhyML modules; dependencies are included. The fold is extracted once per type of
/// sizes, into separate files because the names are the same.
const FILES: [(&str, &[&str]); 3] = [
    (
        "core.c",
        &[
            "core_rules.Rules",
            "core_size.Usize",
            "core_size.Extent",
            "core_count.Count",
            "core_stretch.Stretch",
            "core_stretch.Checked",
            "core_stretch.Index",
        ],
    ),
    ("common_usize.c", &["core_rules.Rules", "core_common.CommonUsize"]),
    ("common_extent.c", &["core_rules.Rules", "core_common.CommonExtent"]),
];

/// Broadcast on the tensors of SONNX: its module, and the arguments that it needs.
const SONNX: &str = "cbroadcast.COPBroadcast";
const SONNX_ARGS: [&str; 4] = ["--library", "sonnx/formal", "--driver", "sonnx/formal/element.drv"];

/// The shipped C of it, and its header, which declares what follows this line of the C.
pub(crate) const SONNX_C: &str = "sonnx/c/copbroadcast.c";
const SONNX_HEADER: &str = "sonnx/c/copbroadcast.h";
const SONNX_TITLE: &str = "/* Extracted from ../formal/cbroadcast.mlw by Why3; do not edit. */\n";

/// The folder of the C files; `None` if Why3 or a C compiler cannot be installed.
pub(crate) fn set_up() -> Result<Option<PathBuf>, String> {
    let is_available = |program: &str, package| {
        let found = || succeeds(command(program, &["--version"]));
        let available = found() || (apt_install(&[package]) && found());
        if !available {
            eprintln!("no {program}: install {package} to compare the core with the proven programs");
        }
        available
    };
    // The programs are proven for 64-bit sizes.
    if !cfg!(target_pointer_width = "64") || !is_available("why3", "why3") || !is_available("cc", "gcc") {
        return Ok(None);
    }
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for (name, modules) in FILES {
        let file = folder.join(name);
        let text = fix_pointers(&extract(modules, &[])?);
        // Rewriting an unchanged file would recompile it.
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    if read(SONNX_C)? != sonnx()? {
        return Err(format!("{SONNX_C} is not what Why3 extracts; run `cargo xtask sonnx`"));
    }
    Ok(Some(folder))
}

/// The text of a file of the repository.
fn read(file: &str) -> Result<String, String> {
    fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"))
}

/// Writes the shipped C again; false if Why3 is not installed.
pub(crate) fn set_up_sonnx() -> Result<bool, String> {
    if !succeeds(command("why3", &["--version"])) && !apt_install(&["why3"]) {
        return Ok(false);
    }
    fs::write(root().join(SONNX_C), sonnx()?).map_err(|error| format!("{SONNX_C}: {error}"))?;
    Ok(true)
}

/// The C of Broadcast on the tensors of SONNX, without the declarations that its header has.
fn sonnx() -> Result<String, String> {
    without_declarations(&extract(&[SONNX], &SONNX_ARGS)?, &read(SONNX_HEADER)?)
}

/// Moves declarations to the header: fails unless it has the same ones.
fn without_declarations(text: &str, header: &str) -> Result<String, String> {
    let mut functions = String::new();
    for part in text.split("\n\n").map(str::trim).filter(|part| !part.is_empty()) {
        if !part.starts_with("struct ") && !part.starts_with('#') {
            functions += &format!("\n{part}\n");
            if part.contains("\n}\n") {
                return Err(format!("declarations are not separated:\n{part}"));
            }
        } else if !header.contains(part) {
            return Err(format!("{SONNX_HEADER} has another declaration than\n{part}"));
        }
    }
    Ok(format!("{SONNX_TITLE}#include \"copbroadcast.h\"\n{functions}"))
}

/// The C code of these modules.
fn extract(modules: &[&str], args: &[&str]) -> Result<String, String> {
    let title = format!("extracting {}", modules.join(", "));
    let mut extract = command("why3", &["extract", "--recursive", "--driver", "c", "--library", "proof"]);
    let output = extract.args(args).args(modules).output().map_err(|error| format!("{title}: {error}"))?;
    // Why3 omits what it cannot translate: it prints a message and succeeds.
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !messages.trim().is_empty() {
        return Err(format!("{title}: failed ({})\n{messages}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{title}: {error}"))
}

/// Works around a defect of Why3 1.5.1: a parameter that is a pointer to a record is declared as a pointer to
/// a pointer, which does not compile. The programs have no pointers to pointers.
fn fix_pointers(text: &str) -> String {
    text.replace("struct extent * *", "struct extent *")
}

#[cfg(test)]
mod tests {
    use super::without_declarations;

    const TEXT: &str = "#include <stdint.h>\n\n\nint f() {\n}\n\nstruct t {\n  int a;\n};\n\nint g() {\n}\n";

    #[test]
    fn declarations_are_those_of_the_header() {
        let header = "#include <stdint.h>\nstruct t {\n  int a;\n};\n";
        let text = without_declarations(TEXT, header).unwrap();
        assert!(text.ends_with("#include \"copbroadcast.h\"\n\nint f() {\n}\n\nint g() {\n}\n"), "{text}");
        assert!(without_declarations(TEXT, &header.replace("int a", "long a")).is_err());
    }
}
