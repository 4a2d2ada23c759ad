//! Fused kernels: compiled chains in executable memory.

#![allow(unsafe_code)]

#[cfg(not(target_arch = "x86_64"))]
use crate::chain::Chain;

#[cfg(target_arch = "x86_64")]
pub use x86::{FusedBlock, FusedKernel};

/// A compiled chain; there are none for this CPU architecture.
#[cfg(not(target_arch = "x86_64"))]
#[derive(Debug)]
pub struct FusedKernel(std::convert::Infallible);

#[cfg(not(target_arch = "x86_64"))]
impl FusedKernel {
    /// Always `None` on this CPU architecture.
    pub fn compile(_: &Chain<'_>) -> Option<FusedKernel> {
        None
    }

    /// Is never called, for there is no kernel.
    pub fn run(&self, _: &[&[u8]], _: &mut [u8]) {
        match self.0 {}
    }

    /// Is never called, for there is no kernel.
    pub fn block<'b>(&'b self, _: &'b [&'b [u8]], _: &'b mut [u8]) -> FusedBlock<'b> {
        match self.0 {}
    }

    /// Is never called, for there is no kernel.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub unsafe fn run_rows(
        &self,
        _: impl Iterator<Item = (*const u8, isize)>,
        _: (*mut u8, isize),
        _: [usize; 2],
    ) {
        match self.0 {}
    }
}

/// A block of elements; there are no kernels for this CPU architecture.
#[cfg(not(target_arch = "x86_64"))]
pub struct FusedBlock<'b>(std::marker::PhantomData<&'b ()>, std::convert::Infallible);

#[cfg(not(target_arch = "x86_64"))]
impl FusedBlock<'_> {
    /// Is never called, for there is no kernel.
    pub fn run(&mut self, _: usize, _: usize) {
        match self.1 {}
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use crate::allocate::{Allocator, Bases};
    use crate::arguments::{Arguments, address_field, stride_field};
    use crate::assembler::{Assembler, BASES, Gpr, INDEX, RCX, VOLATILE_BASES};
    use crate::chain::{Chain, ElementWidth, MAX_BLOCK_INPUTS, MAX_INPUTS};
    use crate::isa::{Isa, MAX_VECTOR};
    use crate::lower::{Body, MAX_FROM, Origin, lower};
    use memmap2::{Mmap, MmapMut};
    use std::marker::PhantomData;
    use std::mem::offset_of;

    /// Vectors that are computed at a time, in order of preference.
    const VECTORS: [usize; 3] = [4, 2, 1];

    /// Registers for scalars that are loaded when they are needed: few instructions take more.
    const LOADED_SCALARS: usize = 3;

    /// Most bytes of stack that a kernel uses: less than a guard page, so that a stack overflow is always detected.
    const MAX_FRAME: usize = 4096;

    /// The function. It computes whole vectors of each row from the start on, up to `end`, and with AVX-512 the elements
    /// of the tail mask then.
    type Function = unsafe extern "sysv64" fn(arguments: *mut Arguments, end: usize);

    /// A compiled chain.
    ///
    /// ```
    /// use unishape_jit::{Call, Chain, ChainInput, FusedKernel};
    /// use unishape_kernels::{DType, KernelKey, Op};
    ///
    /// // a * b + a
    /// let calls = [
    ///     Call { key: KernelKey::Call(Op::Multiply, DType::F32), inputs: &[0, 1] },
    ///     Call { key: KernelKey::Call(Op::Add, DType::F32), inputs: &[2, 0] },
    /// ];
    /// let chain = Chain { inputs: &[ChainInput::Block, ChainInput::Scalar], calls: &calls };
    /// let (a, b, mut sum) = ([1f32, 2.0, 3.0], [10f32], [0f32; 3]);
    /// if let Some(kernel) = FusedKernel::compile(&chain) {
    ///     let inputs = [bytemuck::cast_slice(&a), bytemuck::cast_slice(&b)];
    ///     kernel.run(&inputs, bytemuck::cast_slice_mut(&mut sum));
    ///     assert_eq!(sum, [11.0, 22.0, 33.0]);
    /// }
    /// ```
    #[derive(Debug)]
    pub struct FusedKernel {
        code: Mmap,
        isa: Isa,
        /// Elements of a vector.
        lanes: usize,
        /// Bytes of an element of each input, and whether there is one for each element of the result. An input that
        /// no call takes has 0 bytes.
        inputs: Vec<(usize, bool)>,
        /// Bytes of an element of the result.
        item: usize,
    }

    impl FusedKernel {
        /// Compiles a chain.
        ///
        /// `None` where a call is not [fusable](crate::fusable) with the others, the chain has more than
        /// [`MAX_BLOCK_INPUTS`] blocks as inputs or none, or more than [`MAX_INPUTS`] inputs in all, the CPU lacks AVX2
        /// or F16C, or there is no executable memory.
        pub fn compile(chain: &Chain<'_>) -> Option<FusedKernel> {
            FusedKernel::compile_for(Isa::preferred()?, chain)
        }

        /// As [`FusedKernel::compile`], for an instruction set that this CPU has.
        pub(crate) fn compile_for(isa: Isa, chain: &Chain<'_>) -> Option<FusedKernel> {
            let width = chain.width()?;
            let body = lower(chain, isa)?;
            let mut inputs = vec![(0, false); chain.inputs.len()];
            for origin in body.origins.iter().flatten() {
                match *origin {
                    Origin::Block { input, dtype, .. } => inputs[input] = (dtype.item_size(), true),
                    Origin::Scalar { input, dtype } => inputs[input] = (dtype.item_size(), false),
                    Origin::Number(_) => {}
                }
            }
            let blocks = inputs.iter().filter(|(_, is_block)| *is_block).count();
            if blocks == 0 || blocks > MAX_BLOCK_INPUTS || inputs.len() > MAX_INPUTS {
                return None;
            }
            let item = body.stores.first()?.item;
            let code = encode(&body, isa, width, &inputs)?;
            let mut memory = MmapMut::map_anon(code.len()).ok()?;
            memory.copy_from_slice(&code);
            let code = memory.make_exec().ok()?;
            Some(FusedKernel { code, isa, lanes: isa.lanes(width), inputs, item })
        }

        /// Computes a block of elements.
        ///
        /// An input that is a block has as many elements as the output, a scalar or a constant has one.
        ///
        /// # Panics
        ///
        /// Where the inputs are not those of the chain, by their number and sizes.
        pub fn run(&self, inputs: &[&[u8]], output: &mut [u8]) {
            let len = output.len() / self.item;
            self.block(inputs, output).run(0, len);
        }

        /// A block of elements that is computed in parts.
        ///
        /// [`run`](FusedKernel::run) computes it at once.
        ///
        /// ```
        /// use unishape_jit::{Call, Chain, ChainInput, FusedKernel};
        /// use unishape_kernels::{DType, KernelKey, Op};
        ///
        /// let calls = [Call { key: KernelKey::Call(Op::Negative, DType::F32), inputs: &[0] }];
        /// let (a, mut result) = ([1f32; 100], [0f32; 100]);
        /// if let Some(kernel) = FusedKernel::compile(&Chain { inputs: &[ChainInput::Block], calls: &calls }) {
        ///     let inputs = [bytemuck::cast_slice(&a)];
        ///     let mut block = kernel.block(&inputs, bytemuck::cast_slice_mut(&mut result));
        ///     block.run(0, 30);
        ///     block.run(30, 100);
        ///     assert_eq!(result, [-1.0; 100]);
        /// }
        /// ```
        ///
        /// # Panics
        ///
        /// As for [`run`](FusedKernel::run).
        pub fn block<'b>(&'b self, inputs: &'b [&'b [u8]], output: &'b mut [u8]) -> FusedBlock<'b> {
            let len = output.len() / self.item;
            assert!(
                inputs.len() == self.inputs.len() && output.len() == len * self.item,
                "elements of the chain"
            );
            let fits = |(input, &(item, is_block)): (&&[u8], &(usize, bool))| {
                if is_block { input.len() == item * len } else { input.len() >= item }
            };
            assert!(inputs.iter().zip(&self.inputs).all(fits), "elements of the chain");
            let mut arguments = Arguments::new(1);
            for (number, input) in inputs.iter().enumerate() {
                arguments.set(number, input.as_ptr(), 0);
            }
            let output = output.as_mut_ptr();
            arguments.set(inputs.len(), output, 0);
            FusedBlock { kernel: self, inputs, output, len, arguments, elements: PhantomData }
        }

        /// Whether the function can compute this many elements.
        fn is_enough(&self, len: usize) -> bool {
            self.isa == Isa::Avx512 || len >= self.lanes
        }

        /// Computes less than a vector of elements, by way of whole vectors.
        fn run_short(&self, inputs: &[&[u8]], output: &mut [u8], mut arguments: Arguments) {
            let mut vectors = [[0u8; MAX_VECTOR]; MAX_BLOCK_INPUTS];
            let mut unused = vectors.iter_mut();
            for (number, (input, &(_, is_block))) in inputs.iter().zip(&self.inputs).enumerate() {
                if is_block && let Some(vector) = unused.next() {
                    // The first element again and again: others might set floating-point flags.
                    let item = input.len() / (output.len() / self.item);
                    vector.chunks_exact_mut(item).for_each(|element| element.copy_from_slice(&input[..item]));
                    vector[..input.len()].copy_from_slice(input);
                    arguments.set(number, vector.as_ptr(), 0);
                }
            }
            let mut result = [0u8; MAX_VECTOR];
            arguments.set(inputs.len(), result.as_mut_ptr(), 0);
            // Safety: a vector has space for as many elements of any size, scalars have one element.
            unsafe { self.run_whole(&mut arguments, self.lanes) };
            output.copy_from_slice(&result[..output.len()]);
        }

        /// Computes rows of elements.
        ///
        /// Each input is given by the address of its first row, or of the scalar of that row, and the distance to the
        /// next one in bytes; so is the output. The last argument is the number of rows and of elements of each.
        ///
        /// # Safety
        ///
        /// There is an address for each input of the chain. In every row, a block and the output have as many
        /// elements, scalars have one. Nothing else accesses the output meanwhile, and no input overlaps it.
        ///
        /// # Panics
        ///
        /// Where there are other inputs than those of the chain.
        pub unsafe fn run_rows(
            &self,
            inputs: impl Iterator<Item = (*const u8, isize)>,
            output: (*mut u8, isize),
            [rows, len]: [usize; 2],
        ) {
            if rows == 0 || len == 0 {
                return;
            }
            let (mut arguments, mut count) = (Arguments::new(rows), 0);
            for (address, stride) in inputs {
                arguments.set(count, address, stride);
                count += 1;
            }
            assert_eq!(count, self.inputs.len(), "the inputs of the chain");
            arguments.set(count, output.0, output.1);
            if self.is_enough(len) {
                // Safety: the caller guarantees it.
                return unsafe { self.run_whole(&mut arguments, len) };
            }
            for row in 0..rows as isize {
                let mut inputs: [&[u8]; MAX_INPUTS] = [&[]; MAX_INPUTS];
                for (number, (input, &(item, is_block))) in inputs.iter_mut().zip(&self.inputs).enumerate() {
                    // Safety: all of these were set; the caller guarantees that the elements exist.
                    *input = unsafe {
                        let (first, stride) = (
                            arguments.addresses[number].assume_init(),
                            arguments.strides[number].assume_init(),
                        );
                        let bytes = if is_block { len * item } else { item };
                        std::slice::from_raw_parts(first.wrapping_offset(row * stride), bytes)
                    };
                }
                // Safety: the caller guarantees it.
                let output = unsafe {
                    std::slice::from_raw_parts_mut(output.0.wrapping_offset(row * output.1), len * self.item)
                };
                self.run(&inputs[..count], output);
            }
        }

        /// # Safety
        ///
        /// The arguments have all inputs and the output. In every row, blocks and the output have `len` elements, which
        /// [are enough](FusedKernel::is_enough), and scalars have one. The start is not behind them.
        unsafe fn run_whole(&self, arguments: &mut Arguments, len: usize) {
            let left = (len - arguments.start) % self.lanes;
            arguments.tail_mask = (1 << left) - 1;
            // Without masks, the last vector of each row again, from where it is whole: inputs do not overlap the output.
            let mut tail = if left == 0 || self.isa == Isa::Avx512 { None } else { Some(*arguments) };
            // Safety: the memory holds a function of this type, which is never changed.
            let function = unsafe { std::mem::transmute::<*const u8, Function>(self.code.as_ptr()) };
            // Safety: the function accesses elements from the start to the end only, and those of the tail mask behind
            // it; the caller guarantees that they exist. It keeps the registers that its calling convention says it
            // must.
            unsafe {
                function(arguments, len - left);
                if let Some(tail) = &mut tail {
                    tail.start = len - self.lanes;
                    function(tail, len);
                }
            }
        }
    }

    /// A block of elements that a fused kernel computes in parts.
    pub struct FusedBlock<'b> {
        kernel: &'b FusedKernel,
        inputs: &'b [&'b [u8]],
        /// Address of `len` elements, which nothing else accesses.
        output: *mut u8,
        len: usize,
        /// Of one row, with the addresses of the inputs and of the output.
        arguments: Arguments,
        elements: PhantomData<&'b mut [u8]>,
    }

    impl FusedBlock<'_> {
        /// Computes the elements from `first` on, up to `end`.
        ///
        /// Elements before `first` are computed again where a vector extends over them. A block with fewer elements than a
        /// vector is computed as a whole.
        ///
        /// # Panics
        ///
        /// Where the block does not have these elements.
        pub fn run(&mut self, first: usize, end: usize) {
            assert!(first <= end && end <= self.len, "elements of the block");
            if !self.kernel.is_enough(end) {
                // The first part: there is no whole vector to compute again.
                let len = if self.kernel.is_enough(self.len) { end } else { self.len };
                return self.run_short(len);
            }
            // The function has counted the row of the part before. Addresses stay: rows are at a distance of 0.
            (self.arguments.rows, self.arguments.start) = (1, first);
            // Safety: blocks and the output have `len` elements, scalars have one.
            unsafe { self.kernel.run_whole(&mut self.arguments, end) };
        }

        fn run_short(&mut self, len: usize) {
            let mut parts: [&[u8]; MAX_INPUTS] = [&[]; MAX_INPUTS];
            for ((part, input), &(item, is_block)) in
                parts.iter_mut().zip(self.inputs).zip(&self.kernel.inputs)
            {
                *part = if is_block { &input[..len * item] } else { input };
            }
            if len > 0 {
                // Safety: there are as many elements or more, which nothing else accesses.
                let output = unsafe { std::slice::from_raw_parts_mut(self.output, len * self.kernel.item) };
                self.kernel.run_short(&parts[..self.inputs.len()], output, self.arguments);
            }
        }
    }

    /// Encodes the loop around a body. `None` if it needs too much of the stack.
    fn encode(body: &Body, isa: Isa, width: ElementWidth, inputs: &[(usize, bool)]) -> Option<Vec<u8>> {
        let mut free = BASES.into_iter();
        let mut bases: Bases =
            inputs.iter().map(|&(_, is_block)| if is_block { free.next() } else { None }).collect();
        // The output comes last.
        bases.push(free.next());
        let used = bases.iter().flatten().count();
        let saved: &[Gpr] = &BASES[VOLATILE_BASES..used.max(VOLATILE_BASES)];
        // Several vectors at a time, whose computations overlap, as far as there are registers for their values and for
        // some scalars. A scalar that has no register of its own is loaded once for all vectors.
        let scalars = body.scalars();
        let is_free = |&vectors: &usize| {
            let interleaved = body.interleaved(vectors);
            let free = isa.registers().checked_sub(interleaved.pressure())?;
            (free >= scalars.min(LOADED_SCALARS)).then_some((interleaved, vectors, free))
        };
        let (interleaved, vectors, free) =
            VECTORS.iter().find_map(is_free).unwrap_or_else(|| (body.interleaved(1), 1, 0));
        let pins = if scalars <= free { scalars } else { free.saturating_sub(LOADED_SCALARS) };
        // The others suffice for the values of one instruction.
        let pins = pins.min(isa.registers() - MAX_FROM);
        let lanes = isa.lanes(width);
        let mut assembler = Assembler::new(isa);
        assembler.enter(saved);
        if isa == Isa::Avx512 {
            assembler.load_tail_mask(offset_of!(Arguments, tail_mask));
        }
        let row = assembler.position();
        assembler.load_field(INDEX, offset_of!(Arguments, start));
        for (number, base) in bases.iter().enumerate() {
            if let Some(base) = *base {
                assembler.load_field(base, address_field(number));
            }
        }
        let mut several = Allocator::new(&interleaved, (isa, width), &bases, pins);
        let mut single = Allocator::new(body, (isa, width), &bases, pins);
        // Scalars have the same registers in both.
        several.load_pinned(&mut assembler);
        let start = assembler.jump();
        let top = assembler.position();
        several.encode(&mut assembler);
        assembler.advance(vectors * lanes);
        assembler.set_target(start);
        assembler.jump_back_while_left(vectors * lanes, top);
        if vectors > 1 {
            let start = assembler.jump();
            let top = assembler.position();
            single.encode(&mut assembler);
            assembler.advance(lanes);
            assembler.set_target(start);
            assembler.jump_back_while_left(lanes, top);
        }
        if isa == Isa::Avx512 {
            let end = assembler.jump_without_tail();
            assembler.set_tail(true);
            single.encode(&mut assembler);
            assembler.set_tail(false);
            assembler.set_target(end);
        }
        for number in 0..bases.len() {
            assembler.load_field(RCX, stride_field(number));
            assembler.add_to_field(address_field(number), RCX);
        }
        assembler.jump_back_while_counted(offset_of!(Arguments, rows), row);
        let slots = several.slots().max(single.slots());
        assembler.leave(saved, slots);
        (slots * isa.vector() <= MAX_FRAME).then(|| assembler.finish())
    }
}
