//! Single elements of any type.

use crate::{Ahead, Kernel};

/// One element of some type, aligned for any of them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(align(16))]
pub struct Constant {
    bytes: [u8; 16],
    item: usize,
}

impl Constant {
    /// From an element.
    #[doc(hidden)]
    pub fn new<T: bytemuck::NoUninit>(element: T) -> Constant {
        let (mut bytes, item) = ([0; 16], size_of::<T>());
        bytes[..item].copy_from_slice(bytemuck::bytes_of(&element));
        Constant { bytes, item }
    }

    /// What a kernel makes of some constants.
    #[doc(hidden)]
    pub fn computed(kernel: Kernel, from: &[Constant], item: usize) -> Constant {
        let mut result = Constant { bytes: [0; 16], item };
        let from: Vec<&[u8]> = from.iter().map(Constant::bytes).collect();
        kernel(&from, &mut result.bytes[..item], &mut Ahead::none());
        result
    }

    /// The element, if it has the size of such ones.
    #[doc(hidden)]
    pub fn get<T: bytemuck::AnyBitPattern>(&self) -> Option<T> {
        bytemuck::try_pod_read_unaligned(self.bytes()).ok()
    }

    /// Its bytes.
    #[doc(hidden)]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.item]
    }
}
