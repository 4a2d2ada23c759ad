//! Checks of what is released: dependencies (`deny`), the public API (`semver`), the oldest compiler (`msrv`), and of the
//! files that GitHub reads (`workflows`).

use crate::command::{self, cargo, command, output, root, succeeds};
use crate::install::CargoTool;
use crate::python;
use crate::workspace::packages;
use serde_json::Value;

/// Checks licences, sources, duplicates and advisories of dependencies; compiles in three minutes.
const DENY: CargoTool = CargoTool { name: "deny", version: "0.20.2" };

/// Compares public APIs; compiles in five minutes.
const SEMVER: CargoTool = CargoTool { name: "semver-checks", version: "0.51.0" };

/// Libraries whose API is internal: it may change with every release.
const INTERNAL: [&str; 5] =
    ["unishape-cuda", "unishape-engine", "unishape-jit", "unishape-kernels", "unishape-simd"];

/// Checks the dependencies by `deny.toml`.
///
/// Advisories need a database from the network. Without it everything else is checked, and the missing check is reported.
pub(crate) fn deny() -> Result<(), String> {
    DENY.install()?;
    let check = |of: &[&str]| {
        let mut check = command(DENY.program(), &["--log-level", "warn", "check"]);
        check.args(of);
        check
    };
    command::run("licences, sources and versions of dependencies", check(&["licenses", "sources", "bans"]))?;
    if !succeeds(command(DENY.program(), &["fetch", "db"])) {
        eprintln!("\nAdvisories were NOT checked: the database of advisories cannot be fetched here.");
        return Ok(());
    }
    command::run("advisories on dependencies", check(&["advisories"]))
}

/// Options of `cargo xtask semver`.
#[derive(clap::Args)]
pub(crate) struct SemverOptions {
    /// The commit or tag to compare with, usually the last release.
    baseline: String,
}

/// Compares the APIs of the libraries with those of an earlier commit.
pub(crate) fn semver(options: &SemverOptions) -> Result<(), String> {
    SEMVER.install()?;
    let libraries = packages()?.into_iter().filter(|package| package.published);
    let mut check = command(SEMVER.program(), &["semver-checks", "--baseline-rev", &options.baseline]);
    for package in libraries.filter(|package| !INTERNAL.contains(&package.name.as_str())) {
        check.args(["--package", &package.name]);
    }
    command::run(&format!("public APIs compared with {}", options.baseline), check)
}

/// Checks that the workspace needs no newer compiler than `rust-version` says.
///
/// The dependencies must allow it, and clippy knows since when functions of std exist. What the language itself needs is
/// tested where a toolchain of that version is installed.
pub(crate) fn msrv() -> Result<(), String> {
    let metadata = output("cargo metadata", cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let of = |package: &Value| package["rust_version"].as_str().and_then(version);
    let own = packages.iter().find(|package| package["name"] == "unishape").and_then(of);
    let own = own.ok_or("unishape has no rust-version")?;
    let newer: Vec<String> = packages
        .iter()
        .filter(|package| of(package).is_some_and(|version| version > own))
        .map(|package| format!("{} needs Rust {}", package["name"], package["rust_version"]))
        .collect();
    if !newer.is_empty() {
        return Err(newer.join("\n"));
    }

    let mut lints = cargo(&["clippy", "--workspace", "--features", "unishape/cuda", "--"]);
    lints.args(["-D", "clippy::incompatible_msrv"]);
    command::run("functions of std", lints)?;

    let toolchain = format!("{}.{}", own.0, own.1);
    if !succeeds(command("rustup", &["run", &toolchain, "cargo", "--version"])) {
        eprintln!(
            "\nThe workspace was NOT built with Rust {toolchain}: rustup toolchain install {toolchain} --profile minimal"
        );
        return Ok(());
    }
    let mut check = command("rustup", &["run", &toolchain, "cargo", "check", "--workspace", "--locked"]);
    check.arg("--target-dir").arg(root().join("target/msrv")).env_remove("CARGO");
    command::run(&format!("a build with Rust {toolchain}"), check)
}

/// Compares the workflows and the settings of Dependabot with their schemas, and looks for known mistakes.
///
/// Nothing is fetched but the two programs, into an environment in `target/tools/python`.
pub(crate) fn workflows() -> Result<(), String> {
    let folder = root().join("target/tools/python");
    let interpreter = python::interpreter(&folder);
    if !succeeds(command(&interpreter, &["-m", "pip", "--version"])) {
        command::run("an environment of Python", command("python3", &["-m", "venv", "target/tools/python"]))?;
    }
    let mut install = python::pip_install(&interpreter);
    install.args(["check-jsonschema>=0.34,<1", "zizmor>=1.16,<2"]);
    command::run("linters of workflows", install)?;
    let program = |name: &str, args: &[&str]| command(interpreter.with_file_name(name), args);
    for (schema, path) in [
        ("vendor.github-workflows", ".github/workflows/test.yml"),
        ("vendor.github-workflows", ".github/workflows/wheels.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
    ] {
        let check = program("check-jsonschema", &["--builtin-schema", schema, path]);
        command::run(&format!("{path} and its schema"), check)?;
    }
    command::run("security of the workflows", program("zizmor", &["--offline", "--quiet", ".github"]))
}

/// Major and minor number of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next().map_or(Some(0), Result::ok)?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version("1.89") > version("1.9.1"));
        assert_eq!((version("1"), version("1.89.0"), version("x")), (Some((1, 0)), Some((1, 89)), None));
    }
}
