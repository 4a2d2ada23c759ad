//! Compiled kernels on disk, shared by all processes of a user.
//!
//! A file holds the source, too, so that equal hashes of different kernels do no harm, and a checksum: files may be
//! damaged, such as by a loss of power. Files appear as a whole, since others may read or write the same one meanwhile.
//! Nothing depends on the cache: whatever goes wrong is a miss.

use crate::value::Numerics;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use unishape_atomic_file::{AtomicFile, commit_all};

/// First bytes of a file; changed with its format, and with the options of the compiler.
const MAGIC: &[u8; 8] = b"unishp04";

/// Most files of the cache. Half of them, the oldest, are removed when there are more.
const MAX_FILES: usize = 4096;

/// What a compiled kernel depends on, besides its source.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct CompileTarget {
    /// Compute capability, such as 90 for 9.0.
    pub(crate) capability: i32,
    /// Version of the compiler.
    pub(crate) compiler: (i32, i32),
    pub(crate) numerics: Numerics,
}

/// A folder of compiled kernels.
#[derive(Debug)]
pub(crate) struct DiskCache {
    folder: Option<PathBuf>,
}

impl DiskCache {
    /// The cache in the user's cache directory; without one, everything is a miss.
    pub(crate) fn of_user() -> DiskCache {
        DiskCache { folder: user_folder(|name| std::env::var_os(name)) }
    }

    /// The cache in a folder.
    #[cfg(test)]
    fn in_folder(folder: &Path) -> DiskCache {
        DiskCache { folder: Some(folder.to_owned()) }
    }

    fn file(&self, source: &str, target: CompileTarget) -> Option<PathBuf> {
        let hash = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, env!("CARGO_PKG_VERSION"), target, source).hash(&mut hasher);
            hasher.finish()
        };
        Some(self.folder.as_ref()?.join(format!("{:016x}{:016x}.bin", hash(0), hash(1))))
    }

    /// The compiled kernel, if the folder has it.
    pub(crate) fn get(&self, source: &str, target: CompileTarget) -> Option<Vec<u8>> {
        let content = std::fs::read(self.file(source, target)?).ok()?;
        let rest = content.strip_prefix(MAGIC)?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (sum, rest) = rest.split_first_chunk::<8>()?;
        let (own, code) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        let is_whole = own == source.as_bytes() && u64::from_le_bytes(*sum) == checksum(code);
        is_whole.then(|| code.to_vec())
    }

    /// Keeps a compiled kernel.
    pub(crate) fn insert(&self, source: &str, target: CompileTarget, code: &[u8]) {
        let Some(file) = self.file(source, target) else { return };
        let Some(folder) = file.parent() else { return };
        let write = || {
            std::fs::create_dir_all(folder)?;
            let mut file = AtomicFile::create(&file)?;
            let (length, sum) = ((source.len() as u64).to_le_bytes(), checksum(code).to_le_bytes());
            for part in [MAGIC, &length[..], &sum, source.as_bytes(), code] {
                file.file().write_all(part)?;
            }
            commit_all([file.finish()]).map_err(|error| std::io::Error::other(error.to_string()))
        };
        if write().is_ok() {
            remove_oldest(folder, MAX_FILES);
        }
    }
}

/// The folder of the cache. Relative paths in `XDG_CACHE_HOME` are ignored, as its specification says.
fn user_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let caches = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    Some(caches?.join("unishape/cuda"))
}

fn checksum(code: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    code.hash(&mut hasher);
    hasher.finish()
}

/// Removes half of the files, where there are more than `most`.
fn remove_oldest(folder: &Path, most: usize) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let entries = entries.flatten().filter(|entry| entry.path().extension().is_some_and(|end| end == "bin"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    if files.len() <= most {
        return;
    }
    let age = |file: &PathBuf| {
        file.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    };
    files.sort_by_cached_key(age);
    files.iter().take(files.len() - most / 2).for_each(|file| _ = std::fs::remove_file(file));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TARGET: CompileTarget =
        CompileTarget { capability: 90, compiler: (13, 0), numerics: Numerics::Exact };

    #[test]
    fn kernels_are_found_by_source_and_target() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::in_folder(&folder.path().join("new/folder"));
        assert_eq!(cache.get("a", TARGET), None);
        cache.insert("a", TARGET, b"code of a");
        cache.insert("b", TARGET, b"code of b");
        assert_eq!(cache.get("a", TARGET).as_deref(), Some(&b"code of a"[..]));
        assert_eq!(cache.get("a", CompileTarget { capability: 80, ..TARGET }), None);
        assert_eq!(cache.get("a", CompileTarget { compiler: (13, 1), ..TARGET }), None);
        cache.insert("a", TARGET, b"other");
        assert_eq!(cache.get("a", TARGET).as_deref(), Some(&b"other"[..]));
    }

    #[test]
    fn damaged_files_are_misses() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::in_folder(folder.path());
        cache.insert("source", TARGET, b"code");
        let file = cache.file("source", TARGET).unwrap();
        let whole = std::fs::read(&file).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&file, &whole[..length]).unwrap();
            assert_eq!(cache.get("source", TARGET), None, "{length} bytes");
            // As after a loss of power: as long as before, but not written.
            let mut rest = whole[..length].to_vec();
            rest.resize(whole.len(), 0);
            std::fs::write(&file, &rest).unwrap();
            assert_eq!(cache.get("source", TARGET), None, "zeros after {length} bytes");
        }
        // A file of another kernel with the same hash.
        std::fs::copy(&file, cache.file("x", TARGET).unwrap()).unwrap();
        cache.insert("source", TARGET, b"code");
        std::fs::copy(&file, cache.file("x", TARGET).unwrap()).unwrap();
        assert_eq!(cache.get("x", TARGET), None);
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_a_miss() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "no folder").unwrap();
        for cache in [DiskCache::in_folder(&file.join("below")), DiskCache { folder: None }] {
            cache.insert("source", TARGET, b"code");
            assert_eq!(cache.get("source", TARGET), None);
        }
    }

    #[test]
    fn the_folder_is_that_of_the_user() {
        for (xdg, home, expected) in [
            (Some("/cache"), Some("/home/me"), Some("/cache/unishape/cuda")),
            (None, Some("/home/me"), Some("/home/me/.cache/unishape/cuda")),
            (Some(""), Some("/home/me"), Some("/home/me/.cache/unishape/cuda")),
            (Some("relative"), Some("/home/me"), Some("/home/me/.cache/unishape/cuda")),
            (None, Some("relative"), None),
            (None, None, None),
        ] {
            let variable = |name: &str| if name == "HOME" { home } else { xdg }.map(OsString::from);
            assert_eq!(user_folder(variable), expected.map(PathBuf::from), "{xdg:?} {home:?}");
        }
    }

    #[test]
    fn the_number_of_files_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::in_folder(folder.path());
        for number in 0..9 {
            cache.insert(&number.to_string(), TARGET, b"code");
        }
        remove_oldest(folder.path(), 9);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 9);
        remove_oldest(folder.path(), 8);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 4);
    }

    #[test]
    fn processes_write_the_same_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let cache = DiskCache::in_folder(folder.path());
        let code: Vec<u8> = (0..100_000).map(|i| i as u8).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        cache.insert("source", TARGET, &code);
                        let found = cache.get("source", TARGET);
                        assert!(found.is_none_or(|found| found == code));
                    }
                });
            }
        });
        assert_eq!(cache.get("source", TARGET), Some(code));
    }
}
