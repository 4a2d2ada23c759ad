//! A stored chunk, decoded block by block.

use crate::padded_block::PaddedBlock;
use std::io::{self, ErrorKind, Read};
use std::ops::Range;
use unishape::{Tensor, TensorView};
use unishape_files::{BlockReader, FileError};
use unishape_npy::{Descr, Header, NpyError, read_elements};

/// Reads a chunk front to back.
pub(crate) struct ChunkReader<'a> {
    elements: ChunkElements,
    /// The index of the first element.
    origin: Vec<usize>,
    chunk_shape: &'a [usize],
    /// The number of elements that have been read.
    position: usize,
    /// The store and the array, for errors.
    name: &'a str,
}

/// Where the elements of a chunk come from.
pub(crate) enum ChunkElements {
    /// A decoder of the file, which returns elements of a format.
    Encoded { decoder: Box<dyn Read>, descr: Descr },
    /// One element, which all elements are equal to.
    Fill(Tensor),
}

impl<'a> ChunkReader<'a> {
    pub(crate) fn new(
        elements: ChunkElements,
        origin: Vec<usize>,
        chunk_shape: &'a [usize],
        name: &'a str,
    ) -> ChunkReader<'a> {
        ChunkReader { elements, origin, chunk_shape, position: 0, name }
    }

    fn error(&self, error: &NpyError) -> FileError {
        let problem = match error {
            // The errors of decoders have no number.
            NpyError::Io(error) if error.raw_os_error().is_some() => return FileError::io(self.name, error),
            NpyError::Io(error) if error.kind() == ErrorKind::UnexpectedEof => "is truncated".to_owned(),
            NpyError::Truncated { .. } => "is truncated".to_owned(),
            error => format!("cannot be decoded: {error}"),
        };
        let index = self.origin.iter().zip(self.chunk_shape).map(|(at, size)| (at / size).to_string());
        let index: Vec<String> = index.collect();
        FileError::content(self.name, format!("chunk ({}) {problem}", index.join(", ")))
    }
}

impl BlockReader for ChunkReader<'_> {
    fn read(&mut self, ranges: &[Range<usize>]) -> Result<Tensor, FileError> {
        let dims = ranges.iter().zip(&self.origin);
        let own: Vec<Range<usize>> =
            dims.map(|(range, origin)| range.start - origin..range.end - origin).collect();
        let span = PaddedBlock::new(self.chunk_shape, &own);
        assert!(span.start >= self.position, "{ranges:?} is before the last block");
        let skipped = span.start - self.position;
        self.position = span.start + span.len();
        let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
        let name = self.name;
        let owned = |view: Result<TensorView<'_>, unishape::Error>| {
            let owned = view.and_then(|view| view.to_owned());
            owned.map_err(|error| FileError::content(name, error))
        };
        match &mut self.elements {
            ChunkElements::Fill(element) => owned(element.view().broadcast_to(&shape)),
            ChunkElements::Encoded { decoder, descr } => {
                let header = Header { descr: descr.clone(), fortran_order: false, shape: span.shape };
                let block = read_block(decoder, skipped, &header).map_err(|error| self.error(&error))?;
                let lens: Vec<Range<usize>> = shape.iter().map(|&size| 0..size).collect();
                if header.shape == shape { Ok(block) } else { owned(Ok(block.view().slice(&lens))) }
            }
        }
    }
}

/// Skips a number of elements and reads those that a header describes.
fn read_block(decoder: &mut impl Read, skipped: usize, header: &Header) -> Result<Tensor, NpyError> {
    let promised = (skipped * header.item_size()) as u64;
    let found = io::copy(&mut decoder.take(promised), &mut io::sink())?;
    if found < promised {
        return Err(NpyError::Truncated { promised, found });
    }
    read_elements(decoder, header)
}
