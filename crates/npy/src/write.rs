//! Writing tensors to `.npy` files.

use crate::descr::Descr;
use crate::element::{Scalar, encode_unicode};
use crate::error::NpyError;
use crate::header::Header;
use ndarray::{ArrayViewD, Axis};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use unishape::TensorView;
use unishape::whole_file::{WholeFile, place_all};

/// Elements are gathered to about this many bytes before they are written.
const PIECE: usize = 1 << 16;

/// And those that need not be gathered are handed on by this many.
const LARGE_PIECE: usize = 1 << 20;

/// Writes a tensor, a view of one, or a view of an array to an `.npy` file, in C order.
///
/// A view may be stretched, reversed or transposed: what it shows is written, without a copy of it
/// in memory. Strings become `U`, as wide as the longest of them; `bfloat16` becomes `<V2`, as in
/// NumPy, where `array.view(ml_dtypes.bfloat16)` brings it back.
///
/// The file appears when it is complete: until then, and where writing fails, a file that was there
/// before stays as it is.
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
/// Where the file cannot be written, or a string ends in NUL, which the format cannot express.
pub fn write<'a>(path: impl AsRef<Path>, view: impl Into<TensorView<'a>>) -> Result<(), NpyError> {
    let view = view.into();
    write_whole(path.as_ref(), |file| write_to(file, view))
}

/// Writes an `.npy` file to anything: [`write`](write()).
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

/// Writes the elements of a view alone, as they stand behind the header of an `.npy` file: for arrays that
/// come piece by piece, each a part of the whole in C order.
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
    /// Where a string ends in NUL, which the format cannot express.
    pub fn of(view: &TensorView<'_>) -> Result<Header, NpyError> {
        let descr = match view {
            TensorView::Str(strings) => Descr::unicode(longest(strings)?)?,
            _ => Descr::of(view.dtype()),
        };
        Ok(Header { descr, fortran_order: false, shape: view.shape().to_vec() })
    }
}

/// The characters of the longest string, and 1 at the least, as in NumPy.
fn longest(strings: &ArrayViewD<'_, String>) -> Result<usize, NpyError> {
    let mut distinct = strings.view();
    for dim in 0..distinct.ndim() {
        if distinct.strides()[dim] == 0 && distinct.shape()[dim] > 0 {
            distinct.collapse_axis(Axis(dim), 0); // the same strings over and over
        }
    }
    let mut longest = 1;
    for (index, string) in distinct.indexed_iter() {
        if string.ends_with('\0') {
            let index = ndarray::Dimension::slice(&index).to_vec();
            let problem = "NumPy's strings cannot end in NUL; take it off".into();
            return Err(NpyError::Element { index, problem });
        }
        // Bytes are quickly counted, and characters are never more than they.
        if string.len() > longest {
            longest = longest.max(string.chars().count());
        }
    }
    Ok(longest)
}

/// Writes the elements of a view as its header says.
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
        TensorView::Bool(view) => write_each(writer, view, |&truth, bytes| bytes.push(u8::from(truth))),
        TensorView::Str(view) => {
            write_each(writer, view, |string, bytes| encode_unicode(string, item_size, bytes))
        }
    }
    .map_err(NpyError::Io)
}

fn write_numbers<T: Scalar + bytemuck::NoUninit>(
    writer: &mut impl Write,
    view: &ArrayViewD<'_, T>,
) -> io::Result<()> {
    match view.as_slice() {
        // They lie in memory as they do in the file. Not all at once: a writer may want to be asked.
        Some(elements) if cfg!(target_endian = "little") => {
            bytemuck::cast_slice(elements).chunks(LARGE_PIECE).try_for_each(|piece| writer.write_all(piece))
        }
        _ => write_each(writer, view, T::encode),
    }
}

fn write_each<T>(
    writer: &mut impl Write,
    view: &ArrayViewD<'_, T>,
    encode: impl Fn(&T, &mut Vec<u8>),
) -> io::Result<()> {
    let mut piece = Vec::with_capacity(2 * PIECE);
    let mut put = |element: &T| {
        encode(element, &mut piece);
        if piece.len() < PIECE {
            return Ok(());
        }
        let written = writer.write_all(&piece);
        piece.clear();
        written
    };
    if let Some(elements) = view.as_slice() {
        elements.iter().try_for_each(&mut put)?;
    } else if !view.is_empty() {
        // Row by row, since ndarray walks through a row much faster than through all dimensions.
        // (A view of no dimensions is a slice, and was written above.)
        for row in view.rows() {
            row.iter().try_for_each(&mut put)?;
        }
    }
    writer.write_all(&piece)
}

/// Writes a file that is there whole or not at all.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), NpyError>,
) -> Result<(), NpyError> {
    let written = || {
        let mut whole = WholeFile::new(path)?;
        write(whole.file())?;
        place_all([whole.complete()]).map_err(|(_, error)| NpyError::Io(error))
    };
    written().map_err(|error| error.in_file(path))
}
