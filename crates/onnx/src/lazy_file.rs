//! Reads the structure of a model, but not its weights.

use crate::error::Error;
use crate::field_numbers::{attribute, graph, model, node, tensor};
use crate::file_range::{FileRange, SourceFile};
use crate::wire::{Field, FieldHeader, Message, SharedBytes};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Smallest size of weights that are left in the file, in bytes.
const MIN_BYTES: u64 = 4096;

/// Maximum nesting depth of the messages that are read without their weights.
const MAX_DEPTH: usize = 50;

/// Messages that weights are in.
#[derive(Clone, Copy)]
enum Level {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
}

/// What a long field holds.
enum Part {
    Message(Level),
    Weights,
    Other,
}

impl Level {
    fn part(self, number: u32) -> Part {
        match (self, number) {
            (Level::Model, model::GRAPH) | (Level::Attribute, attribute::G) => Part::Message(Level::Graph),
            (Level::Graph, graph::NODE) => Part::Message(Level::Node),
            (Level::Node, node::ATTRIBUTE) => Part::Message(Level::Attribute),
            (Level::Graph, graph::INITIALIZER) | (Level::Attribute, attribute::T) => {
                Part::Message(Level::Tensor)
            }
            (Level::Tensor, tensor::RAW_DATA) => Part::Weights,
            _ => Part::Other,
        }
    }
}

/// Reads a model without its weights; `None` if it is malformed, or not a regular file.
pub(crate) fn read(path: &Path) -> Result<Option<Message>, Error> {
    read_fields(path).map_err(|error| Error::file(path, error))
}

fn read_fields(path: &Path) -> io::Result<Option<Message>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(None);
    }
    let source = Arc::new(SourceFile::new(File::open(path)?)?);
    LazyReader { source, reader: BufReader::new(file), position: 0 }.message(
        0..metadata.len(),
        Level::Model,
        0,
    )
}

struct LazyReader {
    source: Arc<SourceFile>,
    reader: BufReader<File>,
    /// Offset of the next byte that `reader` returns.
    position: u64,
}

impl LazyReader {
    fn read_at(&mut self, start: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.reader.seek_relative(start.wrapping_sub(self.position) as i64)?;
        self.reader.read_exact(bytes)?;
        self.position = start + bytes.len() as u64;
        Ok(())
    }

    /// A range of the file in memory; `None` if it is too long.
    fn bytes(&mut self, range: Range<u64>) -> io::Result<Option<SharedBytes>> {
        let lens = (usize::try_from(range.start), usize::try_from(range.end - range.start));
        let (Ok(start), Ok(len)) = lens else { return Ok(None) };
        let mut bytes = vec![0; len];
        self.read_at(range.start, &mut bytes)?;
        Ok(Some(SharedBytes::at(start, bytes)))
    }

    /// The message in a range of the file, without its weights; `None` if it is malformed.
    fn message(&mut self, range: Range<u64>, level: Level, depth: usize) -> io::Result<Option<Message>> {
        let mut message = Message::default();
        // Start of the fields before `start` that are read together.
        let (mut pending, mut start) = (range.start, range.start);
        while start < range.end {
            let mut window = [0; FieldHeader::MAX_LEN];
            let len = (range.end - start).min(window.len() as u64) as usize;
            self.read_at(start, &mut window[..len])?;
            let Some(header) = FieldHeader::decode(&window[..len]) else { return Ok(None) };
            let content = start + header.len as u64;
            let end = content.checked_add(header.content_len).filter(|end| *end <= range.end);
            let Some(end) = end else { return Ok(None) };
            let is_long = header.is_length_delimited && header.content_len >= MIN_BYTES;
            let part = if is_long { level.part(header.number) } else { Part::Other };
            let Ok(offset) = usize::try_from(start) else { return Ok(None) };
            let encoded = || SharedBytes::at(offset, window[..header.len].to_vec());
            let field = match part {
                Part::Message(level) if depth < MAX_DEPTH => {
                    let nested = self.message(content..end, level, depth + 1)?;
                    nested.map(|nested| Field::of_message(header.number, encoded(), nested))
                }
                Part::Weights => usize::try_from(end - content).ok().map(|len| {
                    let range = FileRange::new(self.source.clone(), content, len);
                    Field::in_file(header.number, encoded(), range)
                }),
                _ => {
                    start = end;
                    continue;
                }
            };
            let Some(field) = field else { return Ok(None) };
            if !self.append(&mut message, pending..start)? {
                return Ok(None);
            }
            message.push(field);
            (pending, start) = (end, end);
        }
        Ok(self.append(&mut message, pending..range.end)?.then_some(message))
    }

    /// Appends the fields in a range of the file to a message; false if they are malformed.
    fn append(&mut self, message: &mut Message, range: Range<u64>) -> io::Result<bool> {
        if range.is_empty() {
            return Ok(true);
        }
        let Some(bytes) = self.bytes(range)? else { return Ok(false) };
        let Ok(fields) = Message::decode(&bytes) else { return Ok(false) };
        fields.fields().iter().for_each(|field| message.push(field.clone()));
        Ok(true)
    }
}
