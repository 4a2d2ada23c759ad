//! The CPU's floating-point flags, which its instructions set where results are exceptional.

#![allow(unsafe_code)]

use std::ops::BitOr;

/// Exceptional results of floating-point operations, as bits.
///
/// The bits are those of NumPy's `errcall`.
///
/// ```
/// use unishape_simd::FloatFlags;
///
/// let flags = FloatFlags::DIVIDE | FloatFlags::INVALID;
/// assert!(flags.has(FloatFlags::DIVIDE) && !flags.has(FloatFlags::OVERFLOW));
/// assert_eq!(flags.bits(), 9);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FloatFlags(u8);

impl FloatFlags {
    /// None of them.
    pub const NONE: FloatFlags = FloatFlags(0);
    /// An infinite result of finite numbers: a division by 0, `log(0)`.
    pub const DIVIDE: FloatFlags = FloatFlags(1);
    /// A result that is too large.
    pub const OVERFLOW: FloatFlags = FloatFlags(2);
    /// A NaN that no argument was, or an integer that its dtype cannot hold.
    pub const INVALID: FloatFlags = FloatFlags(8);

    /// Whether all of these are set.
    ///
    /// ```
    /// # use unishape_simd::FloatFlags;
    /// assert!(FloatFlags::INVALID.has(FloatFlags::NONE));
    /// ```
    pub const fn has(self, flags: FloatFlags) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// The bits: 1, 2 and 8.
    ///
    /// ```
    /// # use unishape_simd::FloatFlags;
    /// assert_eq!(FloatFlags::OVERFLOW.bits(), 2);
    /// ```
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The flags with these bits.
    ///
    /// ```
    /// # use unishape_simd::FloatFlags;
    /// assert_eq!(FloatFlags::from_bits(3), FloatFlags::DIVIDE | FloatFlags::OVERFLOW);
    /// ```
    pub const fn from_bits(bits: u8) -> FloatFlags {
        FloatFlags(bits & (FloatFlags::DIVIDE.0 | FloatFlags::OVERFLOW.0 | FloatFlags::INVALID.0))
    }
}

impl BitOr for FloatFlags {
    type Output = FloatFlags;

    fn bitor(self, other: FloatFlags) -> FloatFlags {
        FloatFlags(self.0 | other.0)
    }
}

/// Which bit of the CPU's register has which flag.
#[cfg(target_arch = "x86_64")]
const BITS: [(u64, FloatFlags); 3] =
    [(1, FloatFlags::INVALID), (4, FloatFlags::DIVIDE), (8, FloatFlags::OVERFLOW)];
#[cfg(target_arch = "aarch64")]
const BITS: [(u64, FloatFlags); 3] =
    [(1, FloatFlags::INVALID), (2, FloatFlags::DIVIDE), (4, FloatFlags::OVERFLOW)];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const BITS: [(u64, FloatFlags); 0] = [];

const MASK: u64 = {
    let (mut mask, mut bit) = (0, 0);
    while bit < BITS.len() {
        mask |= BITS[bit].0;
        bit += 1;
    }
    mask
};

/// The flags that instructions of this thread have set since they were cleared.
///
/// Compilers move floating-point operations across this call, unless they are in a function that is called by pointer.
/// On other CPUs than x86-64 and ARM, there are none.
///
/// ```
/// use std::hint::black_box;
/// use unishape_simd::{FloatFlags, float_flags, set_float_flags};
///
/// let divide: fn(f64, f64) -> f64 = |a, b| a / b;
/// set_float_flags(FloatFlags::NONE);
/// assert_eq!(float_flags(), FloatFlags::NONE);
/// let _ = black_box(black_box(divide)(1.0, 0.0));
/// if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
///     assert_eq!(float_flags(), FloatFlags::DIVIDE);
/// }
/// set_float_flags(FloatFlags::NONE);
/// ```
#[inline]
pub fn float_flags() -> FloatFlags {
    let bits = register();
    if bits & MASK == 0 {
        return FloatFlags::NONE;
    }
    BITS.iter().filter(|(bit, _)| bits & bit != 0).fold(FloatFlags::NONE, |flags, &(_, flag)| flags | flag)
}

/// Sets these flags, and clears the others.
///
/// ```
/// use unishape_simd::{FloatFlags, float_flags, set_float_flags};
///
/// let before = float_flags();
/// set_float_flags(FloatFlags::OVERFLOW);
/// set_float_flags(before);
/// assert_eq!(float_flags(), before);
/// ```
#[inline]
pub fn set_float_flags(flags: FloatFlags) {
    let bits = BITS.iter().filter(|(_, flag)| flags.has(*flag)).fold(0, |bits, (bit, _)| bits | bit);
    let before = register();
    // Writing takes longer than reading.
    if before & MASK != bits {
        set_register(before & !MASK | bits);
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn register() -> u64 {
    let mut bits = 0u32;
    // Safety: the instruction stores MXCSR, which every CPU of the target has, to these four bytes.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut bits, options(nostack, preserves_flags)) };
    bits.into()
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn set_register(bits: u64) {
    let bits = bits as u32;
    // Safety: only flags differ from what the instruction of `register` stored, so that rounding and exceptions stay
    // as they are.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const bits, options(nostack, preserves_flags)) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn register() -> u64 {
    let bits: u64;
    // Safety: every CPU of the target has this register.
    unsafe { std::arch::asm!("mrs {}, fpsr", out(reg) bits, options(nostack, preserves_flags)) };
    bits
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn set_register(bits: u64) {
    // Safety: only flags differ from what `register` read.
    unsafe { std::arch::asm!("msr fpsr, {}", in(reg) bits, options(nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn register() -> u64 {
    0
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn set_register(_: u64) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;

    /// The flags that a function of two numbers sets.
    fn raised(function: fn(f64, f64) -> f64, a: f64, b: f64) -> FloatFlags {
        set_float_flags(FloatFlags::NONE);
        black_box(black_box(function)(black_box(a), black_box(b)));
        let flags = float_flags();
        set_float_flags(FloatFlags::NONE);
        flags
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn instructions_set_flags() {
        assert_eq!(raised(|a, b| a / b, 1.0, 3.0), FloatFlags::NONE);
        assert_eq!(raised(|a, b| a / b, 1.0, 0.0), FloatFlags::DIVIDE);
        assert_eq!(raised(|a, b| a / b, 0.0, 0.0), FloatFlags::INVALID);
        assert_eq!(raised(|a, b| a * b, 1e200, 1e200), FloatFlags::OVERFLOW);
        assert_eq!(raised(|a, b| a + b, f64::NAN, 1.0), FloatFlags::NONE);
        assert_eq!(raised(|a, b| a - b, f64::INFINITY, f64::INFINITY), FloatFlags::INVALID);
    }

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn flags_that_are_set_are_read() {
        for bits in 0..16 {
            let flags = FloatFlags::from_bits(bits);
            set_float_flags(flags);
            let read = float_flags();
            set_float_flags(FloatFlags::NONE);
            assert_eq!(read, flags);
        }
    }
}
