//! Rule sets: standard (Array API, NumPy, ONNX), SONNX, and strict rank.

/// A rule set. Start from [`Rules::STANDARD`] or [`Rules::SONNX`].
///
/// ```
/// use unishape_core::{Rules, broadcast_dim};
///
/// assert_eq!(broadcast_dim(Rules::STANDARD, 0, 1), Some(0));
/// assert_eq!(broadcast_dim(Rules::SONNX, 0, 1), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    zero_from_one: bool,
    equal_ranks: bool,
    least_inputs: usize,
    most_inputs: usize,
}

impl Rules {
    /// The rules of the Array API, NumPy and ONNX; the default.
    ///
    /// A size of 1 stretches to any size, including 0. No inputs give the shape `()`.
    ///
    /// ```
    /// use unishape_core::{Rules, broadcast_dim};
    ///
    /// assert_eq!(Rules::STANDARD, Rules::default());
    /// assert_eq!(broadcast_dim(Rules::STANDARD, 1, 0), Some(0));
    /// ```
    pub const STANDARD: Rules =
        Rules { zero_from_one: true, equal_ranks: false, least_inputs: 0, most_inputs: usize::MAX };

    /// The literal text of SONNX, the working group for a safety-related ONNX profile.
    ///
    /// The common size is the *maximum*, so sizes 0 and 1 are incompatible (E1). There are at least
    /// 1 and at most 2³¹−1 inputs.
    ///
    /// ```
    /// use unishape_core::{Rules, broadcast_dim};
    ///
    /// assert_eq!(broadcast_dim(Rules::SONNX, 1, 0), None);
    /// assert_eq!(broadcast_dim(Rules::SONNX, 1, 4), Some(4));
    /// ```
    pub const SONNX: Rules =
        Rules { zero_from_one: false, equal_ranks: false, least_inputs: 1, most_inputs: 0x7fff_ffff };

    /// The same rules, but shapes of unequal rank are an error, including rank 0.
    ///
    /// So `(n, 1)` with `(n)` is an error instead of silently giving `(n, n)`.
    ///
    /// ```
    /// use unishape_core::{Common, FoldError, Rules};
    ///
    /// let (mut sizes, mut from) = ([0; 2], [0; 2]);
    /// let mut common = Common::new(Rules::STANDARD.strict_rank(), &mut sizes, &mut from);
    /// common.push(&[3, 1])?;
    /// assert_eq!(common.push(&[3]), Err(FoldError::UnequalRank { first: 2, input: 1, rank: 1 }));
    /// # Ok::<(), FoldError>(())
    /// ```
    #[must_use]
    pub const fn strict_rank(self) -> Rules {
        Rules { equal_ranks: true, ..self }
    }

    /// Whether a size of 1 stretches to `size`.
    ///
    /// ```
    /// use unishape_core::Rules;
    ///
    /// assert!(Rules::STANDARD.stretches_to(0));
    /// assert!(!Rules::SONNX.stretches_to(0));
    /// assert!(Rules::SONNX.stretches_to(7));
    /// ```
    #[inline(always)]
    pub const fn stretches_to(self, size: usize) -> bool {
        self.zero_from_one || size != 0
    }

    /// Whether shapes of unequal rank are an error.
    ///
    /// ```
    /// use unishape_core::Rules;
    ///
    /// assert!(!Rules::STANDARD.is_strict_rank());
    /// assert!(Rules::STANDARD.strict_rank().is_strict_rank());
    /// ```
    #[inline(always)]
    pub const fn is_strict_rank(self) -> bool {
        self.equal_ranks
    }

    /// The smallest number of inputs allowed.
    ///
    /// ```
    /// use unishape_core::Rules;
    ///
    /// assert_eq!(Rules::STANDARD.min_inputs(), 0);
    /// assert_eq!(Rules::SONNX.min_inputs(), 1);
    /// ```
    #[inline(always)]
    pub const fn min_inputs(self) -> usize {
        self.least_inputs
    }

    /// The largest number of inputs allowed.
    ///
    /// ```
    /// use unishape_core::Rules;
    ///
    /// assert_eq!(Rules::SONNX.max_inputs(), (1 << 31) - 1);
    /// ```
    #[inline(always)]
    pub const fn max_inputs(self) -> usize {
        self.most_inputs
    }
}

impl Default for Rules {
    /// [`Rules::STANDARD`].
    fn default() -> Rules {
        Rules::STANDARD
    }
}
