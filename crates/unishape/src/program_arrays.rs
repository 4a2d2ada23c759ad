//! Arrays as inputs and outputs of block programs: the boundary between ndarray and `unishape_engine::fused`.

#![allow(unsafe_code)]

use crate::dim_map::DimMap;
use crate::numeric::Numeric;
use crate::tensor::TensorView;
use crate::tuning::{
    MAX_PACKED_ROWS_BYTES, MAX_SPARE_ARRAYS, MAX_SPARE_BYTES, MIN_PACKED_READS, MIN_UNPACKED_ROW,
};
use ndarray::{ArrayRef, ArrayViewD, Dimension};
use smallvec::SmallVec;
use std::cell::RefCell;
use std::marker::PhantomData;
use unishape_engine::fused::{self, Input, Options, Output, Program};
use unishape_engine::layout::set_row_major;
use unishape_engine::memory::{AllocError, is_zeroed_by_system, reserve, zeroed};
use unishape_kernels::for_each_dtype;

/// Address, element size, shape and strides of an array of numbers.
#[derive(Clone, Copy)]
struct RawParts<'a> {
    /// Address of the element at index 0.
    first: *const u8,
    item: usize,
    shape: &'a [usize],
    strides: &'a [isize],
}

impl<'a> RawParts<'a> {
    /// Those of a tensor view; `None` for strings.
    fn of_tensor(view: &'a TensorView<'_>) -> Option<RawParts<'a>> {
        fn parts<'a, T: Numeric>(view: &'a ArrayViewD<'_, T>) -> RawParts<'a> {
            let (first, item) = (view.as_ptr().cast(), size_of::<T>());
            RawParts { first, item, shape: view.shape(), strides: view.strides() }
        }
        macro_rules! by_type {
            ($($variant:ident $type:ident $(<$part:ident>)? $name:literal $what:literal;)+) => {
                match view {
                    $(TensorView::$variant(view) => by_type!(@ $type view),)+
                }
            };
            (@ String $view:ident) => {{
                let _ = $view;
                None
            }};
            (@ $type:ident $view:ident) => { Some(parts($view)) };
        }
        for_each_dtype!(by_type)
    }

    /// An input of a program.
    ///
    /// # Safety
    ///
    /// Every index leads to an initialised element, and nothing writes to these for 'a.
    unsafe fn input(self) -> Input<'a> {
        let RawParts { first, item, shape, strides } = self;
        // Safety: as for the caller. Elements of this size without padding can be seen as integers.
        unsafe {
            match item {
                1 => Input::new(first, shape, strides),
                2 => Input::new(first.cast::<u16>(), shape, strides),
                4 => Input::new(first.cast::<u32>(), shape, strides),
                8 => Input::new(first.cast::<u64>(), shape, strides),
                _ => Input::new(first.cast::<u128>(), shape, strides),
            }
        }
    }
}

/// An array that a program reads; `None` for strings.
pub(crate) fn program_input<'a>(view: &'a TensorView<'_>) -> Option<Input<'a>> {
    // Safety: these are the parts of a view that is borrowed for 'a.
    RawParts::of_tensor(view).map(|parts| unsafe { parts.input() })
}

/// An array that a program writes.
pub(crate) fn program_output<'a, T: Numeric, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> Output<'a> {
    let first = array.as_mut_ptr();
    let array: &'a ArrayRef<T, D> = array;
    // Safety: address, shape and strides are those of an array that is borrowed mutably for 'a. The sealed
    // trait `Numeric` has the mask of each type.
    unsafe { Output::new(first, array.shape(), array.strides(), T::BYTE_MASK) }
}

/// The elements of a program's result in row-major order.
///
/// `None` where the run was stopped.
pub(crate) fn program_result<T: Numeric>(
    program: &Program,
    inputs: &[Input<'_>],
    shape: &[usize],
    count: usize,
    options: Options<'_>,
) -> Result<Option<Vec<T>>, AllocError> {
    let mut strides: SmallVec<[isize; 8]> = SmallVec::from_elem(0, shape.len());
    set_row_major(&mut strides, shape);
    if is_zeroed_by_system(count.saturating_mul(size_of::<T>())) {
        let mut elements = zeroed::<T>(count)?;
        // Safety: a row-major array of this shape has `count` elements, which are borrowed mutably.
        let mut output = unsafe { Output::new(elements.as_mut_ptr(), shape, &strides, T::BYTE_MASK) };
        return Ok(fused::run(program, inputs, &mut output, options).then_some(elements));
    }
    let mut elements: Vec<T> = reserve(count)?;
    // Safety: there is capacity for a row-major array of this shape, which nothing else accesses.
    let mut output = unsafe { Output::uninit(elements.as_mut_ptr(), shape, &strides, T::BYTE_MASK) };
    if !fused::run(program, inputs, &mut output, options) {
        return Ok(None);
    }
    // Safety: a completed run has written every element.
    unsafe { elements.set_len(count) };
    Ok(Some(elements))
}

/// An array of any dtype, as a stage of an expression reads it: address, shape and strides.
#[derive(Clone, Debug)]
pub(crate) struct StageArray<'a> {
    /// Address of the element at index 0.
    first: *const u8,
    item: usize,
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[isize; 6]>,
    elements: PhantomData<&'a [u8]>,
}

// Safety: elements are plain numbers, which any thread may read.
unsafe impl Sync for StageArray<'_> {}
// Safety: as above.
unsafe impl Send for StageArray<'_> {}

impl<'a> StageArray<'a> {
    /// The array of a tensor view; `None` for strings.
    pub(crate) fn of_tensor(view: &'a TensorView<'_>) -> Option<StageArray<'a>> {
        let RawParts { first, item, shape, strides } = RawParts::of_tensor(view)?;
        let (shape, strides) = (SmallVec::from_slice(shape), SmallVec::from_slice(strides));
        Some(StageArray { first, item, shape, strides, elements: PhantomData })
    }

    /// The elements at the indices that the maps lead to from each index of `shape`.
    ///
    /// # Panics
    ///
    /// Where an index is out of bounds.
    pub(crate) fn mapped(&self, maps: &[DimMap], shape: &[usize]) -> StageArray<'a> {
        assert_eq!(maps.len(), self.shape.len(), "a map for each dimension");
        let mut strides: SmallVec<[isize; 6]> = SmallVec::from_elem(0, shape.len());
        let mut offset = 0isize;
        if !shape.contains(&0) {
            for ((map, &size), &stride) in maps.iter().zip(&self.shape).zip(&self.strides) {
                let last = match map.dim {
                    None => map.start,
                    Some(dim) => {
                        strides[dim] += stride * map.step;
                        map.start + map.step * (shape[dim] as isize - 1)
                    }
                };
                let bounds = 0..size as isize;
                assert!(bounds.contains(&map.start) && bounds.contains(&last), "an index out of bounds");
                offset += map.start * stride;
            }
        }
        let first = self.first.wrapping_offset(offset * self.item as isize);
        StageArray {
            first,
            item: self.item,
            shape: SmallVec::from_slice(shape),
            strides,
            elements: PhantomData,
        }
    }

    /// Whether the element changes along a dimension.
    pub(crate) fn moves(&self, dim: usize) -> bool {
        self.strides[dim] != 0 && self.shape[dim] > 1
    }

    /// The dimensions along which the element changes.
    fn moving(&self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.shape.len()).filter(|&dim| self.moves(dim))
    }

    /// Whether elements are read often enough along the loops to copy them first.
    fn is_read_often(&self) -> bool {
        let own: usize = self.moving().map(|dim| self.shape[dim]).product();
        let times: usize = self.shape.iter().product::<usize>() / own.max(1);
        times >= MIN_PACKED_READS && !self.shape.contains(&0)
    }

    /// Whether a copy is small. One of overlapping rows, or of a large file's, could be larger than memory.
    fn is_small(&self) -> bool {
        let own: usize = self.moving().map(|dim| self.shape[dim]).product();
        let span: usize =
            self.moving().map(|dim| (self.shape[dim] - 1) * self.strides[dim].unsigned_abs()).sum();
        own <= span + 1 && own * self.item <= MAX_PACKED_ROWS_BYTES
    }

    /// Whether elements may be [worth packing](StageArray::is_worth_packing) when they are read at these indices: a
    /// quicker test.
    pub(crate) fn may_be_worth_packing(&self, maps: &[DimMap], shape: &[usize]) -> bool {
        // Sizes of which one is 0 may have any product.
        let own =
            maps.iter().filter_map(|map| map.dim).fold(1, |all: usize, dim| all.saturating_mul(shape[dim]));
        let all = shape.iter().fold(1, |all: usize, &size| all.saturating_mul(size));
        all / own.max(1) >= MIN_PACKED_READS || self.is_stretched()
    }

    /// Whether elements are read many times along the loops but are not contiguous: then they are worth copying.
    pub(crate) fn is_worth_packing(&self) -> bool {
        let Some(innermost) = self.moving().next_back() else { return false };
        let mut next = 1;
        let is_contiguous = self.moving().rev().all(|dim| {
            let is_next = self.strides[dim] == next;
            next *= self.shape[dim] as isize;
            is_next
        });
        let has_rows = self.strides[innermost] == 1;
        let are_worth = !has_rows || self.shape[innermost] < MIN_UNPACKED_ROW && self.is_small();
        !is_contiguous && are_worth && self.is_read_often()
    }

    /// Whether elements are worth copying in another order.
    pub(crate) fn is_worth_transposing(&self) -> bool {
        self.is_read_often() && self.is_small()
    }

    /// The same elements with two dimensions swapped.
    #[must_use]
    pub(crate) fn swapped(mut self, a: usize, b: usize) -> StageArray<'a> {
        self.shape.swap(a, b);
        self.strides.swap(a, b);
        self
    }

    /// The same elements with size 1 in dimensions along which they do not change.
    pub(crate) fn without_repeats(&self) -> StageArray<'a> {
        let mut array = self.clone();
        for (size, stride) in array.shape.iter_mut().zip(&array.strides) {
            *size = if *stride == 0 { (*size).min(1) } else { *size };
        }
        array
    }

    /// Whether this is the same array as another one: it has the same element at each index.
    pub(crate) fn is_same(&self, other: &StageArray<'_>) -> bool {
        self.first == other.first
            && self.item == other.item
            && self.shape == other.shape
            && self.strides == other.strides
    }

    /// Whether it is stretched: it has the same element along some dimension.
    pub(crate) fn is_stretched(&self) -> bool {
        self.shape.iter().zip(&self.strides).any(|(&size, &stride)| size > 1 && stride == 0)
    }

    /// Whether outer dimensions have larger strides than inner ones.
    pub(crate) fn is_ordered(&self) -> bool {
        is_ordered(&self.shape, &self.strides)
    }

    /// Its shape.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Bytes of an element.
    pub(crate) fn item(&self) -> usize {
        self.item
    }

    /// The array as an input of a program.
    pub(crate) fn input(&self) -> Input<'_> {
        let parts =
            RawParts { first: self.first, item: self.item, shape: &self.shape, strides: &self.strides };
        // Safety: the constructors take address, shape and strides from arrays of initialised elements that are
        // borrowed for 'a, and `mapped` checks that every index leads to one of these elements.
        unsafe { parts.input() }
    }
}

/// Whether outer dimensions have larger strides than inner ones, but for those along which an array is stretched.
fn is_ordered(shape: &[usize], strides: &[isize]) -> bool {
    let moving = shape.iter().zip(strides).filter(|&(&size, &stride)| size > 1 && stride != 0);
    moving.map(|(_, stride)| stride.unsigned_abs()).is_sorted_by(|outer, inner| outer >= inner)
}

/// An array of any dtype that a stage of an expression writes.
#[derive(Debug)]
pub(crate) struct RawOutput<'a> {
    first: *mut u8,
    item: usize,
    mask: u8,
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[isize; 6]>,
    is_folded: bool,
    elements: PhantomData<&'a mut [u8]>,
}

// Safety: elements are plain numbers, which any thread may write, and no two outputs share an element.
unsafe impl Send for RawOutput<'_> {}

impl<'a> RawOutput<'a> {
    /// An array that is borrowed mutably.
    pub(crate) fn of_array<T: Numeric, D: Dimension>(array: &'a mut ArrayRef<T, D>) -> RawOutput<'a> {
        RawOutput {
            first: array.as_mut_ptr().cast(),
            item: size_of::<T>(),
            mask: T::BYTE_MASK,
            shape: SmallVec::from_slice(array.shape()),
            strides: SmallVec::from_slice(array.strides()),
            is_folded: false,
            elements: PhantomData,
        }
    }

    /// Its shape.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether outer dimensions have larger strides than inner ones.
    pub(crate) fn is_ordered(&self) -> bool {
        is_ordered(&self.shape, &self.strides)
    }

    /// Number of dimensions.
    pub(crate) fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Whether it has no elements.
    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Cuts the array along one dimension into parts of `step` indices, but for the last.
    ///
    /// # Panics
    ///
    /// Where the dimension does not exist, or `step` is 0.
    pub(crate) fn split(self, dim: usize, step: usize) -> Vec<RawOutput<'a>> {
        let (size, stride) = (self.shape[dim], self.strides[dim]);
        let part = |start: usize| {
            let mut shape = self.shape.clone();
            shape[dim] = step.min(size - start);
            // Parts have different indices, and so share no element.
            let first = self.first.wrapping_offset(start as isize * stride * self.item as isize);
            RawOutput { first, shape, strides: self.strides.clone(), ..self }
        };
        (0..size).step_by(step).map(part).collect()
    }

    /// The accumulators of a reduction of some dimensions of `shape`. These have size 1 in the output, or are missing.
    ///
    /// # Panics
    ///
    /// Where other dimensions differ, or there are no elements.
    #[must_use]
    pub(crate) fn folded(self, shape: &[usize], dims: &[usize]) -> RawOutput<'a> {
        assert!(!self.is_empty(), "an output with elements");
        let keeps_dims = self.shape.len() == shape.len();
        let mut own = self.shape.iter().zip(&self.strides);
        let mut strides: SmallVec<[isize; 6]> = SmallVec::new();
        for (dim, &size) in shape.iter().enumerate() {
            let is_reduced = dims.contains(&dim);
            let (own_size, stride) = match is_reduced && !keeps_dims {
                true => (1, 0),
                false => own.next().map_or((0, 0), |(&size, &stride)| (size, stride)),
            };
            assert_eq!(own_size, if is_reduced { 1 } else { size }, "the shape of the reduction");
            // A stride of 0 would be that of a reduced dimension. There is only one index where arrays have it.
            strides.push(match is_reduced {
                true => 0,
                false if stride == 0 => 1,
                false => stride,
            });
        }
        assert!(own.next().is_none(), "the rank of the reduction");
        RawOutput { shape: SmallVec::from_slice(shape), strides, is_folded: true, ..self }
    }

    /// The array as an output of a program.
    pub(crate) fn output(&mut self) -> Output<'_> {
        fn sized<'o, T: bytemuck::NoUninit + Send>(raw: &'o RawOutput<'_>) -> Output<'o> {
            let (first, shape, strides) = (raw.first.cast::<T>(), &raw.shape[..], &raw.strides[..]);
            // Safety: the constructors take address, shape and strides from an array of initialised elements that is
            // borrowed mutably for 'a, and `self` is borrowed mutably. `folded` has checked that all elements of the
            // array belong to kept dimensions and that there are some. The mask is that of the dtype.
            unsafe {
                match raw.is_folded {
                    true => Output::folded(first, shape, strides, raw.mask),
                    false => Output::new(first, shape, strides, raw.mask),
                }
            }
        }
        match self.item {
            1 => sized::<u8>(self),
            2 => sized::<u16>(self),
            4 => sized::<u32>(self),
            8 => sized::<u64>(self),
            _ => sized::<u128>(self),
        }
    }
}

/// An array that a stage writes and later stages read.
#[derive(Debug)]
pub(crate) struct StageBuffer {
    /// Elements in row-major order, aligned for every dtype.
    elements: Vec<u128>,
    item: usize,
    shape: SmallVec<[usize; 6]>,
    strides: SmallVec<[isize; 6]>,
}

impl StageBuffer {
    /// An array of any elements.
    ///
    /// # Panics
    ///
    /// Where `bytes` are not those of the shape's elements.
    pub(crate) fn new(
        bytes: usize,
        item: usize,
        shape: SmallVec<[usize; 6]>,
    ) -> Result<StageBuffer, AllocError> {
        assert_eq!(bytes, item * shape.iter().product::<usize>(), "the bytes of the elements");
        let count = bytes.div_ceil(size_of::<u128>());
        let elements = match SpareMemory::take(count) {
            Some(elements) => elements,
            None => zeroed(count)?,
        };
        let mut strides = SmallVec::from_elem(0, shape.len());
        set_row_major(&mut strides, &shape);
        Ok(StageBuffer { elements, item, shape, strides })
    }

    /// The array, to read.
    pub(crate) fn array(&self) -> StageArray<'_> {
        StageArray {
            first: self.elements.as_ptr().cast(),
            item: self.item,
            shape: SmallVec::from_slice(&self.shape),
            strides: SmallVec::from_slice(&self.strides),
            elements: PhantomData,
        }
    }

    /// The array, to write. Any bytes are elements: booleans are seen as bytes.
    pub(crate) fn output(&mut self) -> RawOutput<'_> {
        RawOutput {
            first: self.elements.as_mut_ptr().cast(),
            item: self.item,
            mask: u8::MAX,
            shape: SmallVec::from_slice(&self.shape),
            strides: SmallVec::from_slice(&self.strides),
            is_folded: false,
            elements: PhantomData,
        }
    }
}

impl Drop for StageBuffer {
    fn drop(&mut self) {
        SpareMemory::keep(std::mem::take(&mut self.elements));
    }
}

/// Memory of temporary arrays that a thread keeps for the next ones: that of a few small ones. To allocate and clear some
/// thousand elements takes as long as to compute with them.
struct SpareMemory;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u128>>> = const { RefCell::new(Vec::new()) };
}

impl SpareMemory {
    /// The smallest kept memory of at least `count` numbers.
    fn take(count: usize) -> Option<Vec<u128>> {
        let take = |spare: &RefCell<Vec<Vec<u128>>>| {
            let mut spare = spare.try_borrow_mut().ok()?;
            let fits = spare.iter().enumerate().filter(|(_, elements)| elements.len() >= count);
            let at = fits.min_by_key(|(_, elements)| elements.len())?.0;
            Some(spare.swap_remove(at))
        };
        // A thread that is ending keeps none.
        SPARE.try_with(take).ok()?
    }

    fn keep(elements: Vec<u128>) {
        if elements.is_empty() || size_of_val(&elements[..]) > MAX_SPARE_BYTES {
            return;
        }
        let _ = SPARE.try_with(|spare| {
            if let Ok(mut spare) = spare.try_borrow_mut()
                && spare.len() < MAX_SPARE_ARRAYS
            {
                spare.push(elements);
            }
        });
    }
}
