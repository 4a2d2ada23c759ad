//! The command in an archive: program, manual pages, completions, list of components.

use super::musl::{self, MuslBuilder};
use super::stage::Stage;
use crate::command::{self, cargo, command, output};
use crate::files::copy;
use crate::install::CargoTool;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes lists of components (SBOM); compiles in two minutes.
const CYCLONEDX: CargoTool = CargoTool { name: "cyclonedx", version: "0.5.9" };

/// Completion scripts: shell and file name.
const COMPLETIONS: [(&str, &str); 4] = [
    ("bash", "unishape.bash"),
    ("zsh", "_unishape"),
    ("fish", "unishape.fish"),
    ("powershell", "_unishape.ps1"),
];

/// Makes the archive for this machine, or for systems with musl.
pub(crate) fn make(folder: &Path, twice: bool, musl: Option<&MuslBuilder>) -> Result<(), String> {
    let archive = build(folder, "stage", musl)?;
    if twice {
        let second = build(&folder.join("again"), "another-stage", musl)?;
        let read = |file: &PathBuf| fs::read(file).map_err(|error| format!("{}: {error}", file.display()));
        if read(&archive)? != read(&second)? {
            return Err(format!("{} and {} differ", archive.display(), second.display()));
        }
        println!("built twice, the same bytes");
    }
    println!("{}", archive.display());
    Ok(())
}

/// Builds the archive from sources that are copied to a folder of this name.
fn build(folder: &Path, name: &str, musl: Option<&MuslBuilder>) -> Result<PathBuf, String> {
    let stage = Stage::new(folder.join(name))?;
    let target = if musl.is_some() { musl::TARGET.to_owned() } else { host()? };
    let mut flags = stage.remapped();
    if is_static() {
        // No interpreter and no library of the system: runs on every Linux.
        flags.push_str(" -C target-feature=+crt-static");
    }
    let mut build = match musl {
        Some(builder) => builder.command(&stage.folder, &flags, &["cargo", "build"]),
        None => {
            let mut build = cargo(&["build", "--release", "--locked", "--target", &target]);
            build.env("RUSTFLAGS", flags).env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
            build.current_dir(&stage.folder);
            build
        }
    };
    build.args(["--package", "unishape-cli", "--bin", "unishape"]);
    build.arg("--target-dir").arg(folder.join("command-build"));
    command::run(&format!("the command for {target}"), build)?;

    let title = format!("unishape-{}-{target}", stage.version);
    let content = folder.join(&title);
    let _ = fs::remove_dir_all(&content);
    let program = if cfg!(windows) { "unishape.exe" } else { "unishape" };
    let built = folder.join("command-build").join(&target).join("release").join(program);
    let pack = || {
        copy(&built, &content.join(program))?;
        for file in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            copy(&stage.folder.join(file), &content.join(file))?;
        }
        fs::create_dir_all(content.join("completions"))
    };
    pack().map_err(|error| format!("{}: {error}", content.display()))?;
    let program = content.join(program);
    if is_static() {
        let mut libraries = command("ldd", &[]);
        libraries.arg(&program);
        let output = libraries.output().map_err(|error| format!("ldd: {error}"))?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        if !["statically linked", "not a dynamic executable"].iter().any(|found| text.contains(found)) {
            return Err(format!("the command is linked to libraries:\n{text}"));
        }
    }
    for (shell, file) in COMPLETIONS {
        let script = output("completions", command(&program, &["completions", shell]))?;
        let file = content.join("completions").join(file);
        fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    let mut manual = command(&program, &["man"]);
    manual.arg(content.join("man"));
    command::run("manual pages", manual)?;
    let components = components(&stage, &target)?;
    let file = content.join("unishape.cdx.json");
    fs::write(&file, components).map_err(|error| format!("{}: {error}", file.display()))?;
    archive(folder, &title, &stage.time)
}

/// The list of all crates in the command, in CycloneDX's format.
fn components(stage: &Stage, target: &str) -> Result<String, String> {
    CYCLONEDX.install()?;
    let manifest = stage.folder.join("crates/cli/Cargo.toml");
    let mut list = command(CYCLONEDX.program(), &["cyclonedx", "--format", "json", "--spec-version", "1.5"]);
    list.args(["--target", target, "--override-filename", "unishape.cdx", "--manifest-path"]).arg(&manifest);
    list.env("SOURCE_DATE_EPOCH", &stage.time).current_dir(&stage.folder);
    command::run("the list of components", list)?;
    let file = manifest.with_file_name("unishape.cdx.json");
    let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    // Names of our own crates contain their folder.
    Ok(text.replace(&stage.folder.display().to_string(), "/unishape"))
}

/// Packs a folder so that its bytes depend on its content only.
fn archive(folder: &Path, title: &str, time: &str) -> Result<PathBuf, String> {
    let [tar, archive] = ["tar", "tar.gz"].map(|end| folder.join(format!("{title}.{end}")));
    let mut pack = command("tar", &["--create", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.args(["--mode=u=rwX,go=rX", &format!("--mtime=@{time}")]);
    pack.arg("--file").arg(&tar).arg("--directory").arg(folder).arg(title);
    command::run("the archive", pack)?;
    let mut compress = command("gzip", &["--force", "--best", "--no-name"]);
    compress.arg(&tar);
    command::run("the archive, compressed", compress)?;
    Ok(archive)
}

/// Whether the command is linked statically: with glibc, too, since it looks up neither users nor hosts.
fn is_static() -> bool {
    cfg!(target_os = "linux")
}

/// The target triple of this machine.
fn host() -> Result<String, String> {
    let text = output("rustc -vV", command("rustc", &["-vV"]))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(ToOwned::to_owned).ok_or_else(|| "rustc -vV names no host".into())
}
