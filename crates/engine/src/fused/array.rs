//! Arrays as the executor of programs sees them: bytes of a known element size.

use std::marker::PhantomData;

/// Whether elements of this many bytes can be gathered and scattered.
const fn is_supported_size(bytes: usize) -> bool {
    matches!(bytes, 1 | 2 | 4 | 8 | 16)
}

/// An array that a program reads.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// Address of the element at index 0.
    pub(super) first: *const u8,
    pub(super) item: usize,
    pub(super) shape: &'a [usize],
    pub(super) strides: &'a [isize],
    /// Whether elements are their own offsets.
    pub(super) is_index: bool,
    elements: PhantomData<&'a [u8]>,
}

// Safety: the elements are plain numbers, which any thread may read.
unsafe impl Sync for Input<'_> {}

impl<'a> Input<'a> {
    /// An input from the address of its element at index 0.
    ///
    /// # Safety
    ///
    /// `strides`, in elements, is as long as `shape`. Every index of `shape` leads to an initialised element
    /// without padding that lives for `'a`, and nothing writes to these meanwhile.
    #[inline]
    pub unsafe fn new<T: bytemuck::NoUninit + Sync>(
        first: *const T,
        shape: &'a [usize],
        strides: &'a [isize],
    ) -> Input<'a> {
        const { assert!(is_supported_size(size_of::<T>())) };
        let (first, item) = (first.cast(), size_of::<T>());
        Input { first, item, shape, strides, is_index: false, elements: PhantomData }
    }

    /// An input of indices, which are not in memory.
    ///
    /// Its elements are `int64` numbers: `start`, and the index times the strides.
    ///
    /// # Panics
    ///
    /// Where there are not as many strides as sizes.
    pub fn index(start: isize, shape: &'a [usize], strides: &'a [isize]) -> Input<'a> {
        assert_eq!(shape.len(), strides.len(), "a stride for each dimension");
        // No address, but a number.
        let (first, item) = (std::ptr::without_provenance(start as usize), size_of::<i64>());
        Input { first, item, shape, strides, is_index: true, elements: PhantomData }
    }
}

/// An array that a program writes.
#[derive(Debug)]
pub struct Output<'a> {
    /// Address of the element at index 0.
    pub(super) first: *mut u8,
    pub(super) item: usize,
    pub(super) shape: &'a [usize],
    pub(super) strides: &'a [isize],
    /// Shape of the array that this is a part of, or the own one.
    pub(super) whole: &'a [usize],
    /// The bits that may be set in each byte.
    pub(super) mask: u8,
    /// Whether elements are uninitialised until the program writes them.
    pub(super) is_uninit: bool,
    /// Whether elements are accumulators: the output of a program that folds its results.
    pub(super) is_folded: bool,
    /// Where elements are indices of extreme elements: address of the extreme element at index 0. Has the same strides.
    pub(super) extremes: *mut u8,
    elements: PhantomData<&'a mut [u8]>,
}

// Safety: the elements are plain numbers, which any thread may write; the executor lets no two threads
// access one element.
unsafe impl Sync for Output<'_> {}

impl<'a> Output<'a> {
    /// An output from the address of its element at index 0.
    ///
    /// Of each byte, only bits of `mask` are written.
    ///
    /// # Safety
    ///
    /// `strides`, in elements, is as long as `shape`. Every index of `shape` leads to an initialised element
    /// that lives for `'a`, and nothing else accesses these meanwhile. Any bytes with no bits beyond `mask`
    /// are an element: `mask` is 1 for `bool`, and 255 for types without invalid bit patterns.
    #[inline]
    pub unsafe fn new<T: bytemuck::NoUninit + Send>(
        first: *mut T,
        shape: &'a [usize],
        strides: &'a [isize],
        mask: u8,
    ) -> Output<'a> {
        const { assert!(is_supported_size(size_of::<T>())) };
        let (first, item) = (first.cast(), size_of::<T>());
        Output {
            first,
            item,
            shape,
            strides,
            whole: shape,
            mask,
            is_uninit: false,
            is_folded: false,
            extremes: std::ptr::null_mut(),
            elements: PhantomData,
        }
    }

    /// An output whose elements need not be initialised.
    ///
    /// A completed run initialises all of them.
    ///
    /// # Safety
    ///
    /// As for [`new`](Output::new), but for the initialised elements.
    #[inline]
    pub unsafe fn uninit<T: bytemuck::NoUninit + Send>(
        first: *mut T,
        shape: &'a [usize],
        strides: &'a [isize],
        mask: u8,
    ) -> Output<'a> {
        // Safety: the caller guarantees the rest, and the executor initialises elements before it makes
        // references to them.
        Output { is_uninit: true, ..unsafe { Output::new(first, shape, strides, mask) } }
    }

    /// An output into which results are [folded](super::Program::folding).
    ///
    /// It is given by the address of its element at index 0. Its elements need not be initialised.
    ///
    /// `shape` is that of the inputs. Strides are 0 in the dimensions that are reduced, and only in these or where the
    /// size is 1.
    ///
    /// # Safety
    ///
    /// As for [`uninit`](Output::uninit), and where all dimensions of size 0 are reduced, the element at index 0
    /// exists.
    #[inline]
    pub unsafe fn folded<T: bytemuck::NoUninit + Send>(
        first: *mut T,
        shape: &'a [usize],
        strides: &'a [isize],
        mask: u8,
    ) -> Output<'a> {
        // Safety: the caller guarantees it.
        Output { is_folded: true, ..unsafe { Output::uninit(first, shape, strides, mask) } }
    }

    /// States that this is a part of an output of another shape.
    ///
    /// Folds then round as they do in the whole: with loops in the same order, of which the same ones are coalesced.
    ///
    /// # Panics
    ///
    /// Where the ranks differ, or the whole is smaller.
    #[must_use]
    pub fn part_of(self, whole: &'a [usize]) -> Output<'a> {
        let mut sizes = self.shape.iter().zip(whole);
        assert!(whole.len() == self.shape.len() && sizes.all(|(part, whole)| part <= whole), "a part");
        Output { whole, ..self }
    }

    /// Address of the element `offset` elements from the element at index 0.
    pub(super) fn address(&self, offset: isize) -> *mut u8 {
        self.first.wrapping_offset(offset * self.item as isize)
    }

    /// An output of the same shape at another address, whose elements are initialised and may be any bytes.
    pub(super) fn at(&self, first: *mut u8) -> Output<'a> {
        Output { first, mask: u8::MAX, is_uninit: false, ..*self }
    }

    /// The bytes of `count` contiguous elements, initialised.
    ///
    /// # Safety
    ///
    /// These are elements of the array, and nothing else accesses them meanwhile.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn bytes(&self, first: *mut u8, count: usize) -> &mut [u8] {
        let len = count * self.item;
        // Safety: the caller guarantees the elements. Kernels take initialised bytes.
        unsafe {
            if self.is_uninit {
                first.write_bytes(0, len);
            }
            std::slice::from_raw_parts_mut(first, len)
        }
    }
}
