//! Extracts the proven programs of the core to C, for the tests of `crates/proven`.

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
    ("common_usize.c", &["core_common.CommonUsize"]),
    ("common_extent.c", &["core_common.CommonExtent"]),
];

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
        let text = fix_pointers(&extract(modules)?);
        // Rewriting an unchanged file would recompile it.
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(Some(folder))
}

/// The C code of these modules.
fn extract(modules: &[&str]) -> Result<String, String> {
    let title = format!("extracting {}", modules.join(", "));
    let mut extract = command("why3", &["extract", "--recursive", "--driver", "c", "--library", "proof"]);
    let output = extract.args(modules).output().map_err(|error| format!("{title}: {error}"))?;
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
