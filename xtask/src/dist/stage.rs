//! A copy of the sources that a release is built from, with links of the README that work outside the repository.

use crate::command::{command, output, root};
use crate::files::copy;
use crate::workspace::package_named;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of a release.
pub(crate) struct Stage {
    pub(crate) folder: PathBuf,
    pub(crate) version: String,
    /// Time of the last commit, in seconds since 1970: the time of everything that has one.
    pub(crate) time: String,
}

impl Stage {
    /// Copies the files that git tracks, and new ones that it does not ignore, to an empty folder.
    pub(crate) fn new(folder: PathBuf) -> Result<Stage, String> {
        let version = package_named("unishape")?.version;
        let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let list = output("git ls-files", command("git", &list))?;
        let time = output("git log", command("git", &["log", "-1", "--format=%ct"]))?.trim().to_owned();
        let _ = fs::remove_dir_all(&folder);
        for name in list.split_terminator('\0') {
            let from = root().join(name);
            // Deleted, but not yet committed.
            if from.exists() {
                copy(&from, &folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
            }
        }
        let manifest = fs::read_to_string(root().join("Cargo.toml")).map_err(|error| error.to_string())?;
        let repository = manifest.lines().find_map(|line| line.strip_prefix("repository = "));
        let repository = repository.ok_or("Cargo.toml names no repository")?.trim_matches('"');
        let readme = folder.join("README.md");
        let text = fs::read_to_string(&readme).map_err(|error| error.to_string())?;
        fs::write(&readme, absolute_links(&text, repository, &version)).map_err(|error| error.to_string())?;
        Ok(Stage { folder, version, time })
    }

    /// Flags for rustc that replace the folders of the sources and of the crates in what is built.
    pub(crate) fn remapped(&self) -> String {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap_or_default());
        let cargo = std::env::var_os("CARGO_HOME").map_or(home.join(".cargo"), PathBuf::from);
        let map = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
        format!("{} {}", map(&self.folder, "/unishape"), map(&cargo, "/cargo"))
    }
}

/// A Markdown text in which links to files of the repository are links to its pages at a version. Code blocks stay.
fn absolute_links(text: &str, repository: &str, version: &str) -> String {
    let mut result = String::new();
    let mut in_code = false;
    for line in text.split_inclusive('\n') {
        in_code ^= line.starts_with("```");
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](").filter(|_| !in_code) {
            result.push_str(before);
            result.push_str("](");
            if !["https:", "http:", "mailto:", "#"].iter().any(|start| after.starts_with(start)) {
                let is_picture = before.rfind('[').is_some_and(|at| before[..at].ends_with('!'));
                let page = if is_picture { "raw" } else { "blob" };
                result.push_str(&format!("{repository}/{page}/v{version}/"));
            }
            rest = after;
        }
        result.push_str(rest);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::absolute_links;

    #[test]
    fn links_to_files_become_absolute() {
        let text = "![a chart](docs/a.svg) and [b](docs/b.md), [c](docs/c.md#d)\n\
                    [e](https://example.org/) [f](#f)\n```\n[g](h)\n```\n";
        let expected = "![a chart](R/raw/v1.2.3/docs/a.svg) and [b](R/blob/v1.2.3/docs/b.md), \
                        [c](R/blob/v1.2.3/docs/c.md#d)\n\
                        [e](https://example.org/) [f](#f)\n```\n[g](h)\n```\n";
        assert_eq!(absolute_links(text, "R", "1.2.3"), expected);
    }
}
