//! Structured values from fuzzer bytes.
//!
//! Each value takes its own bytes, so that a mutation of one byte changes one value. After the last byte,
//! all bytes are 0.

use unishape_core::Rules;
use unishape_oracle::Reading;

/// Sizes near the limits of integer types.
const EDGE_SIZES: [usize; 8] = [
    usize::MAX,
    usize::MAX - 1,
    isize::MAX as usize,
    isize::MAX as usize + 1,
    u32::MAX as usize,
    1 << 16,
    255,
    64,
];

/// Takes values from the front of the bytes.
pub(crate) struct ByteSource<'b> {
    bytes: &'b [u8],
}

impl<'b> ByteSource<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> ByteSource<'b> {
        ByteSource { bytes }
    }

    pub(crate) fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&byte, rest)) => {
                self.bytes = rest;
                byte
            }
            None => 0,
        }
    }

    /// The bytes that are left.
    pub(crate) fn rest(self) -> &'b [u8] {
        self.bytes
    }

    /// The next `length` bytes, or all that are left if those are fewer.
    pub(crate) fn bytes(&mut self, length: usize) -> &'b [u8] {
        let (taken, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// A number from 0 to `max`.
    pub(crate) fn up_to(&mut self, max: usize) -> usize {
        usize::from(self.byte()) % (max + 1)
    }

    /// A size, mostly a small one so that equal sizes are frequent.
    pub(crate) fn size(&mut self) -> usize {
        let byte = usize::from(self.byte());
        match byte.checked_sub(0xe0) {
            Some(at) => EDGE_SIZES[at % EDGE_SIZES.len()],
            None => byte % 5,
        }
    }

    /// A shape of rank 0 to `max_rank`.
    pub(crate) fn shape(&mut self, max_rank: usize) -> Vec<usize> {
        (0..self.up_to(max_rank)).map(|_| self.size()).collect()
    }

    /// A stride of any sign, sometimes near the limits of `isize`.
    pub(crate) fn stride(&mut self) -> isize {
        let byte = self.byte();
        match byte {
            0xf0..=0xf3 => isize::MIN + isize::from(byte - 0xf0),
            0xf4..=0xf7 => isize::MAX - isize::from(byte - 0xf4),
            0xf8..=0xff => 1 << (usize::BITS / 2),
            _ => isize::from(byte) - 0x78,
        }
    }

    /// A rule set, as the oracle's reading and the core's rules.
    pub(crate) fn rules(&mut self) -> (Reading, Rules) {
        let byte = self.byte();
        let (reading, rules) = match byte & 1 {
            0 => (Reading::Standard, Rules::STANDARD),
            _ => (Reading::Sonnx, Rules::SONNX),
        };
        (reading, if byte & 2 == 0 { rules } else { rules.strict_rank() })
    }
}
