//! Text to the terminal; files all at once or not at all.

use crate::failure::Failure;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use tempfile::NamedTempFile;
use unishape::plain;

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::NobodyReads),
        Err(error) => Err(Failure::failed(format!("standard output: {error}"))),
    }
}

/// Whether a path stands for standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// A file that will have this path once it is complete, and until then is a temporary one beside it.
pub(crate) fn file_beside(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unishape-");
    #[cfg(unix)]
    {
        // As for any new file, rather than the owner alone as for secrets.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder).map_err(|error| Failure::failed(format!("{}: {error}", plain::path(folder))))
}

/// Gives a complete file its path.
pub(crate) fn keep(file: NamedTempFile, path: &Path) -> Result<(), Failure> {
    let kept = file.persist(path);
    kept.map(drop).map_err(|error| Failure::failed(format!("{}: {}", plain::path(path), error.error)))
}

/// Writes text files, all of them or none. What is called `-` goes to standard output.
pub(crate) fn write_texts(texts: &[(&Path, String)]) -> Result<(), Failure> {
    // What is no ordinary file, /dev/stdout say, is written to and not replaced.
    let in_place =
        |path: &Path| path == Path::new("-") || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
    let failed = |path: &Path, error: io::Error| Failure::failed(format!("{}: {error}", plain::path(path)));
    let mut complete = Vec::new();
    for &(path, ref text) in texts.iter().filter(|(path, _)| !in_place(path)) {
        let mut file = file_beside(path)?;
        file.write_all(text.as_bytes()).map_err(|error| failed(path, error))?;
        complete.push((file, path));
    }
    for &(path, ref text) in texts.iter().filter(|(path, _)| in_place(path)) {
        match path == Path::new("-") {
            true => print(text)?,
            false => fs::write(path, text).map_err(|error| failed(path, error))?,
        }
    }
    complete.into_iter().try_for_each(|(file, path)| keep(file, path))
}

/// A number of bytes as people read it.
pub(crate) fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return if bytes == 1 { "1 byte".into() } else { format!("{bytes} bytes") };
    }
    let mut size = bytes as f64;
    let mut unit = 0;
    while {
        size /= 1024.0;
        size >= 1024.0 && unit + 1 < UNITS.len()
    } {
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::bytes_text;

    #[test]
    fn bytes_are_readable() {
        let texts = [0, 1, 1023, 1024, 1536, 1 << 20, 12 << 30, u64::MAX].map(bytes_text);
        let expected =
            ["0 bytes", "1 byte", "1023 bytes", "1.0 KiB", "1.5 KiB", "1.0 MiB", "12.0 GiB", "16.0 EiB"];
        assert_eq!(texts, expected);
    }
}
