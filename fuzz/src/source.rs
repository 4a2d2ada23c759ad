//! Bytes taken for small decisions, one after another, so that a fuzzer that changes one byte changes
//! one thing. Where no byte is left, the decision is 0.

use unishape_core::Rules;
use unishape_oracle::Reading;

/// Sizes at which counting goes wrong, if anywhere.
const ODD_SIZES: [usize; 8] = [
    usize::MAX,
    usize::MAX - 1,
    isize::MAX as usize,
    isize::MAX as usize + 1,
    u32::MAX as usize,
    1 << 16,
    255,
    64,
];

/// A place among the bytes.
pub(crate) struct Source<'b> {
    bytes: &'b [u8],
}

impl<'b> Source<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Source<'b> {
        Source { bytes }
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

    /// What has not been taken yet.
    pub(crate) fn rest(self) -> &'b [u8] {
        self.bytes
    }

    /// The next `length` bytes, or as many as there are.
    pub(crate) fn bytes(&mut self, length: usize) -> &'b [u8] {
        let (taken, rest) = self.bytes.split_at(length.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    /// A number from 0 to `most`.
    pub(crate) fn up_to(&mut self, most: usize) -> usize {
        usize::from(self.byte()) % (most + 1)
    }

    /// A size: mostly a small one, for small ones meet.
    pub(crate) fn size(&mut self) -> usize {
        let byte = usize::from(self.byte());
        match byte.checked_sub(0xe0) {
            Some(odd) => ODD_SIZES[odd % ODD_SIZES.len()],
            None => byte % 5,
        }
    }

    /// A shape of any sizes.
    pub(crate) fn shape(&mut self, most: usize) -> Vec<usize> {
        (0..self.up_to(most)).map(|_| self.size()).collect()
    }

    /// A stride: any sign, and now and then far out.
    pub(crate) fn stride(&mut self) -> isize {
        let byte = self.byte();
        match byte {
            0xf0..=0xf3 => isize::MIN + isize::from(byte - 0xf0),
            0xf4..=0xf7 => isize::MAX - isize::from(byte - 0xf4),
            0xf8..=0xff => 1 << (usize::BITS / 2),
            _ => isize::from(byte) - 0x78,
        }
    }

    /// A rule set, in both crates' words.
    pub(crate) fn rules(&mut self) -> (Reading, Rules) {
        let byte = self.byte();
        let (reading, rules) = match byte & 1 {
            0 => (Reading::Standard, Rules::STANDARD),
            _ => (Reading::Sonnx, Rules::SONNX),
        };
        (reading, if byte & 2 == 0 { rules } else { rules.strict_rank() })
    }
}
