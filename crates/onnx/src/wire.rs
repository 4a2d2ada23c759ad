//! Protocol Buffers as bytes: a message is a list of fields, and keeps each as it came.
//!
//! What is not changed is written as it was read, byte for byte, whether or not anybody here knows what it
//! means. Crates that make structures of messages drop what their schema does not have, and encode what is
//! left anew. A message is read one level deep: what is in its fields is looked at only when somebody asks,
//! so that messages within messages, however deep, cost nothing.

use std::fmt;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Some bytes of a file, or bytes of our own; shared, never copied.
#[derive(Clone)]
pub(crate) struct Piece {
    whole: Arc<Vec<u8>>,
    range: Range<usize>,
}

impl Piece {
    /// The part of it in this range, which must be within it.
    fn part(&self, range: Range<usize>) -> Piece {
        let start = self.range.start + range.start;
        Piece { whole: self.whole.clone(), range: start..start + range.len() }
    }

    /// Where it begins in the file.
    fn at(&self) -> usize {
        self.range.start
    }
}

impl Deref for Piece {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.whole[self.range.clone()]
    }
}

impl From<Vec<u8>> for Piece {
    fn from(bytes: Vec<u8>) -> Piece {
        let range = 0..bytes.len();
        Piece { whole: Arc::new(bytes), range }
    }
}

impl fmt::Debug for Piece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.len())
    }
}

/// How a field's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number, seven bits a byte.
    Varint,
    /// Eight bytes.
    Fixed64,
    /// Bytes with their number before them: text, packed numbers, a message.
    Bytes,
    /// Fields up to an end; nobody writes these any more, and ONNX never did.
    Group,
    /// Four bytes.
    Fixed32,
}

/// A field as it came, its number and its length before it.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    kind: Kind,
    /// The bytes before the value: two varints at the most, twenty bytes.
    head: u8,
    raw: Piece,
}

/// What is wrong with some bytes, and where in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireError {
    at: usize,
    problem: &'static str,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "byte {}: {}", self.at, self.problem)
    }
}

/// Groups within groups beyond this are no message of anybody's.
const DEEPEST_GROUP: usize = 100;

/// Reads bytes from left to right.
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Where the bytes begin in the file.
    base: usize,
}

impl Reader<'_> {
    fn error(&self, problem: &'static str) -> WireError {
        WireError { at: self.base + self.at, problem }
    }

    fn varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let Some(&byte) = self.bytes.get(self.at) else {
                return Err(self.error("the file ends within a number"));
            };
            self.at += 1;
            // What does not fit into 64 bits is dropped, as every reader does.
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.error("a number of more than ten bytes"))
    }

    fn skip(&mut self, count: u64) -> Result<(), WireError> {
        let left = self.bytes.len() - self.at;
        match usize::try_from(count) {
            Ok(count) if count <= left => {
                self.at += count;
                Ok(())
            }
            _ => Err(self.error("a field is longer than what is left of its message")),
        }
    }

    /// The number and the kind of the next field; `None` for the end of a group.
    fn tag(&mut self) -> Result<(u32, Option<Kind>), WireError> {
        let tag = self.varint()?;
        let number = match u32::try_from(tag >> 3) {
            Ok(number @ 1..=0x1fff_ffff) => number,
            _ => return Err(self.error("a field of no number that there can be")),
        };
        let kind = match tag & 7 {
            0 => Some(Kind::Varint),
            1 => Some(Kind::Fixed64),
            2 => Some(Kind::Bytes),
            3 => Some(Kind::Group),
            4 => None,
            5 => Some(Kind::Fixed32),
            _ => return Err(self.error("a field of a kind that there is not")),
        };
        Ok((number, kind))
    }

    /// Goes over a value; gives where it begins, behind its length.
    fn value(&mut self, number: u32, kind: Kind) -> Result<usize, WireError> {
        let mut start = self.at;
        match kind {
            Kind::Varint => {
                self.varint()?;
            }
            Kind::Fixed64 => self.skip(8)?,
            Kind::Fixed32 => self.skip(4)?,
            Kind::Bytes => {
                let length = self.varint()?;
                start = self.at;
                self.skip(length)?;
            }
            Kind::Group => self.group(number)?,
        }
        Ok(start)
    }

    /// Goes over a group to its end, and over those within it: by a list of those that are open, not by calls.
    fn group(&mut self, number: u32) -> Result<(), WireError> {
        let mut open = vec![number];
        while let Some(&innermost) = open.last() {
            match self.tag()? {
                (number, None) if number == innermost => {
                    open.pop();
                }
                (_, None) => return Err(self.error("a group ends that is not the one that began")),
                (_, Some(Kind::Group)) if open.len() == DEEPEST_GROUP => {
                    return Err(self.error("too many groups within each other"));
                }
                (number, Some(Kind::Group)) => open.push(number),
                (number, Some(kind)) => {
                    self.value(number, kind)?;
                }
            }
        }
        Ok(())
    }
}

/// A message: its fields, in the order that they came in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    fields: Vec<Field>,
}

impl Message {
    /// Reads a message, one level deep.
    pub(crate) fn read(piece: &Piece) -> Result<Message, WireError> {
        let mut reader = Reader { bytes: piece, at: 0, base: piece.at() };
        let mut fields = Vec::new();
        while reader.at < reader.bytes.len() {
            let start = reader.at;
            let (number, kind) = reader.tag()?;
            let Some(kind) = kind else {
                return Err(reader.error("a group ends that never began"));
            };
            let value = reader.value(number, kind)?;
            // Two varints, ten bytes each at the most.
            let head = (value - start) as u8;
            fields.push(Field { number, kind, head, raw: piece.part(start..reader.at) });
        }
        Ok(Message { fields })
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.fields.iter().map(|field| field.raw.len()).sum());
        for field in &self.fields {
            bytes.extend_from_slice(&field.raw);
        }
        bytes
    }

    pub(crate) fn all(&self) -> &[Field] {
        &self.fields
    }

    /// Its fields with this number.
    pub(crate) fn with(&self, number: u32) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(move |field| field.number == number)
    }

    /// The last field with this number: of several, it is the one that counts.
    pub(crate) fn last(&self, number: u32) -> Option<&Field> {
        self.fields.iter().rev().find(|field| field.number == number)
    }

    pub(crate) fn has(&self, number: u32) -> bool {
        self.last(number).is_some()
    }

    /// The integer in a field; 0 where it is not there.
    pub(crate) fn int(&self, number: u32) -> Result<i64, WireError> {
        self.last(number).map_or(Ok(0), Field::int)
    }

    /// The text in a field; none where it is not there.
    pub(crate) fn text(&self, number: u32) -> Result<String, WireError> {
        self.last(number).map_or_else(|| Ok(String::new()), Field::text)
    }

    /// The texts in all fields with this number.
    pub(crate) fn texts(&self, number: u32) -> Result<Vec<String>, WireError> {
        self.with(number).map(Field::text).collect()
    }

    /// The messages in all fields with this number.
    pub(crate) fn messages(&self, number: u32) -> Result<Vec<Message>, WireError> {
        self.with(number).map(Field::message).collect()
    }

    /// The message in a field that there is only one of. (Readers join what comes twice, piece by piece; no
    /// writer does that, and so it is an error here.)
    pub(crate) fn message(&self, number: u32) -> Result<Option<Message>, WireError> {
        let mut fields = self.with(number);
        match (fields.next(), fields.next()) {
            (_, Some(second)) => Err(second.error("what there is only one of comes twice")),
            (first, None) => first.map(Field::message).transpose(),
        }
    }

    /// All integers in fields with this number, one by one or packed.
    pub(crate) fn ints(&self, number: u32) -> Result<Vec<i64>, WireError> {
        let mut ints = Vec::new();
        for field in self.with(number) {
            match field.kind {
                Kind::Bytes => {
                    let bytes = field.bytes()?;
                    let mut reader = Reader { bytes: &bytes, at: 0, base: bytes.at() };
                    while reader.at < reader.bytes.len() {
                        ints.push(reader.varint()? as i64);
                    }
                }
                _ => ints.push(field.int()?),
            }
        }
        Ok(ints)
    }

    /// All numbers of `N` bytes in fields with this number, one by one or packed.
    pub(crate) fn fixed<const N: usize>(&self, number: u32) -> Result<Vec<[u8; N]>, WireError> {
        let mut items = Vec::new();
        for field in self.with(number) {
            let bytes = match (field.kind, N) {
                (Kind::Bytes, _) | (Kind::Fixed32, 4) | (Kind::Fixed64, 8) => field.value(),
                _ => return Err(field.error("a number of another kind than it should be")),
            };
            let (whole, rest) = bytes.as_chunks::<N>();
            if !rest.is_empty() {
                return Err(field.error("packed numbers that end within one"));
            }
            items.extend_from_slice(whole);
        }
        Ok(items)
    }

    pub(crate) fn push(&mut self, field: Field) {
        self.fields.push(field);
    }

    pub(crate) fn push_int(&mut self, number: u32, value: i64) {
        let mut raw = Vec::new();
        put_varint(&mut raw, u64::from(number) << 3);
        let head = raw.len() as u8;
        put_varint(&mut raw, value as u64);
        self.push(Field { number, kind: Kind::Varint, head, raw: raw.into() });
    }

    pub(crate) fn push_fixed32(&mut self, number: u32, value: [u8; 4]) {
        let mut raw = Vec::new();
        put_varint(&mut raw, u64::from(number) << 3 | 5);
        let head = raw.len() as u8;
        raw.extend(value);
        self.push(Field { number, kind: Kind::Fixed32, head, raw: raw.into() });
    }

    pub(crate) fn push_bytes(&mut self, number: u32, bytes: &[u8]) {
        self.push(Field::of_bytes(number, bytes));
    }

    pub(crate) fn push_message(&mut self, number: u32, message: &Message) {
        self.push_bytes(number, &message.write());
    }

    /// The message with some of its fields replaced, by none or by several.
    pub(crate) fn replaced(&self, mut replace: impl FnMut(usize, &Field, &mut Vec<Field>)) -> Message {
        let mut fields = Vec::with_capacity(self.fields.len());
        for (at, field) in self.fields.iter().enumerate() {
            replace(at, field, &mut fields);
        }
        Message { fields }
    }
}

impl Field {
    pub(crate) fn of_bytes(number: u32, bytes: &[u8]) -> Field {
        let mut raw = Vec::with_capacity(bytes.len() + 12);
        put_varint(&mut raw, u64::from(number) << 3 | 2);
        put_varint(&mut raw, bytes.len() as u64);
        let head = raw.len() as u8;
        raw.extend_from_slice(bytes);
        Field { number, kind: Kind::Bytes, head, raw: raw.into() }
    }

    fn value(&self) -> &[u8] {
        &self.raw[usize::from(self.head)..]
    }

    fn error(&self, problem: &'static str) -> WireError {
        WireError { at: self.raw.at(), problem }
    }

    pub(crate) fn int(&self) -> Result<i64, WireError> {
        if self.kind != Kind::Varint {
            return Err(self.error("this should be an integer"));
        }
        Reader { bytes: self.value(), at: 0, base: self.raw.at() }.varint().map(|value| value as i64)
    }

    pub(crate) fn float(&self) -> Result<f32, WireError> {
        match (self.kind, self.value().first_chunk()) {
            (Kind::Fixed32, Some(&bytes)) => Ok(f32::from_le_bytes(bytes)),
            _ => Err(self.error("this should be a number of four bytes")),
        }
    }

    pub(crate) fn bytes(&self) -> Result<Piece, WireError> {
        match self.kind {
            Kind::Bytes => Ok(self.raw.part(self.head.into()..self.raw.len())),
            _ => Err(self.error("this should be text, or bytes, or a message")),
        }
    }

    pub(crate) fn text(&self) -> Result<String, WireError> {
        let bytes = self.bytes()?;
        String::from_utf8(bytes.to_vec()).map_err(|_| self.error("this should be text in UTF-8"))
    }

    pub(crate) fn message(&self) -> Result<Message, WireError> {
        Message::read(&self.bytes()?)
    }
}

fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
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

    fn read(bytes: &[u8]) -> Result<Message, WireError> {
        Message::read(&bytes.to_vec().into())
    }

    #[test]
    fn every_kind_of_field_is_kept_as_it_came() {
        let bytes = [
            &[0x08, 0x96, 0x01][..],                     // 1: 150
            &[0x08, 0x80, 0x80, 0x00],                   // 1: 0, longer than need be
            &[0x11, 1, 2, 3, 4, 5, 6, 7, 8],             // 2: eight bytes
            &[0x1a, 3, b'a', b'b', b'c'],                // 3: bytes
            &[0x23, 0x08, 1, 0x2b, 0x2c, 0x12, 0, 0x24], // 4: a group with one in it
            &[0x35, 1, 2, 3, 4],                         // 6: four bytes
            &[0xa2, 0x80, 0x00, 0x00],                   // 4, its tag longer than need be: no bytes
        ]
        .concat();
        let message = read(&bytes).expect("a message");
        assert_eq!(message.write(), bytes);
        assert_eq!(message.all().len(), 7);
        assert_eq!(message.int(1), Ok(0));
        assert_eq!(message.ints(1), Ok(vec![150, 0]));
        assert_eq!(message.text(3).as_deref(), Ok("abc"));
        assert_eq!(message.fixed::<4>(6), Ok(vec![[1, 2, 3, 4]]));
        assert!(message.text(1).is_err() && message.int(3).is_err() && message.int(4).is_err());
    }

    #[test]
    fn what_is_no_message_is_told_with_its_place() {
        let told = |bytes: &[u8]| read(bytes).expect_err("no message").to_string();
        assert_eq!(told(&[0x08]), "byte 1: the file ends within a number");
        assert_eq!(
            told(&[0x08, 1, 0x1a, 5, b'a']),
            "byte 4: a field is longer than what is left of its message"
        );
        assert_eq!(told(&[0x0f, 1]), "byte 1: a field of a kind that there is not");
        assert_eq!(told(&[0x00, 1]), "byte 1: a field of no number that there can be");
        assert_eq!(told(&[0x0c]), "byte 1: a group ends that never began");
        assert_eq!(told(&[0x0b, 0x14]), "byte 2: a group ends that is not the one that began");
        assert_eq!(told(&[0xff; 11]), "byte 10: a number of more than ten bytes");
        assert_eq!(told(&[0x0b; 1000]), "byte 101: too many groups within each other");
        // A length of nearly 2⁶⁴ takes no memory.
        let long = [&[0x1a][..], &[0xff; 9], &[1]].concat();
        assert_eq!(told(&long), "byte 11: a field is longer than what is left of its message");
    }

    #[test]
    fn fields_are_made_and_replaced() {
        let mut message = Message::default();
        message.push_int(1, -1);
        message.push_bytes(2, b"abc");
        let replaced = message.replaced(|_, field, out| {
            if field.number == 2 {
                out.extend([Field::of_bytes(2, b"x"), field.clone()]);
            } else {
                out.push(field.clone());
            }
        });
        let again = read(&replaced.write()).expect("a message");
        assert_eq!((again.int(1), again.texts(2)), (Ok(-1), Ok(vec!["x".into(), "abc".into()])));
    }

    proptest! {
        #[test]
        fn what_can_be_read_is_written_as_it_was(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(message) = read(&bytes) {
                prop_assert_eq!(message.write(), bytes);
            }
        }
    }
}
