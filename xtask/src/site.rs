//! The site: pages, reference of Rust, and the playground, as files in `target/site`.
//!
//! `site/` has the configuration of the pages (mkdocs), and the page of the playground. The engine of the playground is
//! compiled to WebAssembly in a Debian system, whose Rust has a standard library for it.

use crate::command::{cargo, command, root, run, succeeds};
use crate::debian::Debian;
use crate::files::copy_folder;
use crate::python;
use std::fs;
use std::path::{Path, PathBuf};

/// Packages of the site's reference.
const DOCUMENTED: [&str; 5] =
    ["unishape", "unishape-core", "unishape-explain", "unishape-npy", "unishape-onnx"];

/// Where cargo writes the engine, below `target`.
const WASM: &str = "platforms/wasm32/wasm32-unknown-unknown/playground/unishape_playground.wasm";

/// The most bytes of the engine as it is downloaded, compressed.
const MAX_ENGINE: u64 = 1_500_000;

/// Options of `cargo xtask site`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build neither the reference of Rust nor the engine again: only the pages.
    #[arg(long)]
    pages: bool,
    /// Test the built site in a browser, too: the playground, and accessibility if npm is installed.
    #[arg(long)]
    test: bool,
    /// Folder of the Debian system that compiles the engine.
    #[arg(long, value_name = "DIR", default_value = "target/platforms/debian")]
    debian: PathBuf,
}

pub(crate) fn run_task(options: &Options) -> Result<(), String> {
    let target = root().join("target");
    let (site, wasm) = (target.join("site"), target.join(WASM));
    let mut left_out = Vec::new();
    if !options.pages {
        let mut doc = cargo(&["doc", "--no-deps", "--quiet"]);
        doc.args(DOCUMENTED.iter().flat_map(|package| ["--package", package]));
        run("reference of Rust", doc)?;
        if let Err(error) = compile_engine(&root().join(&options.debian)) {
            let _ = fs::remove_file(&wasm);
            eprintln!("{error}");
        }
    }
    let python = environment()?;
    // Not with `--quiet`: warnings that are not printed do not count as errors.
    let mut pages = command(&python, &["-m", "mkdocs", "build", "--strict"]);
    pages.args(["--config-file", "site/mkdocs.yml"]).env("NO_MKDOCS_2_WARNING", "1");
    match wasm.is_file() {
        true => _ = pages.env("UNISHAPE_WASM", &wasm),
        false => left_out.push(
            "the engine of the playground: it is compiled in a Debian system, which needs Linux, root privileges \
             and debootstrap",
        ),
    }
    run("pages", pages)?;
    match target.join("doc/unishape/index.html").is_file() {
        true => copy_folder(&target.join("doc"), &site.join("rust"))
            .map_err(|error| format!("copying the reference of Rust: {error}"))?,
        false => return Err("no reference of Rust: run this without --pages first".into()),
    }
    let mut check = command(&python, &["site/check.py"]);
    check.arg(&site);
    run("links and HTML", check)?;
    let engine = site.join("playground/engine.js");
    let size = fs::metadata(&engine).map_or(0, |file| file.len()) * 3 / 4;
    if size > MAX_ENGINE {
        return Err(format!("the engine has {size} bytes, compressed; at most {MAX_ENGINE} are allowed"));
    }
    if options.test {
        test(&site, wasm.is_file())?;
    }
    eprintln!("\nThe site is in {}; open index.html.", site.display());
    for part in left_out {
        eprintln!("Left out: {part}.");
    }
    Ok(())
}

/// Compiles the engine of the playground.
fn compile_engine(folder: &Path) -> Result<(), String> {
    let debian = Debian::set_up(folder.to_path_buf())?;
    debian.install(&[], &["cargo", "libstd-rust-dev-wasm32", "lld"])?;
    let build = debian.command(
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld",
        &[
            "cargo",
            "rustc",
            "--quiet",
            "--profile",
            "playground",
            "--target",
            "wasm32-unknown-unknown",
            "--target-dir",
            "target/platforms/wasm32",
            "--package",
            "unishape-playground",
            "--crate-type",
            "cdylib",
        ],
    );
    run("engine of the playground", build)
}

/// The Python of an environment with mkdocs.
fn environment() -> Result<PathBuf, String> {
    let folder = root().join("target/site-env");
    let python = python::interpreter(&folder);
    if !succeeds(command(&python, &["-m", "pip", "--version"])) {
        run("Python environment", command("python3", &["-m", "venv", "target/site-env"]))?;
    }
    let mut install = python::pip_install(&python);
    install.args(["--requirement", "site/requirements.txt"]);
    run("Python packages of the site", install)?;
    Ok(python)
}

/// Tests the site in a browser.
fn test(site: &Path, has_engine: bool) -> Result<(), String> {
    if !has_engine {
        return Err("the playground cannot be tested: its engine was not built".into());
    }
    let mut test = cargo(&["test", "--package", "unishape-playground", "--test", "browser"]);
    test.env("UNISHAPE_SITE", site);
    let mut install =
        command("npm", &["install", "--silent", "--no-save", "--prefix", "target/axe", "axe-core@4"]);
    install.stdout(std::process::Stdio::null());
    match run("axe-core, for accessibility", install) {
        Ok(()) => _ = test.env("UNISHAPE_AXE", root().join("target/axe/node_modules/axe-core/axe.min.js")),
        Err(error) => eprintln!("{error}; accessibility is not tested"),
    }
    run("the site in a browser", test)
}

#[cfg(test)]
mod tests {
    use crate::command::root;
    use std::fs;

    #[test]
    fn every_page_is_in_the_navigation() {
        let settings = fs::read_to_string(root().join("site/mkdocs.yml")).unwrap();
        let (_, navigation) = settings.split_once("\nnav:\n").unwrap();
        let listed: Vec<&str> = navigation.lines().filter_map(|line| line.split(' ').next_back()).collect();
        let files = fs::read_dir(root().join("docs")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        // The list of pages in the repository is not a page of the site.
        for name in names.filter(|name| name.ends_with(".md") && name != "README.md") {
            assert!(listed.contains(&name.as_str()), "site/mkdocs.yml has no {name}");
        }
    }
}
