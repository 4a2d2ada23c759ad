//! Checks of what is released: dependencies (`deny`), the public API (`semver`), the oldest compiler (`msrv`), and of the
//! files that GitHub reads (`workflows`).

use crate::command::{self, cargo, command, output, root, succeeds};
use crate::install::CargoTool;
use crate::python;
use crate::workspace::packages;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

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
    /// The commit or tag to compare with; default: the last release, which is the newest tag `v…`.
    baseline: Option<String>,
}

/// Compares the APIs of the libraries with those of an earlier commit.
pub(crate) fn semver(options: &SemverOptions) -> Result<(), String> {
    let last = || {
        let tag = command("git", &["describe", "--tags", "--match=v*", "--abbrev=0"]).output().ok()?;
        tag.status.success().then(|| String::from_utf8_lossy(tag.stdout.trim_ascii()).into_owned())
    };
    let Some(baseline) = options.baseline.clone().or_else(last) else {
        println!(
            "Nothing was compared: there is no release yet, that is, no tag `v…`. \
             `cargo xtask semver COMMIT` compares with a commit."
        );
        return Ok(());
    };
    SEMVER.install()?;
    let libraries = packages()?.into_iter().filter(|package| package.published);
    let mut check = command(SEMVER.program(), &["semver-checks", "--baseline-rev", &baseline]);
    for package in libraries.filter(|package| !INTERNAL.contains(&package.name.as_str())) {
        check.args(["--package", &package.name]);
    }
    command::run(&format!("public APIs compared with {baseline}"), check)
}

/// Checks that the workspace needs no newer compiler than `rust-version` says.
///
/// The dependencies must allow it, and clippy knows since when functions of std exist. What the language itself needs is
/// tested where a toolchain of that version is installed.
pub(crate) fn msrv() -> Result<(), String> {
    let metadata = output("cargo metadata", cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let newer = newer_dependencies(&metadata).ok_or("cargo metadata: no graph of dependencies")?;
    if !newer.is_empty() {
        return Err(newer.join("\n"));
    }
    let own = metadata["packages"].as_array().and_then(|packages| {
        packages.iter().find(|package| package["name"] == "unishape").and_then(rust_version)
    });
    let own = own.ok_or("unishape has no rust-version")?;

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

/// The `rust-version` of a package in cargo's metadata.
fn rust_version(package: &Value) -> Option<(u32, u32)> {
    package["rust_version"].as_str().and_then(version)
}

/// Dependencies that need a newer compiler than the package of the workspace that has them says.
///
/// Features that are off by default do not count.
fn newer_dependencies(metadata: &Value) -> Option<Vec<String>> {
    let packages: HashMap<&str, &Value> = metadata["packages"]
        .as_array()?
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: HashMap<&str, &Vec<Value>> = metadata["resolve"]["nodes"]
        .as_array()?
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node["deps"].as_array()?)))
        .collect();
    let mut newer = Vec::new();
    for member in metadata["workspace_members"].as_array()?.iter().filter_map(Value::as_str) {
        let Some(own) = packages.get(member).and_then(|package| rust_version(package)) else { continue };
        let (mut next, mut seen) = (vec![member], HashSet::from([member]));
        while let Some(id) = next.pop() {
            let package = packages.get(id)?;
            if rust_version(package).is_some_and(|version| version > own) {
                let [member, name, version] =
                    [&packages[member]["name"], &package["name"], &package["rust_version"]];
                newer.push(format!("{member}: {name} needs Rust {version}"));
            }
            let used = nodes.get(id)?.iter().filter(|dependency| {
                let kinds = dependency["dep_kinds"].as_array();
                kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
            });
            next.extend(
                used.filter_map(|dependency| dependency["pkg"].as_str()).filter(|id| seen.insert(id)),
            );
        }
    }
    Some(newer)
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
    use super::{newer_dependencies, version};
    use serde_json::json;

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version("1.89") > version("1.9.1"));
        assert_eq!((version("1"), version("1.89.0"), version("x")), (Some((1, 0)), Some((1, 89)), None));
    }

    #[test]
    fn dependencies_may_not_need_a_newer_compiler_than_their_package() {
        let package =
            |name: &str, version: &str| json!({ "id": name, "name": name, "rust_version": version });
        let node = |name: &str, uses: &[(&str, Option<&str>)]| {
            let dependency = |&(name, kind): &(&str, Option<&str>)| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
            json!({ "id": name, "deps": uses.iter().map(dependency).collect::<Vec<_>>() })
        };
        let metadata = json!({
            "packages": [package("own", "1.89"), package("other", "1.91"), package("a", "1.60"), package("b", "1.91")],
            "workspace_members": ["own", "other"],
            "resolve": { "nodes": [
                node("own", &[("a", None), ("other", Some("dev"))]),
                node("other", &[("b", None)]),
                node("a", &[("b", Some("build"))]),
                node("b", &[]),
            ] },
        });
        let newer = newer_dependencies(&metadata).unwrap();
        assert_eq!(newer, [r#""own": "b" needs Rust "1.91""#]);
    }
}
