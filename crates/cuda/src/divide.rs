//! Division by multiplication: divisors are arguments of kernels, and integer division is slow on GPUs.

/// Multiplier and shift that divide any number below 2³¹: `(((n * multiplier) >> 32) + n) >> shift`.
///
/// `divisor` is at least 1 and less than 2³¹.
pub(crate) fn magic(divisor: u32) -> (u32, u32) {
    let shift = 32 - (divisor - 1).leading_zeros();
    let multiplier = ((1u64 << 32) * ((1u64 << shift) - u64::from(divisor))) / u64::from(divisor) + 1;
    (multiplier as u32, shift)
}

#[cfg(test)]
mod tests {
    use super::magic;

    #[test]
    fn quotients_are_those_of_division() {
        let limit = (1u32 << 31) - 1;
        let near = |n: u32| [n.saturating_sub(1), n, n.saturating_add(1).min(limit)];
        let some = (0..31).flat_map(|bits| near(1 << bits)).chain([3, 5, 7, 14, 100, 641, 24_000, limit]);
        for divisor in some.clone().filter(|&divisor| divisor > 0) {
            let (multiplier, shift) = magic(divisor);
            let multiples = (1..50).filter_map(|times| divisor.checked_mul(times)).filter(|&n| n <= limit);
            for n in some.clone().chain(multiples.flat_map(near)).chain(near(limit)) {
                let high = ((u64::from(n) * u64::from(multiplier)) >> 32) as u32;
                assert_eq!((high + n) >> shift, n / divisor, "{n} / {divisor}");
            }
        }
    }
}
