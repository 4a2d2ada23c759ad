//! Text to the terminal; files all at once or not at all.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use unishape::text;
use unishape_atomic_file::{AtomicFile, PendingFile, commit_all};

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

/// What went wrong with a file, by its path.
pub(crate) fn in_file(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!("{}: {error}", text::display_path(path)))
}

/// What went wrong, named after the file that does not come to be, not the temporary one.
pub(crate) fn in_result(path: &Path, error: &dyn std::error::Error) -> Failure {
    Failure::failed(format!("{}: {error}; nothing was written", text::display_path(path)))
}

/// Puts complete files into their places, all of them or none. The paths are for the failure.
pub(crate) fn place(files: Vec<PendingFile>, paths: &[&Path]) -> Result<(), Failure> {
    commit_all(files).map_err(|error| in_file(paths[error.index], &error.source))
}

/// Writes text files, all of them or none. What is called `-` goes to standard output.
pub(crate) fn write_texts(texts: &[(&Path, String)]) -> Result<(), Failure> {
    let (printed, mut files) = (texts.iter().find(|(path, _)| is_stdout(path)), Vec::new());
    for (path, text) in texts.iter().filter(|(path, _)| !is_stdout(path)) {
        files.push((AtomicFile::create(path).map_err(|error| in_file(path, &error))?, *path, text));
    }
    // What cannot be taken back comes after what can, and standard output after all.
    files.sort_by_key(|(file, ..)| file.is_in_place());
    let paths: Vec<&Path> = files.iter().map(|&(_, path, _)| path).collect();
    let mut complete = Vec::new();
    for (mut file, path, text) in files {
        file.file().write_all(text.as_bytes()).map_err(|error| in_file(path, &error))?;
        complete.push(file.finish());
    }
    if let Some((_, text)) = printed {
        print(text)?;
    }
    place(complete, &paths)
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
