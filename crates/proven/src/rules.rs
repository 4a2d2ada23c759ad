//! Bindings to the programs of core_rules.mlw.

use std::ffi::c_int;

/// The C representation of a rule set.
///
/// Only the programs create one, so that its fields satisfy the proven contracts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    zero_from_one: c_int,
    equal_ranks: c_int,
    least_inputs: usize,
    most_inputs: usize,
}

unsafe extern "C" {
    safe fn core_standard() -> Rules;
    safe fn core_sonnx() -> Rules;
    safe fn core_strict_rank(rules: Rules) -> Rules;
    safe fn core_stretches_to(rules: Rules, size: usize) -> c_int;
    safe fn core_is_strict_rank(rules: Rules) -> c_int;
    safe fn core_min_inputs(rules: Rules) -> usize;
    safe fn core_max_inputs(rules: Rules) -> usize;
}

impl Rules {
    /// `Rules::STANDARD`.
    pub fn standard() -> Rules {
        core_standard()
    }

    /// `Rules::SONNX`.
    pub fn sonnx() -> Rules {
        core_sonnx()
    }

    /// `Rules::strict_rank`.
    #[must_use]
    pub fn strict_rank(self) -> Rules {
        core_strict_rank(self)
    }

    /// `Rules::stretches_to`.
    pub fn stretches_to(self, size: usize) -> bool {
        core_stretches_to(self, size) != 0
    }

    /// `Rules::is_strict_rank`.
    pub fn is_strict_rank(self) -> bool {
        core_is_strict_rank(self) != 0
    }

    /// `Rules::min_inputs`.
    pub fn min_inputs(self) -> usize {
        core_min_inputs(self)
    }

    /// `Rules::max_inputs`.
    pub fn max_inputs(self) -> usize {
        core_max_inputs(self)
    }
}
