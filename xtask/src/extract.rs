//! The proven programs of the core, extracted to C for the tests of `crates/proven`.

use crate::command::{command, root, succeeds};
use crate::tools::apt_install;
use std::fs;
use std::path::PathBuf;

/// Where the C goes.
const FOLDER: &str = "target/proof/c";

/// Each file and the modules in it; what these use comes with them. The fold is there once for each kind
/// of sizes, under the same names, and so in files of its own.
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

/// The folder with the C; nothing where Why3 or a C compiler cannot be had.
pub(crate) fn set_up() -> Result<Option<PathBuf>, String> {
    let can_be_had = |program: &str, package| {
        let there = || succeeds(command(program, &["--version"]));
        let had = there() || (apt_install(&[package]) && there());
        if !had {
            eprintln!("no {program}: install {package} to have the core run beside the proven programs");
        }
        had
    };
    // The programs are about 64 bits.
    if !cfg!(target_pointer_width = "64") || !can_be_had("why3", "why3") || !can_be_had("cc", "gcc") {
        return Ok(None);
    }
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| format!("{FOLDER}: {error}"))?;
    for (name, modules) in FILES {
        let file = folder.join(name);
        let text = mended(&extracted(modules)?);
        // A file that is as it was is left alone, and not compiled anew.
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(Some(folder))
}

/// The C of these modules.
fn extracted(modules: &[&str]) -> Result<String, String> {
    let what = format!("extracting {}", modules.join(", "));
    let mut extract = command("why3", &["extract", "--recursive", "--driver", "c", "--library", "proof"]);
    let output = extract.args(modules).output().map_err(|error| format!("{what}: {error}"))?;
    // What it cannot translate Why3 leaves out, with a word and without failing.
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !said.trim().is_empty() {
        return Err(format!("{what}: failed ({})\n{said}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{what}: {error}"))
}

/// Why3 1.5.1 writes a pointer to a record, where it is a parameter, as a pointer to such a pointer,
/// which no C compiler takes in the places where it is used. There are no pointers to pointers in the
/// programs, so that none can be meant.
fn mended(text: &str) -> String {
    text.replace("struct extent * *", "struct extent *")
}
