//! `cargo xtask package`: packages every published crate, and tests what is in the packages.
//!
//! `cargo package` verifies that a package builds, but not that its unit tests and examples do, which users of a
//! distribution run. Here the packages are unpacked into a workspace of their own, in which they depend on each other.

use crate::command::{self, cargo, command, root};
use crate::workspace::{Package, packages};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Options of `cargo xtask package`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Make and unpack the packages, but test nothing.
    #[arg(long)]
    no_test: bool,
}

/// The workspace of unpacked packages.
const FOLDER: &str = "target/packages";

pub(crate) fn run(options: &Options) -> Result<(), String> {
    let published: Vec<Package> = packages()?.into_iter().filter(|package| package.published).collect();
    let mut pack = cargo(&["package", "--no-verify", "--allow-dirty", "--quiet"]);
    for package in &published {
        pack.args(["--package", &package.name]);
    }
    command::run("packages", pack)?;

    let folder = root().join(FOLDER);
    let _ = fs::remove_dir_all(folder.join("crates"));
    fs::create_dir_all(folder.join("crates")).map_err(|error| format!("{FOLDER}: {error}"))?;
    let mut bytes = 0;
    for package in &published {
        let archive = format!("target/package/{}-{}.crate", package.name, package.version);
        bytes += fs::metadata(root().join(&archive)).map_err(|error| format!("{archive}: {error}"))?.len();
        // Files in packages all have one time, by which cargo would take them for those that it has compiled before.
        let mut unpack =
            command("tar", &["--extract", "--touch", "--gzip", "--file", &archive, "--directory"]);
        unpack.arg(folder.join("crates"));
        if !command::succeeds(unpack) {
            return Err(format!("{archive} cannot be unpacked"));
        }
        check_files(&folder.join("crates").join(format!("{}-{}", package.name, package.version)))?;
    }
    println!("{} packages, {} kB", published.len(), bytes / 1000);
    if options.no_test {
        return Ok(());
    }

    let manifest = manifest(&published);
    let copy = || {
        fs::write(folder.join("Cargo.toml"), manifest)?;
        fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock"))
    };
    copy().map_err(|error| format!("{FOLDER}: {error}"))?;
    let manifest = format!("--manifest-path={FOLDER}/Cargo.toml");
    let test = ["test", "--quiet", "--target-dir=target/packages/target", &manifest];
    let mut tests = cargo(&test);
    // The features that docs.rs documents.
    tests.args(["--workspace", "--exclude", CUDA, "--features", "unishape/cuda,unishape-cli/zarr"]);
    command::run("tests of the packages", tests)?;
    let mut tests = cargo(&test);
    tests.args(["--package", CUDA, "--lib"]);
    command::run("unit tests of the package for GPUs", tests)
}

/// The package whose examples compute expressions of `unishape`. That depends on it, so a package of it cannot.
const CUDA: &str = "unishape-cuda";

/// What every package has besides its sources.
const FILES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Checks that a package has its licences and its README, as files and not as links.
fn check_files(folder: &Path) -> Result<(), String> {
    for name in FILES {
        let file = folder.join(name);
        if !fs::symlink_metadata(&file).is_ok_and(|file| file.is_file() && file.len() > 0) {
            return Err(format!("{} has no {name}", folder.display()));
        }
    }
    Ok(())
}

/// The manifest of a workspace in which packages depend on each other, and not on published ones.
fn manifest(packages: &[Package]) -> String {
    let mut text = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    text.push_str("\n[profile.test]\nopt-level = 1\n\n[patch.crates-io]\n");
    for package in packages {
        let Package { name, version, .. } = package;
        _ = writeln!(text, "{name} = {{ path = \"crates/{name}-{version}\" }}");
    }
    text
}
