//! Writing tensors to `.npy` files.

use crate::descr::Descr;
use crate::element::{ElementCodec, encode_unicode};
use crate::error::NpyError;
use crate::header::Header;
use ndarray::{ArrayViewD, Axis};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use unishape::TensorView;
use unishape_atomic_file::AtomicFile;

/// Encoded elements are buffered up to about this many bytes.
const BUFFER_SIZE: usize = 1 << 16;

/// Elements that need no encoding are written this many bytes at a time.
const WRITE_SIZE: usize = 1 << 20;

/// Writes a tensor or a view of an array to an `.npy` file, in C order.
///
/// The view may be stretched, reversed or transposed; it is not copied in memory. Strings become `U`, as wide
/// as the longest of them; `bfloat16` becomes `<V2`, which `array.view(ml_dtypes.bfloat16)` reads in NumPy.
///
/// The file is replaced atomically when it is complete. Until then, and if writing fails, an existing file
/// stays unchanged.
///
/// ```
/// use unishape::TensorView;
/// use unishape_npy as npy;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("sevens.npy");
/// let seven = ndarray::arr0(7);
/// npy::write(&path, TensorView::from(seven.view()).broadcast_to(&[2, 3])?)?;
/// assert_eq!(npy::read(&path)?.shape(), [2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// The file cannot be written, or a string ends in NUL, which the format cannot express.
pub fn write<'a>(path: impl AsRef<Path>, view: impl Into<TensorView<'a>>) -> Result<(), NpyError> {
    let view = view.into();
    write_atomically(path.as_ref(), |file| write_to(file, view))
}

/// Writes an `.npy` file to a writer; see [`write`](write()).
///
/// ```
/// use unishape_npy as npy;
///
/// let mut file = Vec::new();
/// npy::write_to(&mut file, ndarray::arr1(&[1u8, 2]).view())?;
/// assert_eq!(file.len(), 128 + 2);
/// # Ok::<(), npy::NpyError>(())
/// ```
///
/// # Errors
///
/// As [`write`](write()).
pub fn write_to<'a>(mut writer: impl Write, view: impl Into<TensorView<'a>>) -> Result<(), NpyError> {
    let view = view.into();
    let header = Header::of(&view)?;
    header.write(&mut writer)?;
    write_data(&mut writer, &view, &header)
}

/// Writes the elements of a view without a header.
///
/// For arrays that are produced in parts, each of them contiguous in C order.
///
/// ```
/// use unishape_npy as npy;
///
/// let mut bytes = Vec::new();
/// npy::write_elements(&mut bytes, ndarray::arr1(&[1u16, 2]).view())?;
/// npy::write_elements(&mut bytes, ndarray::arr1(&[3u16]).view())?;
/// assert_eq!(bytes, [1, 0, 2, 0, 3, 0]);
/// # Ok::<(), npy::NpyError>(())
/// ```
///
/// # Errors
///
/// As [`write`](write()).
pub fn write_elements<'a>(mut writer: impl Write, view: impl Into<TensorView<'a>>) -> Result<(), NpyError> {
    let view = view.into();
    let header = Header::of(&view)?;
    write_data(&mut writer, &view, &header)
}

impl Header {
    /// The header that a view is written with.
    ///
    /// ```
    /// use unishape::Tensor;
    /// use unishape_npy::Header;
    ///
    /// let words = Tensor::from(ndarray::arr1(&["one".to_string(), "three".into()]));
    /// assert_eq!(Header::of(&words.view())?.descr.text(), "'<U5'");
    /// # Ok::<(), unishape_npy::NpyError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A string ends in NUL, which the format cannot express.
    pub fn of(view: &TensorView<'_>) -> Result<Header, NpyError> {
        let descr = match view {
            TensorView::Str(strings) => Descr::unicode(longest(strings)?)?,
            _ => Descr::of(view.dtype()),
        };
        Ok(Header { descr, fortran_order: false, shape: view.shape().to_vec() })
    }
}

/// Length of the longest string in characters; at least 1, as in NumPy.
fn longest(strings: &ArrayViewD<'_, String>) -> Result<usize, NpyError> {
    let mut distinct = strings.view();
    for dim in 0..distinct.ndim() {
        if distinct.strides()[dim] == 0 && distinct.shape()[dim] > 0 {
            distinct.collapse_axis(Axis(dim), 0); // stretched: the same strings for every index
        }
    }
    let mut longest = 1;
    for (index, string) in distinct.indexed_iter() {
        if string.ends_with('\0') {
            let index = ndarray::Dimension::slice(&index).to_vec();
            let problem = "a NumPy string cannot end in NUL; remove it".into();
            return Err(NpyError::Element { index, problem });
        }
        // There are at most as many characters as bytes, and the number of bytes is known.
        if string.len() > longest {
            longest = longest.max(string.chars().count());
        }
    }
    Ok(longest)
}

/// Writes the elements of a view in the format of the header.
pub(crate) fn write_data(
    writer: &mut impl Write,
    view: &TensorView<'_>,
    header: &Header,
) -> Result<(), NpyError> {
    let item_size = header.item_size();
    match view {
        TensorView::F16(view) => write_numbers(writer, view),
        TensorView::BF16(view) => write_numbers(writer, view),
        TensorView::F32(view) => write_numbers(writer, view),
        TensorView::F64(view) => write_numbers(writer, view),
        TensorView::I8(view) => write_numbers(writer, view),
        TensorView::I16(view) => write_numbers(writer, view),
        TensorView::I32(view) => write_numbers(writer, view),
        TensorView::I64(view) => write_numbers(writer, view),
        TensorView::U8(view) => write_numbers(writer, view),
        TensorView::U16(view) => write_numbers(writer, view),
        TensorView::U32(view) => write_numbers(writer, view),
        TensorView::U64(view) => write_numbers(writer, view),
        TensorView::C64(view) => write_numbers(writer, view),
        TensorView::C128(view) => write_numbers(writer, view),
        TensorView::Bool(view) => write_encoded(writer, view, |&truth, bytes| bytes.push(u8::from(truth))),
        TensorView::Str(view) => {
            write_encoded(writer, view, |string, bytes| encode_unicode(string, item_size, bytes))
        }
    }
    .map_err(NpyError::Io)
}

fn write_numbers<T: ElementCodec + bytemuck::NoUninit>(
    writer: &mut impl Write,
    view: &ArrayViewD<'_, T>,
) -> io::Result<()> {
    match view.as_slice() {
        // Memory and file have the same bytes. Limited writes let a writer report progress or stop.
        Some(elements) if cfg!(target_endian = "little") => {
            bytemuck::cast_slice(elements).chunks(WRITE_SIZE).try_for_each(|bytes| writer.write_all(bytes))
        }
        _ => write_encoded(writer, view, T::encode),
    }
}

fn write_encoded<T>(
    writer: &mut impl Write,
    view: &ArrayViewD<'_, T>,
    encode: impl Fn(&T, &mut Vec<u8>),
) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(2 * BUFFER_SIZE);
    let mut write_element = |element: &T| {
        encode(element, &mut buffer);
        if buffer.len() < BUFFER_SIZE {
            return Ok(());
        }
        let written = writer.write_all(&buffer);
        buffer.clear();
        written
    };
    if let Some(elements) = view.as_slice() {
        elements.iter().try_for_each(&mut write_element)?;
    } else if !view.is_empty() {
        // ndarray iterates over a row much faster than over all dimensions. A view of rank 0 is a slice.
        for row in view.rows() {
            row.iter().try_for_each(&mut write_element)?;
        }
    }
    writer.write_all(&buffer)
}

/// Writes a file that appears complete or not at all.
pub(crate) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), NpyError>,
) -> Result<(), NpyError> {
    let written = || {
        let mut file = AtomicFile::create(path)?;
        write(file.file())?;
        file.finish().commit().map_err(NpyError::Io)
    };
    written().map_err(|error| error.in_file(path))
}
