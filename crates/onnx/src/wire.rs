//! Lossless reader and writer of the protobuf wire format.
//!
//! A message is the list of its encoded fields. Unchanged fields are written back byte for byte,
//! including fields that `onnx.proto` does not define. (Code generated from a schema drops unknown fields and
//! re-encodes the others.) Decoding is lazy: [`Message::decode`] splits one level, and nested messages are
//! decoded on access, so deep nesting costs neither stack nor memory.

use crate::file_range::FileRange;
use std::fmt;
use std::io;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Reference-counted range of a byte buffer.
#[derive(Clone)]
pub(crate) struct SharedBytes {
    buffer: Arc<Buffer>,
    range: Range<usize>,
}

struct Buffer {
    bytes: Vec<u8>,
    /// Offset of the first byte in the file.
    offset: usize,
}

impl SharedBytes {
    /// Bytes from an offset of a file.
    pub(crate) fn at(offset: usize, bytes: Vec<u8>) -> SharedBytes {
        let range = 0..bytes.len();
        SharedBytes { buffer: Arc::new(Buffer { bytes, offset }), range }
    }

    /// Subrange, relative to this range and within it.
    fn slice(&self, range: Range<usize>) -> SharedBytes {
        let start = self.range.start + range.start;
        SharedBytes { buffer: self.buffer.clone(), range: start..start + range.len() }
    }

    /// Offset of the first byte in the file.
    fn offset(&self) -> usize {
        self.buffer.offset.saturating_add(self.range.start)
    }
}

impl Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer.bytes[self.range.clone()]
    }
}

impl From<Vec<u8>> for SharedBytes {
    fn from(bytes: Vec<u8>) -> SharedBytes {
        SharedBytes::at(0, bytes)
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// Wire type of a field; the discriminant is the low three bits of the tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    Varint = 0,
    Fixed64 = 1,
    /// Strings, bytes, packed numbers and nested messages.
    LengthDelimited = 2,
    /// Deprecated in protobuf; ONNX never uses it.
    Group = 3,
    Fixed32 = 5,
}

/// Encoded field, with its tag and its length prefix.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    wire_type: WireType,
    /// Length of the tag and the length prefix in bytes: at most two varints, 20 bytes.
    header_len: u8,
    /// The whole field; only its tag and length prefix if `content` has the rest.
    encoded: SharedBytes,
    content: Option<Arc<Content>>,
}

/// Content of a field that is kept apart from its tag and length prefix.
#[derive(Debug)]
enum Content {
    /// Fields of a message, so that an edited one shares the bytes of the original.
    Message(Message),
    /// Bytes that are not in memory.
    File(FileRange),
}

/// Position of a field's parts.
pub(crate) struct FieldHeader {
    pub(crate) number: u32,
    /// Whether the content is a string, bytes or a message.
    pub(crate) is_length_delimited: bool,
    /// Length of the tag, and of the length prefix if there is one.
    pub(crate) len: usize,
    /// Length of the content.
    pub(crate) content_len: u64,
}

impl FieldHeader {
    /// Largest number of bytes that [`decode`](FieldHeader::decode) needs: two varints.
    pub(crate) const MAX_LEN: usize = 20;

    /// Decodes the first bytes of a field; `None` if they are malformed or start a group.
    pub(crate) fn decode(bytes: &[u8]) -> Option<FieldHeader> {
        let mut reader = Reader { bytes, pos: 0, base: 0 };
        let (number, wire_type) = reader.tag().ok()?;
        let tag_len = reader.pos;
        let (len, content_len) = match wire_type? {
            WireType::LengthDelimited => {
                let content_len = reader.varint().ok()?;
                (reader.pos, content_len)
            }
            WireType::Varint => {
                reader.varint().ok()?;
                (tag_len, (reader.pos - tag_len) as u64)
            }
            WireType::Fixed64 => (tag_len, 8),
            WireType::Fixed32 => (tag_len, 4),
            WireType::Group => return None,
        };
        let is_length_delimited = wire_type == Some(WireType::LengthDelimited);
        Some(FieldHeader { number, is_length_delimited, len, content_len })
    }
}

/// Decoding error, with its byte offset in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError {
    offset: usize,
    problem: &'static str,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.offset, self.problem)
    }
}

/// Maximum nesting depth of groups.
const MAX_GROUP_DEPTH: usize = 100;

/// Cursor over encoded bytes.
struct Reader<'b> {
    bytes: &'b [u8],
    pos: usize,
    /// Offset of `bytes` in the file.
    base: usize,
}

impl Reader<'_> {
    fn error(&self, problem: &'static str) -> WireError {
        WireError { offset: self.base + self.pos, problem }
    }

    fn is_at_end(&self) -> bool {
        self.pos == self.bytes.len()
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.pos) else {
                return Err(self.error("the data ends within a varint"));
            };
            self.pos += 1;
            // Bits beyond the 64th are dropped, as in other protobuf decoders.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a varint has more than ten bytes"))
    }

    fn skip(&mut self, count: u64) -> Result<(), WireError> {
        let remaining = self.bytes.len() - self.pos;
        match usize::try_from(count) {
            Ok(count) if count <= remaining => {
                self.pos += count;
                Ok(())
            }
            _ => Err(self.error("a field is longer than the rest of its message")),
        }
    }

    /// Number and wire type of the next field; `None` for the end of a group.
    fn tag(&mut self) -> Result<(u32, Option<WireType>), WireError> {
        let tag = self.varint()?;
        let number = match u32::try_from(tag >> 3) {
            Ok(number @ 1..=0x1fff_ffff) => number,
            _ => return Err(self.error("invalid field number")),
        };
        let wire_type = match tag & 7 {
            0 => Some(WireType::Varint),
            1 => Some(WireType::Fixed64),
            2 => Some(WireType::LengthDelimited),
            3 => Some(WireType::Group),
            4 => None,
            5 => Some(WireType::Fixed32),
            _ => return Err(self.error("invalid wire type")),
        };
        Ok((number, wire_type))
    }

    /// Skips a value; returns the position of its first byte, after the length prefix.
    fn skip_value(&mut self, number: u32, wire_type: WireType) -> Result<usize, WireError> {
        let mut start = self.pos;
        match wire_type {
            WireType::Varint => {
                self.varint()?;
            }
            WireType::Fixed64 => self.skip(8)?,
            WireType::Fixed32 => self.skip(4)?,
            WireType::LengthDelimited => {
                let length = self.varint()?;
                start = self.pos;
                self.skip(length)?;
            }
            WireType::Group => self.skip_group(number)?,
        }
        Ok(start)
    }

    /// Skips a group and the groups nested in it, without recursion.
    fn skip_group(&mut self, number: u32) -> Result<(), WireError> {
        let mut open_groups = vec![number];
        while let Some(&innermost) = open_groups.last() {
            match self.tag()? {
                (number, None) if number == innermost => {
                    open_groups.pop();
                }
                (_, None) => return Err(self.error("a group end does not match the group start")),
                (_, Some(WireType::Group)) if open_groups.len() == MAX_GROUP_DEPTH => {
                    return Err(self.error("groups are nested too deeply"));
                }
                (number, Some(WireType::Group)) => open_groups.push(number),
                (number, Some(wire_type)) => {
                    self.skip_value(number, wire_type)?;
                }
            }
        }
        Ok(())
    }
}

/// Message as the list of its encoded fields, in file order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    fields: Vec<Field>,
}

impl Message {
    /// Splits a message into its fields; nested messages stay encoded.
    pub(crate) fn decode(bytes: &SharedBytes) -> Result<Message, WireError> {
        let mut reader = Reader { bytes, pos: 0, base: bytes.offset() };
        let mut fields = Vec::new();
        while !reader.is_at_end() {
            let start = reader.pos;
            let (number, wire_type) = reader.tag()?;
            let Some(wire_type) = wire_type else {
                return Err(reader.error("a group end without a group start"));
            };
            let value = reader.skip_value(number, wire_type)?;
            // Two varints of at most ten bytes each.
            let header_len = (value - start) as u8;
            let encoded = bytes.slice(start..reader.pos);
            fields.push(Field { number, wire_type, header_len, encoded, content: None });
        }
        Ok(Message { fields })
    }

    /// Length of the encoded message in bytes.
    pub(crate) fn encoded_len(&self) -> usize {
        self.fields.iter().map(Field::encoded_len).sum()
    }

    /// The encoded message.
    ///
    /// # Panics
    ///
    /// If bytes that are not in memory cannot be read.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.try_encode().expect("the file of the model can be read")
    }

    fn try_encode(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.encoded_len());
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes the encoded message without a copy of it in memory.
    pub(crate) fn write_to(&self, writer: &mut dyn io::Write) -> io::Result<()> {
        for field in &self.fields {
            writer.write_all(&field.encoded)?;
            match field.content.as_deref() {
                Some(Content::Message(message)) => message.write_to(writer)?,
                Some(Content::File(range)) => range.write_to(writer)?,
                None => {}
            }
        }
        Ok(())
    }

    pub(crate) fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// All fields with this number.
    pub(crate) fn repeated(&self, number: u32) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(move |field| field.number == number)
    }

    /// Last field with this number, which determines the value of a singular field.
    pub(crate) fn last(&self, number: u32) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.number == number)
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.last(number).is_some()
    }

    /// Value of an integer field; 0 if absent.
    pub(crate) fn int(&self, number: u32) -> Result<i64, WireError> {
        self.last(number).map_or(Ok(0), Field::int)
    }

    /// Value of a string field; empty if absent.
    pub(crate) fn string(&self, number: u32) -> Result<String, WireError> {
        self.last(number).map_or_else(|| Ok(String::new()), Field::string)
    }

    /// Values of a repeated string field.
    pub(crate) fn strings(&self, number: u32) -> Result<Vec<String>, WireError> {
        self.repeated(number).map(Field::string).collect()
    }

    /// Values of a repeated message field.
    pub(crate) fn messages(&self, number: u32) -> Result<Vec<Message>, WireError> {
        self.repeated(number).map(Field::message).collect()
    }

    /// Value of a singular message field.
    ///
    /// Protobuf merges duplicates of such a field. No ONNX writer produces them, so they are an error here.
    pub(crate) fn message(&self, number: u32) -> Result<Option<Message>, WireError> {
        let mut fields = self.repeated(number);
        match (fields.next(), fields.next()) {
            (_, Some(second)) => Err(second.error("a singular message field occurs twice")),
            (first, None) => first.map(Field::message).transpose(),
        }
    }

    /// Values of a repeated integer field, packed or not.
    pub(crate) fn ints(&self, number: u32) -> Result<Vec<i64>, WireError> {
        let mut ints = Vec::new();
        for field in self.repeated(number) {
            match field.wire_type {
                WireType::LengthDelimited => {
                    let bytes = field.bytes()?;
                    let mut reader = Reader { bytes: &bytes, pos: 0, base: bytes.offset() };
                    while !reader.is_at_end() {
                        ints.push(reader.varint()? as i64);
                    }
                }
                _ => ints.push(field.int()?),
            }
        }
        Ok(ints)
    }

    /// Values of a repeated field of `N`-byte numbers, packed or not.
    pub(crate) fn fixed<const N: usize>(&self, number: u32) -> Result<Vec<[u8; N]>, WireError> {
        let mut values = Vec::new();
        for field in self.repeated(number) {
            let packed;
            let bytes = match (field.wire_type, N) {
                (WireType::LengthDelimited, _) => {
                    packed = field.bytes()?;
                    &packed[..]
                }
                (WireType::Fixed32, 4) | (WireType::Fixed64, 8) => field.value(),
                _ => return Err(field.error("a number has the wrong wire type")),
            };
            let (whole, rest) = bytes.as_chunks::<N>();
            if !rest.is_empty() {
                return Err(field.error("packed numbers end within a number"));
            }
            values.extend_from_slice(whole);
        }
        Ok(values)
    }

    pub(crate) fn push(&mut self, field: Field) {
        self.fields.push(field);
    }

    pub(crate) fn push_int(&mut self, number: u32, value: i64) {
        let mut encoded = tag(number, WireType::Varint);
        let header_len = encoded.len() as u8;
        write_varint(&mut encoded, value as u64);
        self.push(Field {
            number,
            wire_type: WireType::Varint,
            header_len,
            encoded: encoded.into(),
            content: None,
        });
    }

    pub(crate) fn push_fixed32(&mut self, number: u32, value: [u8; 4]) {
        let mut encoded = tag(number, WireType::Fixed32);
        let header_len = encoded.len() as u8;
        encoded.extend(value);
        self.push(Field {
            number,
            wire_type: WireType::Fixed32,
            header_len,
            encoded: encoded.into(),
            content: None,
        });
    }

    pub(crate) fn push_bytes(&mut self, number: u32, bytes: &[u8]) {
        self.push(Field::length_delimited(number, bytes));
    }

    pub(crate) fn push_message(&mut self, number: u32, message: &Message) {
        self.push_bytes(number, &message.encode());
    }

    /// Copies the message; `replace` pushes zero or more fields for each field.
    pub(crate) fn map_fields(&self, mut replace: impl FnMut(&Field, &mut Vec<Field>)) -> Message {
        let mut fields = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            replace(field, &mut fields);
        }
        Message { fields }
    }
}

impl Field {
    pub(crate) fn length_delimited(number: u32, bytes: &[u8]) -> Field {
        let mut encoded = tag(number, WireType::LengthDelimited);
        write_varint(&mut encoded, bytes.len() as u64);
        let header_len = encoded.len() as u8;
        encoded.extend_from_slice(bytes);
        Field {
            number,
            wire_type: WireType::LengthDelimited,
            header_len,
            encoded: encoded.into(),
            content: None,
        }
    }

    /// A field that holds a message, whose bytes are not copied.
    pub(crate) fn nested(number: u32, message: Message) -> Field {
        let mut encoded = tag(number, WireType::LengthDelimited);
        write_varint(&mut encoded, message.encoded_len() as u64);
        Field::with_content(number, encoded.into(), Content::Message(message))
    }

    /// A field that holds a message, with the tag and the length prefix of a file.
    pub(crate) fn of_message(number: u32, header: SharedBytes, message: Message) -> Field {
        Field::with_content(number, header, Content::Message(message))
    }

    /// A field whose content stays in a file, with its tag and its length prefix.
    pub(crate) fn in_file(number: u32, header: SharedBytes, range: FileRange) -> Field {
        Field::with_content(number, header, Content::File(range))
    }

    fn with_content(number: u32, header: SharedBytes, content: Content) -> Field {
        let (wire_type, header_len) = (WireType::LengthDelimited, header.len() as u8);
        Field { number, wire_type, header_len, encoded: header, content: Some(Arc::new(content)) }
    }

    fn encoded_len(&self) -> usize {
        let content = match self.content.as_deref() {
            Some(Content::Message(message)) => message.encoded_len(),
            Some(Content::File(range)) => range.len(),
            None => 0,
        };
        self.encoded.len() + content
    }

    /// Calls a function with all bytes that are in memory.
    pub(crate) fn for_each_part(&self, each: &mut dyn FnMut(&[u8])) {
        each(&self.encoded);
        if let Some(Content::Message(message)) = self.content.as_deref() {
            message.fields.iter().for_each(|field| field.for_each_part(each));
        }
    }

    /// Bytes of a number.
    fn value(&self) -> &[u8] {
        &self.encoded[usize::from(self.header_len)..]
    }

    fn error(&self, problem: &'static str) -> WireError {
        WireError { offset: self.encoded.offset(), problem }
    }

    pub(crate) fn int(&self) -> Result<i64, WireError> {
        if self.wire_type != WireType::Varint {
            return Err(self.error("expected an integer field"));
        }
        let mut reader = Reader { bytes: self.value(), pos: 0, base: self.encoded.offset() };
        reader.varint().map(|value| value as i64)
    }

    pub(crate) fn float(&self) -> Result<f32, WireError> {
        match (self.wire_type, self.value().first_chunk()) {
            (WireType::Fixed32, Some(&bytes)) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(self.error("expected a float field")),
        }
    }

    pub(crate) fn bytes(&self) -> Result<SharedBytes, WireError> {
        let unreadable = |_| self.error("the file can no longer be read");
        match (self.content.as_deref(), self.wire_type) {
            (Some(Content::Message(message)), _) => Ok(message.try_encode().map_err(unreadable)?.into()),
            (Some(Content::File(range)), _) => Ok(range.read().map_err(unreadable)?.into()),
            (None, WireType::LengthDelimited) => {
                Ok(self.encoded.slice(self.header_len.into()..self.encoded.len()))
            }
            _ => Err(self.error("expected a string, bytes or message field")),
        }
    }

    pub(crate) fn string(&self) -> Result<String, WireError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.error("a string is not valid UTF-8"))
    }

    pub(crate) fn message(&self) -> Result<Message, WireError> {
        if let Some(Content::Message(message)) = self.content.as_deref() {
            return Ok(message.clone());
        }
        Message::decode(&self.bytes()?)
    }
}

/// Encoded tag of a field.
fn tag(number: u32, wire_type: WireType) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_varint(&mut bytes, u64::from(number) << 3 | wire_type as u64);
    bytes
}

fn write_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8]) -> Result<Message, WireError> {
        Message::decode(&bytes.to_vec().into())
    }

    #[test]
    fn bytes_are_not_printed() {
        assert_eq!(format!("{:?}", SharedBytes::from(vec![7; 3])), "3 bytes");
    }

    #[test]
    fn every_wire_type_round_trips() {
        let bytes = [
            &[0x08, 0x96, 0x01][..],                     // 1: varint 150
            &[0x08, 0x80, 0x80, 0x00],                   // 1: varint 0, overlong
            &[0x11, 1, 2, 3, 4, 5, 6, 7, 8],             // 2: fixed64
            &[0x1a, 3, b'a', b'b', b'c'],                // 3: length-delimited
            &[0x23, 0x08, 1, 0x2b, 0x2c, 0x12, 0, 0x24], // 4: group with a nested group
            &[0x35, 1, 2, 3, 4],                         // 6: fixed32
            &[0xa2, 0x80, 0x00, 0x00],                   // 4: length-delimited and empty, overlong tag
        ]
        .concat();
        let message = decode(&bytes).expect("a message");
        assert_eq!(message.encode(), bytes);
        assert_eq!(message.fields().len(), 7);
        assert_eq!(message.int(1), Ok(0));
        assert_eq!(message.ints(1), Ok(vec![150, 0]));
        assert_eq!(message.string(3).as_deref(), Ok("abc"));
        assert_eq!(message.fixed::<4>(6), Ok(vec![[1, 2, 3, 4]]));
        assert!(message.string(1).is_err() && message.int(3).is_err() && message.int(4).is_err());
    }

    #[test]
    fn malformed_bytes_are_reported_with_their_offset() {
        let error = |bytes: &[u8]| decode(bytes).expect_err("malformed").to_string();
        assert_eq!(error(&[0x08]), "byte 1: the data ends within a varint");
        assert_eq!(
            error(&[0x08, 1, 0x1a, 5, b'a']),
            "byte 4: a field is longer than the rest of its message"
        );
        assert_eq!(error(&[0x0f, 1]), "byte 1: invalid wire type");
        assert_eq!(error(&[0x00, 1]), "byte 1: invalid field number");
        assert_eq!(error(&[0x0c]), "byte 1: a group end without a group start");
        assert_eq!(error(&[0x0b, 0x14]), "byte 2: a group end does not match the group start");
        assert_eq!(error(&[0xff; 11]), "byte 10: a varint has more than ten bytes");
        assert_eq!(error(&[0x0b; 1000]), "byte 101: groups are nested too deeply");
        // A length of nearly 2⁶⁴ allocates no memory.
        let long = [&[0x1a][..], &[0xff; 9], &[1]].concat();
        assert_eq!(error(&long), "byte 11: a field is longer than the rest of its message");
    }

    #[test]
    fn fields_are_pushed_and_mapped() {
        let mut message = Message::default();
        message.push_int(1, -1);
        message.push_bytes(2, b"abc");
        let mapped = message.map_fields(|field, out| {
            if field.number == 2 {
                out.extend([Field::length_delimited(2, b"x"), field.clone()]);
            } else {
                out.push(field.clone());
            }
        });
        let decoded = decode(&mapped.encode()).expect("a message");
        assert_eq!((decoded.int(1), decoded.strings(2)), (Ok(-1), Ok(vec!["x".into(), "abc".into()])));
    }

    proptest! {
        #[test]
        fn decoded_messages_encode_to_the_same_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(message) = decode(&bytes) {
                prop_assert_eq!(message.encode(), bytes);
            }
        }
    }
}
