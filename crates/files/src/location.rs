//! Texts that name an array in a file.

use crate::error::FileError;
use crate::raw_description::RawDescription;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use unishape::text;

/// A file format that holds several arrays by name.
///
/// ```
/// use unishape_files::{Container, Location};
///
/// let location = Location::parse("z.npz:a".as_ref())?;
/// assert!(matches!(location, Location::Member { container: Container::Npz, .. }));
/// # Ok::<(), unishape_files::FileError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Container {
    /// An archive of `.npy` files.
    Npz,
    /// A file of tensors.
    SafeTensors,
    /// A directory of arrays in chunks.
    Zarr,
}

impl Container {
    const ALL: [Container; 3] = [Container::Npz, Container::SafeTensors, Container::Zarr];

    fn extension(self) -> &'static str {
        match self {
            Container::Npz => "npz",
            Container::SafeTensors => "safetensors",
            Container::Zarr => "zarr",
        }
    }
}

/// Where an array is.
///
/// ```
/// use unishape_files::Location;
///
/// for text in ["a.npy", "-", "z.npz:a", "m.safetensors:w", "s.zarr", "d.bin:float32:3x4@16", "t.csv"] {
///     assert_eq!(Location::parse(text.as_ref())?.to_string(), text);
/// }
/// # Ok::<(), unishape_files::FileError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Location {
    /// An `.npy` file from standard input: `-`.
    Stdin,
    /// An `.npy` file.
    Npy(PathBuf),
    /// An array of a file that holds several: `z.npz:a`. Without a name, the only one.
    Member {
        /// The format.
        container: Container,
        /// The path of the file or directory.
        path: PathBuf,
        /// The name of the array.
        name: Option<String>,
    },
    /// Raw elements: `d.bin:float32:3x4@16`.
    Raw {
        /// The path of the file.
        path: PathBuf,
        /// Dtype, shape and offset.
        description: RawDescription,
        /// The description as it was given.
        text: String,
    },
    /// Rows of numbers: a file ending in `.csv`, `.tsv` or `.txt`.
    Table(PathBuf),
}

impl Location {
    /// Parses a text.
    ///
    /// Neither reads nor looks for files, so that a text means the same in every directory.
    ///
    /// ```
    /// use unishape_files::Location;
    ///
    /// assert_eq!(Location::parse("x/a.npy".as_ref())?, Location::Npy("x/a.npy".into()));
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The description of raw elements is invalid, or the name of an array is missing after its colon.
    pub fn parse(text: &OsStr) -> Result<Location, FileError> {
        if text == "-" {
            return Ok(Location::Stdin);
        }
        // Texts that are not UTF-8 are paths.
        if let Some(word) = text.to_str() {
            for container in Container::ALL {
                if let Some((path, name)) = split_member(word, container.extension()) {
                    if name.is_empty() {
                        let shown = text::truncate(word, 80);
                        return Err(FileError::Usage(format!(
                            "{shown}: the name after the colon is missing"
                        )));
                    }
                    return Ok(Location::Member { container, path: path.into(), name: Some(name.into()) });
                }
            }
            if let Some(raw) = parse_raw(word) {
                return raw;
            }
        }
        let path = PathBuf::from(text);
        let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
        if let Some(container) = Container::ALL.into_iter().find(|format| extension == format.extension()) {
            return Ok(Location::Member { container, path, name: None });
        }
        if extension == "csv" || extension == "tsv" || extension == "txt" {
            return Ok(Location::Table(path));
        }
        Ok(match split_store(&path) {
            Some((store, name)) => {
                Location::Member { container: Container::Zarr, path: store, name: Some(name) }
            }
            None => Location::Npy(path),
        })
    }

    /// Whether the text alone says that this is a file.
    ///
    /// It says so by its extension, a name after a colon, or a description.
    ///
    /// ```
    /// use unishape_files::Location;
    ///
    /// assert!(Location::parse("a.npy".as_ref())?.is_certain());
    /// assert!(!Location::parse("a".as_ref())?.is_certain());
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    pub fn is_certain(&self) -> bool {
        match self {
            Location::Npy(path) => path.extension().is_some_and(|own| own.eq_ignore_ascii_case("npy")),
            _ => true,
        }
    }

    /// The path of the file; `None` for standard input.
    ///
    /// ```
    /// use std::path::Path;
    /// use unishape_files::Location;
    ///
    /// assert_eq!(Location::parse("z.npz:a".as_ref())?.path(), Some(Path::new("z.npz")));
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Stdin => None,
            Location::Npy(path) | Location::Table(path) => Some(path),
            Location::Member { path, .. } | Location::Raw { path, .. } => Some(path),
        }
    }

    /// The name of the array.
    ///
    /// That of the member, or that of the file without its extension.
    ///
    /// ```
    /// use unishape_files::Location;
    ///
    /// let stem = |text: &str| Location::parse(text.as_ref()).map(|location| location.stem());
    /// assert_eq!(stem("z.npz:layer/a")?, "a");
    /// assert_eq!(stem("x/b.v1.npy")?, "b.v1");
    /// assert_eq!(stem("x/data.v1")?, "data.v1");
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    pub fn stem(&self) -> OsString {
        let stem = match self {
            Location::Stdin => return "stdin".into(),
            Location::Member { name: Some(name), .. } => {
                return name.rsplit('/').find(|part| !part.is_empty()).unwrap_or("array").into();
            }
            // Other extensions stay, so that `data.v1` and `data.v2` differ.
            Location::Npy(path) if !self.is_certain() => path.file_name(),
            Location::Npy(path) | Location::Table(path) => path.file_stem(),
            Location::Member { path, .. } | Location::Raw { path, .. } => path.file_stem(),
        };
        stem.map(OsStr::to_os_string).or_else(|| self.path().map(|path| path.into())).unwrap_or_default()
    }

    /// This location with the name of an array in its container.
    ///
    /// ```
    /// use unishape_files::Location;
    ///
    /// let archive = Location::parse("z.npz".as_ref())?;
    /// assert_eq!(archive.with_name("a").to_string(), "z.npz:a");
    /// # Ok::<(), unishape_files::FileError>(())
    /// ```
    #[must_use]
    pub fn with_name(self, name: &str) -> Location {
        match self {
            Location::Member { container, path, .. } => {
                Location::Member { container, path, name: Some(name.into()) }
            }
            other => other,
        }
    }
}

/// The text, without control characters.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Stdin => f.write_str("-"),
            Location::Npy(path) | Location::Table(path) => f.write_str(&text::display_path(path)),
            Location::Member { path, name: None, .. } => f.write_str(&text::display_path(path)),
            Location::Member { path, name: Some(name), .. } => {
                write!(f, "{}:{}", text::display_path(path), text::sanitize(name))
            }
            Location::Raw { path, text, .. } => {
                write!(f, "{}:{}", text::display_path(path), text::sanitize(text))
            }
        }
    }
}

/// Splits `z.npz:a` after the extension, in lower or upper case.
fn split_member<'t>(text: &'t str, extension: &str) -> Option<(&'t str, &'t str)> {
    for (at, _) in text.match_indices(':') {
        let before = &text[..at];
        let Some(dot) = before.len().checked_sub(extension.len() + 1) else { continue };
        if before.is_char_boundary(dot)
            && before.as_bytes()[dot] == b'.'
            && before[dot + 1..].eq_ignore_ascii_case(extension)
        {
            return Some((before, &text[at + 1..]));
        }
    }
    None
}

/// Splits `store.zarr/a/b` into the store and the name of the array.
fn split_store(path: &Path) -> Option<(PathBuf, String)> {
    let store = path
        .ancestors()
        .skip(1)
        .find(|ancestor| ancestor.extension().is_some_and(|own| own.eq_ignore_ascii_case("zarr")))?;
    let name = path.strip_prefix(store).ok()?.to_str()?;
    Some((store.into(), name.replace(std::path::MAIN_SEPARATOR, "/")))
}

/// Parses `PATH:DTYPE:SHAPE`; `None` if the text does not have that form.
fn parse_raw(word: &str) -> Option<Result<Location, FileError>> {
    let (before, shape) = word.rsplit_once(':')?;
    let (path, dtype) = before.rsplit_once(':')?;
    // A colon may be part of a path; a dtype, or an extension of raw files before it, says that it is not.
    let path_of_raw = Path::new(path);
    let extension = path_of_raw.extension().unwrap_or_default().to_ascii_lowercase();
    let is_raw_file = ["bin", "raw", "dat"].iter().any(|raw| extension == *raw);
    if path.is_empty() || !(RawDescription::is_dtype(dtype) || is_raw_file) {
        return None;
    }
    let text = format!("{dtype}:{shape}");
    Some(match RawDescription::parse(dtype, shape) {
        Ok(description) => Ok(Location::Raw { path: path.into(), description, text }),
        Err(problem) => Err(FileError::Usage(format!("{}: {problem}", text::truncate(word, 80)))),
    })
}

#[cfg(test)]
mod tests {
    use super::{Container, Location};
    use std::path::Path;

    fn parse(text: &str) -> Location {
        Location::parse(text.as_ref()).expect(text)
    }

    #[test]
    fn members_follow_the_extension() {
        for (text, path, member) in [
            ("a.NPZ:b", "a.NPZ", "b"),
            ("C:\\x\\a.npz:b:c", "C:\\x\\a.npz", "b:c"),
            ("x.npz.npz:b", "x.npz.npz", "b"),
            ("s.zarr/a/b", "s.zarr", "a/b"),
            ("m.safetensors:layers.0.weight", "m.safetensors", "layers.0.weight"),
        ] {
            let Location::Member { path: found, name: Some(name), .. } = parse(text) else {
                panic!("{text}")
            };
            assert_eq!((found.as_path(), name.as_str()), (Path::new(path), member));
        }
        assert_eq!(
            parse("z.zarr"),
            Location::Member { container: Container::Zarr, path: "z.zarr".into(), name: None }
        );
        assert!(Location::parse("a.npz:".as_ref()).is_err());
    }

    #[test]
    fn with_a_name_an_array_of_a_container_is_another() {
        for (text, named) in [
            ("z.npz", "z.npz:b"),
            ("z.npz:a", "z.npz:b"),
            ("s.zarr/a", "s.zarr/b"),
            ("m.safetensors", "m.safetensors:b"),
            // A file of one array has no names.
            ("a.npy", "a.npy"),
            ("a.bin:float32:3", "a.bin:float32:3"),
        ] {
            assert_eq!(parse(text).with_name("b"), parse(named), "{text}");
        }
    }

    #[test]
    fn extensions_say_what_a_file_is() {
        assert_eq!(parse("-"), Location::Stdin);
        for text in ["a.csv", "a.TSV", "b/a.txt"] {
            assert_eq!(parse(text), Location::Table(text.into()), "{text}");
        }
        for text in ["a.npy", "a", "a.csvx"] {
            assert_eq!(parse(text), Location::Npy(text.into()), "{text}");
        }
        for text in ["a.bin:float32:3", "a.RAW:f4:3", "a.dat:i2:?", "a:float32:3"] {
            assert!(matches!(parse(text), Location::Raw { .. }), "{text}");
        }
        for (text, container) in [
            ("z.npz", Container::Npz),
            ("m.safetensors", Container::SafeTensors),
            ("s.ZARR", Container::Zarr),
        ] {
            assert_eq!(parse(text), Location::Member { container, path: text.into(), name: None });
        }
    }

    #[test]
    fn only_paths_of_another_extension_may_be_something_else() {
        for text in ["a.npy", "a.NPY", "-", "a.csv", "z.npz", "z.npz:b", "a.bin:float32:3"] {
            assert!(parse(text).is_certain(), "{text}");
        }
        for text in ["a", "2x3", "a.v1"] {
            assert!(!parse(text).is_certain(), "{text}");
        }
    }

    #[test]
    fn locations_have_a_path_a_stem_and_a_text() {
        for (text, path, stem) in [
            ("-", None, "stdin"),
            ("b/a.npy", Some("b/a.npy"), "a"),
            ("b/data.v1", Some("b/data.v1"), "data.v1"),
            ("b/a.csv", Some("b/a.csv"), "a"),
            ("b/z.npz", Some("b/z.npz"), "z"),
            ("b/z.npz:b/c/", Some("b/z.npz"), "c"),
            ("b/z.npz://", Some("b/z.npz"), "array"),
            ("b/d.bin:float32:3", Some("b/d.bin"), "d"),
            ("..", Some(".."), ".."),
        ] {
            let location = parse(text);
            assert_eq!(location.path(), path.map(Path::new), "{text}");
            assert_eq!(location.stem(), stem, "{text}");
            assert_eq!(location.to_string(), text);
        }
        assert_eq!(parse("a\n.npy").to_string(), "a\u{fffd}.npy");
    }

    #[test]
    fn other_colons_are_part_of_the_path() {
        for text in ["C:\\a.npy", "a:b:c.npy", "a:b", "é:npz:b", ":float32:3"] {
            assert_eq!(parse(text), Location::Npy(text.into()), "{text}");
        }
        assert!(
            matches!(parse("a:b.bin:>f4:3x4"), Location::Raw { path, .. } if path == Path::new("a:b.bin"))
        );
        assert!(Location::parse("a.bin:float33:3".as_ref()).is_err());
    }
}
