//! Large work cut into pieces that several threads do.

use super::plan::Plan;

/// Below this many bytes read and written, a second thread costs more than it saves.
pub(crate) const WORTH_A_THREAD: usize = 1 << 20;

/// Does the work of a plan, in tiles where that helps, and in parallel where it is large. `bytes` are those
/// read and written for one element.
#[inline]
pub(crate) fn in_pieces(plan: Plan, bytes: usize, work: &(impl Fn(&Plan) + Sync)) {
    if plan.len().saturating_mul(bytes) <= WORTH_A_THREAD {
        return work(&plan);
    }
    for plan in plan.tiled() {
        split(plan, WORTH_A_THREAD / bytes.max(1), work);
    }
}

/// Halves the work until a piece has so few elements.
fn split(plan: Plan, few: usize, work: &(impl Fn(&Plan) + Sync)) {
    match plan.halves(64) {
        Some((first, second)) if plan.len() > few => {
            rayon::join(|| split(first, few, work), || split(second, few, work));
        }
        _ => work(&plan),
    }
}
