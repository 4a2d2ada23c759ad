//! Checks of what is released: dependencies (`deny`), the public API (`semver`), the oldest compiler (`msrv`), and of the
//! files that GitHub reads (`workflows`).

use crate::command::{self, cargo, command, output, root, succeeds};
use crate::install::CargoTool;
use crate::python;
use crate::workspace::packages;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::process::Command;

/// Checks licences, sources, duplicates and advisories of dependencies; compiles in three minutes.
const DENY: CargoTool = CargoTool { name: "deny", version: "0.20.2" };

/// Compares public APIs; compiles in five minutes.
const SEMVER: CargoTool = CargoTool { name: "semver-checks", version: "0.51.0" };

/// Libraries whose API is internal: it may change with every release. `unishape-kernels` is not among them: `DType`, `Op`
/// and `Scalar` of the API of `unishape` are defined there.
const INTERNAL: [&str; 4] = ["unishape-cuda", "unishape-engine", "unishape-jit", "unishape-simd"];

/// Checks the dependencies by `deny.toml`.
///
/// Advisories need a database from the network. Without it everything else is checked, and the missing check is reported;
/// in CI it is an error.
pub(crate) fn deny() -> Result<(), String> {
    DENY.install()?;
    let check = |of: &[&str]| {
        let mut check = command(DENY.program(), &["--log-level", "warn", "check"]);
        check.args(of);
        check
    };
    command::run("licences, sources and versions of dependencies", check(&["licenses", "sources", "bans"]))?;
    if !succeeds(command(DENY.program(), &["fetch", "db"])) {
        return unchecked("Advisories were NOT checked: their database cannot be fetched.", in_ci());
    }
    command::run("advisories on dependencies", check(&["advisories"]))
}

fn in_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Reports what could not be checked; in CI this is an error.
fn unchecked(what: &str, in_ci: bool) -> Result<(), String> {
    if in_ci {
        return Err(what.into());
    }
    eprintln!("\n{what}");
    Ok(())
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

/// Checks that no package needs a newer compiler than its `rust-version` says.
///
/// The dependencies must allow it, and clippy knows since when functions of std exist. What the language itself needs, and
/// functions that were `unsafe` before, show in a build with a toolchain of each version: in CI it is installed, elsewhere
/// the build is left out without it.
pub(crate) fn msrv() -> Result<(), String> {
    let metadata = output("cargo metadata", cargo(&["metadata", "--format-version=1", "--locked"]))?;
    let metadata: Value =
        serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    let newer = newer_dependencies(&metadata).ok_or("cargo metadata: no graph of dependencies")?;
    if !newer.is_empty() {
        return Err(newer.join("\n"));
    }
    let mut lints = cargo(&["clippy", "--workspace", "--features", "unishape/cuda", "--"]);
    lints.args(["-D", "clippy::incompatible_msrv"]);
    command::run("functions of std", lints)?;

    for ((major, minor), packages) in packages_by_version(&metadata) {
        let toolchain = format!("{major}.{minor}");
        let packages: Vec<&str> = packages.into_iter().flat_map(|name| ["--package", name]).collect();
        if !succeeds(command("rustup", &["run", &toolchain, "cargo", "--version"])) {
            let install = ["toolchain", "install", &toolchain, "--profile", "minimal"];
            if !in_ci() {
                eprintln!("\nNothing was built with Rust {toolchain}: rustup {}", install.join(" "));
                continue;
            }
            command::run(&format!("installing Rust {toolchain}"), command("rustup", &install))?;
        }
        let mut check = command("rustup", &["run", &toolchain, "cargo", "check", "--locked"]);
        check.args(packages).arg("--target-dir").arg(root().join("target/msrv")).env_remove("CARGO");
        command::run(&format!("a build with Rust {toolchain}"), check)?;
    }
    Ok(())
}

/// The names of the packages of the workspace, by their `rust-version`.
fn packages_by_version(metadata: &Value) -> BTreeMap<(u32, u32), Vec<&str>> {
    let members: HashSet<&Value> = metadata["workspace_members"].as_array().into_iter().flatten().collect();
    let mut versions = BTreeMap::<_, Vec<&str>>::new();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    for package in packages.filter(|package| members.contains(&package["id"])) {
        if let (Some(version), Some(name)) = (rust_version(package), package["name"].as_str()) {
            versions.entry(version).or_default().push(name);
        }
    }
    versions
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

/// Compares workflows, issue forms and the settings of Dependabot with their schemas, and looks for known mistakes.
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
    let program = |name: &str| interpreter.with_file_name(name);
    for (schema, path) in [
        ("vendor.github-workflows", ".github/workflows"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE"),
        ("vendor.dependabot", ".github/dependabot.yml"),
    ] {
        let check = command(program("check-jsonschema"), &["--builtin-schema", schema]);
        command::run(&format!("{path} and its schema"), with_files(check, path)?)?;
    }
    command::run(
        "security of the workflows",
        command(program("zizmor"), &["--offline", "--quiet", ".github"]),
    )
}

/// Adds a file, or the files in a folder, to the arguments of a command. The settings of issue forms have no schema here.
fn with_files(mut command: Command, path: &str) -> Result<Command, String> {
    let full = root().join(path);
    if full.is_file() {
        command.arg(full);
        return Ok(command);
    }
    let files = fs::read_dir(&full).map_err(|error| format!("{path}: {error}"))?;
    let files = files.flatten().map(|file| file.path());
    command.args(files.filter(|file| !file.ends_with("config.yml")));
    Ok(command)
}

/// Major and minor number of a version.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next().map_or(Some(0), Result::ok)?))
}

#[cfg(test)]
mod tests {
    use super::{newer_dependencies, packages_by_version, unchecked, version};
    use serde_json::json;

    #[test]
    fn versions_are_ordered_by_number() {
        assert!(version("1.89") > version("1.9.1"));
        assert_eq!((version("1"), version("1.89.0"), version("x")), (Some((1, 0)), Some((1, 89)), None));
    }

    #[test]
    fn what_is_not_checked_is_an_error_in_ci() {
        assert_eq!(unchecked("advisories", false), Ok(()));
        assert_eq!(unchecked("advisories", true), Err("advisories".into()));
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
        let versions: Vec<_> = packages_by_version(&metadata).into_iter().collect();
        assert_eq!(versions, [((1, 89), vec!["own"]), ((1, 91), vec!["other"])]);
        let newer = newer_dependencies(&metadata).unwrap();
        assert_eq!(newer, [r#""own": "b" needs Rust "1.91""#]);
    }
}
