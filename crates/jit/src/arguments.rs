//! What a compiled function is called with.

use crate::chain::MAX_INPUTS;
use std::mem::{MaybeUninit, offset_of};

/// Inputs and the output.
const MAX_OPERANDS: usize = MAX_INPUTS + 1;

/// Arguments of a compiled function.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Arguments {
    /// How many rows are left.
    pub(crate) rows: usize,
    /// The first element of each row that is computed.
    pub(crate) start: usize,
    /// A bit for each element behind the last whole vector of each row; AVX-512 only.
    pub(crate) tail_mask: usize,
    /// Addresses of the inputs and of the output in the current row.
    pub(crate) addresses: [MaybeUninit<*const u8>; MAX_OPERANDS],
    /// Distances to the next row, in bytes.
    pub(crate) strides: [MaybeUninit<isize>; MAX_OPERANDS],
}

impl Arguments {
    /// Arguments for some rows, without inputs.
    pub(crate) fn new(rows: usize) -> Arguments {
        let (addresses, strides) =
            ([const { MaybeUninit::uninit() }; _], [const { MaybeUninit::uninit() }; _]);
        Arguments { rows, start: 0, tail_mask: 0, addresses, strides }
    }

    /// Sets an input, or the output, which comes after all of them.
    pub(crate) fn set(&mut self, number: usize, address: *const u8, stride: isize) {
        self.addresses[number].write(address);
        self.strides[number].write(stride);
    }
}

/// Offset of the address of an input among the arguments; that of the output follows those of the inputs.
pub(crate) fn address_field(number: usize) -> usize {
    offset_of!(Arguments, addresses) + number * size_of::<usize>()
}

/// Offset of the distance between its rows.
pub(crate) fn stride_field(number: usize) -> usize {
    offset_of!(Arguments, strides) + number * size_of::<usize>()
}
