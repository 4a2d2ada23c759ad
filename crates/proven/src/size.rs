//! Bindings to the programs of core_size.mlw: the rule for one dimension.

use crate::Rules;
use std::ffi::c_int;
use unishape_core::Extent;

/// The C representation of [`Extent`]: a kind, and the size if it is known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExtentRecord {
    kind: i32,
    size: usize,
}

impl From<Extent> for ExtentRecord {
    fn from(extent: Extent) -> ExtentRecord {
        match extent {
            Extent::Known(size) => ExtentRecord { kind: 0, size },
            Extent::Unknown => ExtentRecord { kind: 1, size: 0 },
            Extent::Positive => ExtentRecord { kind: 2, size: 0 },
        }
    }
}

impl From<ExtentRecord> for Extent {
    fn from(ExtentRecord { kind, size }: ExtentRecord) -> Extent {
        match kind {
            0 => Extent::Known(size),
            1 => Extent::Unknown,
            2 => Extent::Positive,
            _ => panic!("the programs have no extent of kind {kind}"),
        }
    }
}

/// The C representation of an optional size.
#[repr(C)]
struct OptionRecord<C> {
    ok: c_int,
    size: C,
}

impl<C> OptionRecord<C> {
    fn option<S: From<C>>(self) -> Option<S> {
        (self.ok != 0).then(|| self.size.into())
    }
}

unsafe extern "C" {
    safe fn core_broadcast_dim(rules: Rules, a: usize, b: usize) -> OptionRecord<usize>;
    safe fn common_usize_join(rules: Rules, a: usize, b: usize) -> OptionRecord<usize>;
    safe fn core_join_unknown(rules: Rules, size: usize, other: ExtentRecord) -> OptionRecord<ExtentRecord>;
    safe fn core_join_extents(rules: Rules, a: ExtentRecord, b: ExtentRecord) -> OptionRecord<ExtentRecord>;
}

/// `broadcast_dim`.
pub fn broadcast_dim(rules: Rules, a: usize, b: usize) -> Option<usize> {
    core_broadcast_dim(rules, a, b).option()
}

/// `Size::join` of `usize`.
pub fn join_known(rules: Rules, a: usize, b: usize) -> Option<usize> {
    common_usize_join(rules, a, b).option()
}

/// `join_unknown`, where `unknown` must not be `Extent::Known`.
pub fn join_unknown(rules: Rules, size: usize, unknown: Extent) -> Option<Extent> {
    assert!(!matches!(unknown, Extent::Known(_)), "the program requires an unknown extent");
    core_join_unknown(rules, size, unknown.into()).option()
}

/// `Size::join` of `Extent`.
pub fn join_extents(rules: Rules, a: Extent, b: Extent) -> Option<Extent> {
    core_join_extents(rules, a.into(), b.into()).option()
}
