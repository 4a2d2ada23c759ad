//! Instruction set extensions that fused kernels are compiled for.

use crate::chain::ElementWidth;

/// An instruction set extension with vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isa {
    /// AVX2 and F16C: 16 registers of 256 bits.
    Avx2,
    /// AVX-512 F, BW, DQ and VL: 32 registers of 512 bits, and masks for the last elements of a row.
    Avx512,
}

impl Isa {
    /// All of them that this CPU has.
    pub(crate) fn available() -> impl DoubleEndedIterator<Item = Isa> {
        let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("f16c");
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        [(Isa::Avx2, has_avx2), (Isa::Avx512, has_avx2 && has_avx512)]
            .into_iter()
            .filter_map(|(isa, is_available)| is_available.then_some(isa))
    }

    /// The one that kernels are compiled for; `None` if this CPU has none.
    pub(crate) fn preferred() -> Option<Isa> {
        // CPUs before Ice Lake and Zen 4, which lack VBMI2, run at a lower frequency for some time after wide vectors.
        let is_wide_free = is_x86_feature_detected!("avx512vbmi2");
        Isa::available().rfind(|&isa| isa != Isa::Avx512 || is_wide_free)
    }

    /// Bytes of a vector.
    pub(crate) const fn vector(self) -> usize {
        match self {
            Isa::Avx2 => 32,
            Isa::Avx512 => 64,
        }
    }

    /// Elements of a vector.
    pub(crate) const fn lanes(self, width: ElementWidth) -> usize {
        self.vector() / width.bytes()
    }

    /// Number of vector registers.
    pub(crate) const fn registers(self) -> usize {
        match self {
            Isa::Avx2 => 16,
            Isa::Avx512 => MAX_REGISTERS,
        }
    }
}

/// Most vector registers of any of them.
pub(crate) const MAX_REGISTERS: usize = 32;

/// Bytes of the widest vector.
pub(crate) const MAX_VECTOR: usize = Isa::Avx512.vector();
