//! Integer expressions over unknown sizes, such as `floor((H+1)/2)`.
//!
//! An expression is kept in one canonical form, a polynomial, so that equal forms mean equal sizes. Sums and products
//! are expanded; a floor keeps only what its divisor does not divide, and nested floors are joined. The number of
//! parts is limited: an operation whose result would be larger, or overflows, returns `None`.

use crate::error::display_name;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Maximum number of parts of an expression.
const MAX_PARTS: usize = 100;

/// Number of symbols in a set of broadcast sizes that count as one part.
///
/// Chains of broadcasts have large sets of symbols, which must stay comparable.
const SYMBOLS_PER_PART: usize = 4;

/// An unknown size, as an expression of the sizes that a model leaves open.
///
/// Displays as `N`, `2*N+1` or `floor((H+1)/2)`; `M|N` is the common size of `M` and `N`, and `?` has no name.
///
/// ```
/// # let bytes = unishape_onnx::model_builder::add_model();
/// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
/// # let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
/// let unishape_onnx::Dim::Unknown(size) = &z[0] else { panic!() };
/// assert_eq!((size.to_string(), size.full_text()), ("N".into(), "N".into()));
/// # Ok::<(), unishape_onnx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeExpr(Arc<Polynomial>);

/// Sum of terms with different factors, in their order. No coefficient is 0.
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Polynomial {
    terms: Vec<Term>,
    /// Number of parts, to limit the size.
    parts: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Term {
    /// In order; none for the constant term.
    factors: Vec<Atom>,
    coefficient: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Atom {
    /// `dim_param`: the same size in all shapes that use the name.
    Named(Arc<str>),
    /// Size of dimension `dim` of the value with id `value`.
    Anonymous { value: usize, dim: usize },
    /// Integer of unknown sign: element `index` of the value with id `value`.
    Element { value: usize, index: usize },
    /// Quotient, rounded down; the divisor is positive.
    Floor { dividend: SizeExpr, divisor: SizeExpr },
    /// The expression, or 0 if it is negative.
    Positive(SizeExpr),
    /// Common size of several sizes: the one that is not 1, or 1 if all are.
    Common(BTreeSet<SizeExpr>),
}

impl Atom {
    fn parts(&self) -> usize {
        match self {
            Atom::Named(_) | Atom::Anonymous { .. } | Atom::Element { .. } => 1,
            Atom::Floor { dividend, divisor } => 1 + dividend.0.parts + divisor.0.parts,
            Atom::Positive(expr) => 1 + expr.0.parts,
            Atom::Common(members) => {
                let (symbols, others): (Vec<_>, Vec<_>) =
                    members.iter().partition(|member| member.0.parts <= 2);
                let others: usize = others.iter().map(|member| member.0.parts).sum();
                1 + symbols.len().div_ceil(SYMBOLS_PER_PART) + others
            }
        }
    }

    /// Smallest and largest possible value; `None` is unlimited.
    fn bounds(&self) -> (Option<i64>, Option<i64>) {
        match self {
            Atom::Named(_) | Atom::Anonymous { .. } => (Some(0), None),
            Atom::Element { .. } => (None, None),
            Atom::Floor { dividend, divisor } => {
                let (low, high) = dividend.bounds();
                match divisor.constant() {
                    Some(divisor) => {
                        (low.map(|low| low.div_euclid(divisor)), high.map(|high| high.div_euclid(divisor)))
                    }
                    // A negative dividend is rounded to at most -1.
                    None => (low.filter(|low| *low >= 0).map(|_| 0), high.map(|high| high.max(-1))),
                }
            }
            Atom::Positive(expr) => {
                let (low, high) = expr.bounds();
                (Some(low.map_or(0, |low| low.max(0))), high.map(|high| high.max(0)))
            }
            Atom::Common(members) => {
                let lows = members.iter().map(|member| member.bounds().0.unwrap_or(0).max(0));
                (Some(lows.min().unwrap_or(0)), None)
            }
        }
    }
}

impl SizeExpr {
    fn new(mut terms: Vec<Term>) -> Option<SizeExpr> {
        terms.sort_by(|a, b| a.factors.cmp(&b.factors));
        let mut merged: Vec<Term> = Vec::with_capacity(terms.len());
        for term in terms {
            match merged.last_mut() {
                Some(last) if last.factors == term.factors => {
                    last.coefficient = last.coefficient.checked_add(term.coefficient)?;
                }
                _ => merged.push(term),
            }
        }
        merged.retain(|term| term.coefficient != 0);
        let parts = merged.iter().map(|term| 1 + term.factors.iter().map(Atom::parts).sum::<usize>()).sum();
        (parts <= MAX_PARTS).then(|| SizeExpr(Arc::new(Polynomial { terms: merged, parts })))
    }

    pub(crate) fn int(value: i64) -> SizeExpr {
        let terms = if value == 0 { vec![] } else { vec![Term { factors: vec![], coefficient: value }] };
        SizeExpr(Arc::new(Polynomial { parts: terms.len(), terms }))
    }

    fn atom(atom: Atom) -> SizeExpr {
        let parts = 1 + atom.parts();
        let terms = vec![Term { factors: vec![atom], coefficient: 1 }];
        SizeExpr(Arc::new(Polynomial { terms, parts }))
    }

    pub(crate) fn named(name: &str) -> SizeExpr {
        SizeExpr::atom(Atom::Named(name.into()))
    }

    pub(crate) fn anonymous(value: usize, dim: usize) -> SizeExpr {
        SizeExpr::atom(Atom::Anonymous { value, dim })
    }

    pub(crate) fn element(value: usize, index: usize) -> SizeExpr {
        SizeExpr::atom(Atom::Element { value, index })
    }

    /// The value, if it is known.
    pub(crate) fn constant(&self) -> Option<i64> {
        match &self.0.terms[..] {
            [] => Some(0),
            [Term { factors, coefficient }] if factors.is_empty() => Some(*coefficient),
            _ => None,
        }
    }

    /// The factor of a polynomial that is a single factor.
    fn single_atom(&self) -> Option<&Atom> {
        match &self.0.terms[..] {
            [Term { factors, coefficient: 1 }] if factors.len() == 1 => factors.first(),
            _ => None,
        }
    }

    /// Whether the size is a single unknown one without a name.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// # let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
    /// # let unishape_onnx::Dim::Unknown(size) = &z[0] else { panic!() };
    /// assert!(!size.is_anonymous()); // its name is N
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn is_anonymous(&self) -> bool {
        matches!(self.single_atom(), Some(Atom::Anonymous { .. } | Atom::Element { .. }))
    }

    /// Whether a size without a name occurs: the expression is not determined by the inputs' symbols alone.
    pub(crate) fn has_anonymous(&self) -> bool {
        self.any_atom(&|atom| matches!(atom, Atom::Anonymous { .. } | Atom::Element { .. }))
    }

    /// Whether an integer of unknown sign occurs.
    pub(crate) fn has_element(&self) -> bool {
        self.any_atom(&|atom| matches!(atom, Atom::Element { .. }))
    }

    /// Whether an anonymous size of a value with an id of at least `first` occurs.
    pub(crate) fn refers_to_since(&self, first: usize) -> bool {
        self.any_atom(&|atom| match atom {
            Atom::Anonymous { value, .. } | Atom::Element { value, .. } => *value >= first,
            _ => false,
        })
    }

    fn any_atom(&self, test: &dyn Fn(&Atom) -> bool) -> bool {
        self.0.terms.iter().flat_map(|term| &term.factors).any(|atom| {
            test(atom)
                || match atom {
                    Atom::Floor { dividend, divisor } => dividend.any_atom(test) || divisor.any_atom(test),
                    Atom::Positive(expr) => expr.any_atom(test),
                    Atom::Common(members) => members.iter().any(|member| member.any_atom(test)),
                    _ => false,
                }
        })
    }

    pub(crate) fn add(&self, other: &SizeExpr) -> Option<SizeExpr> {
        SizeExpr::new(self.0.terms.iter().chain(&other.0.terms).cloned().collect())
    }

    pub(crate) fn add_int(&self, other: i64) -> Option<SizeExpr> {
        self.add(&SizeExpr::int(other))
    }

    pub(crate) fn mul_int(&self, factor: i64) -> Option<SizeExpr> {
        self.mul(&SizeExpr::int(factor))
    }

    pub(crate) fn sub(&self, other: &SizeExpr) -> Option<SizeExpr> {
        self.add(&other.mul_int(-1)?)
    }

    pub(crate) fn mul(&self, other: &SizeExpr) -> Option<SizeExpr> {
        let mut terms = Vec::new();
        for a in &self.0.terms {
            for b in &other.0.terms {
                let mut factors = [&a.factors[..], &b.factors[..]].concat();
                factors.sort();
                terms.push(Term { factors, coefficient: a.coefficient.checked_mul(b.coefficient)? });
            }
        }
        SizeExpr::new(terms)
    }

    /// Quotient rounded down; `None` unless the divisor is certainly positive.
    pub(crate) fn floor_div(&self, divisor: &SizeExpr) -> Option<SizeExpr> {
        match divisor.constant() {
            Some(divisor) if divisor > 0 => self.floor_div_int(divisor),
            Some(_) => None,
            None => match (self.exact_div(divisor), self.without_common_factors(divisor)) {
                (Some(quotient), _) => Some(quotient),
                (None, Some((dividend, divisor))) => dividend.floor_div(&divisor),
                (None, None) => {
                    let atom = Atom::Floor { dividend: self.clone(), divisor: divisor.clone() };
                    SizeExpr::new(vec![Term { factors: vec![atom], coefficient: 1 }])
                }
            },
        }
    }

    /// Dividend and divisor without a factor that both have; `None` if there is none.
    fn without_common_factors(&self, divisor: &SizeExpr) -> Option<(SizeExpr, SizeExpr)> {
        let [by] = &divisor.0.terms[..] else { return None };
        let factor = by.factors.iter().map(|atom| SizeExpr::atom(atom.clone()));
        factor.into_iter().find_map(|factor| Some((self.exact_div(&factor)?, divisor.exact_div(&factor)?)))
    }

    /// Quotient rounded up.
    pub(crate) fn ceil_div_int(&self, divisor: i64) -> Option<SizeExpr> {
        self.add_int(divisor.checked_sub(1)?)?.floor_div_int(divisor)
    }

    pub(crate) fn floor_div_int(&self, divisor: i64) -> Option<SizeExpr> {
        if divisor < 1 {
            return None;
        }
        // Whole multiples of the divisor leave the floor.
        let (mut whole, mut rest) = (Vec::new(), Vec::new());
        for term in &self.0.terms {
            let (quotient, remainder) =
                (term.coefficient.div_euclid(divisor), term.coefficient.rem_euclid(divisor));
            whole.push(Term { coefficient: quotient, ..term.clone() });
            rest.push(Term { coefficient: remainder, ..term.clone() });
        }
        let (whole, rest) = (SizeExpr::new(whole)?, SizeExpr::new(rest)?);
        if rest.constant().is_some() {
            return Some(whole);
        }
        // floor((g·a + c) / (g·m)) = floor((a + floor(c/g)) / m)
        let common = rest.0.terms.iter().filter(|term| !term.factors.is_empty());
        let common = common.fold(divisor, |common, term| gcd(common, term.coefficient));
        let reduced = rest.0.terms.iter().map(|term| Term {
            coefficient: term.coefficient.div_euclid(common),
            factors: term.factors.clone(),
        });
        let (rest, divisor) = (SizeExpr::new(reduced.collect())?, divisor / common);
        if divisor == 1 {
            return whole.add(&rest);
        }
        // floor((floor(a/m) + c) / n) = floor((a + c·m) / (m·n))
        let constant = rest.0.terms.iter().find(|term| term.factors.is_empty());
        let constant = constant.map_or(0, |term| term.coefficient);
        let inner = rest.add_int(constant.checked_neg()?)?;
        if let Some(Atom::Floor { dividend, divisor: inner }) = inner.single_atom()
            && let Some(inner) = inner.constant()
        {
            let joined = dividend.add_int(constant.checked_mul(inner)?)?;
            return whole.add(&joined.floor_div_int(inner.checked_mul(divisor)?)?);
        }
        let atom = Atom::Floor { dividend: rest, divisor: SizeExpr::int(divisor) };
        whole.add(&SizeExpr::new(vec![Term { factors: vec![atom], coefficient: 1 }])?)
    }

    /// Quotient, if the divisor is a single term that divides every term.
    fn exact_div(&self, divisor: &SizeExpr) -> Option<SizeExpr> {
        let [by] = &divisor.0.terms[..] else {
            // The same sum, a number of times.
            let (a, b) = (self.0.terms.first()?, divisor.0.terms.first()?);
            let factor = a.coefficient.checked_div(b.coefficient)?;
            return (divisor.mul_int(factor)? == *self).then(|| SizeExpr::int(factor));
        };
        let quotient = self.0.terms.iter().map(|term| {
            if term.coefficient.checked_rem(by.coefficient)? != 0 {
                return None;
            }
            let mut factors = term.factors.clone();
            for factor in &by.factors {
                factors.remove(factors.iter().position(|each| each == factor)?);
            }
            Some(Term { factors, coefficient: term.coefficient.checked_div(by.coefficient)? })
        });
        SizeExpr::new(quotient.collect::<Option<_>>()?)
    }

    /// The expression, or 0 if it is negative.
    pub(crate) fn positive(&self) -> Option<SizeExpr> {
        match self.bounds() {
            (Some(low), _) if low >= 0 => Some(self.clone()),
            (_, Some(high)) if high <= 0 => Some(SizeExpr::int(0)),
            _ => {
                let atom = Atom::Positive(self.clone());
                SizeExpr::new(vec![Term { factors: vec![atom], coefficient: 1 }])
            }
        }
    }

    pub(crate) fn smaller(&self, other: &SizeExpr) -> Option<SizeExpr> {
        self.sub(&self.sub(other)?.positive()?)
    }

    pub(crate) fn larger(&self, other: &SizeExpr) -> Option<SizeExpr> {
        other.add(&self.sub(other)?.positive()?)
    }

    /// Smallest and largest possible value, as far as they are known.
    pub(crate) fn bounds(&self) -> (Option<i64>, Option<i64>) {
        let mut total = (Some(0i64), Some(0i64));
        for term in &self.0.terms {
            let mut product = (Some(1i64), Some(1i64));
            for factor in &term.factors {
                let (low, high) = factor.bounds();
                if low.is_none_or(|low| low < 0) && term.factors.len() > 1 {
                    return (None, None);
                }
                let both = |a: Option<i64>, b: Option<i64>| a?.checked_mul(b?);
                product = (both(product.0, low), both(product.1, high));
            }
            let scaled = |bound: Option<i64>| bound?.checked_mul(term.coefficient);
            let (low, high) = match term.coefficient > 0 {
                true => (scaled(product.0), scaled(product.1)),
                false => (scaled(product.1), scaled(product.0)),
            };
            let both = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
            total = (both(total.0, low), both(total.1, high));
        }
        total
    }

    /// Whether two expressions have different values whatever the unknown sizes are.
    pub(crate) fn certainly_differs(&self, other: &SizeExpr) -> bool {
        let Some(difference) = self.sub(other) else { return false };
        let (low, high) = difference.bounds();
        if low.is_some_and(|low| low > 0) || high.is_some_and(|high| high < 0) {
            return true;
        }
        let (mut common, mut constant) = (0, 0);
        for term in &difference.0.terms {
            match term.factors.is_empty() {
                true => constant = term.coefficient,
                false => common = gcd(common, term.coefficient),
            }
        }
        match common {
            0 => constant != 0,
            _ => constant % common != 0,
        }
    }

    /// Common size of two sizes that are broadcast; the larger set if one contains the other.
    pub(crate) fn broadcast_with(&self, other: &SizeExpr) -> SizeExpr {
        let (a, b) = (self.broadcast_members(), other.broadcast_members());
        match () {
            _ if a.is_superset(&b) => self.clone(),
            _ if b.is_superset(&a) => other.clone(),
            _ => SizeExpr::atom(Atom::Common(a.union(&b).cloned().collect())),
        }
    }

    fn broadcast_members(&self) -> BTreeSet<SizeExpr> {
        match self.single_atom() {
            Some(Atom::Common(members)) => members.clone(),
            _ => BTreeSet::from([self.clone()]),
        }
    }

    /// Whether the size is within its limit, which only [`broadcast_with`](Self::broadcast_with) exceeds.
    pub(crate) fn is_within_limit(&self) -> bool {
        self.0.parts <= MAX_PARTS
    }

    /// Text with whole names and distinct names of anonymous sizes, such as `?12.0`.
    ///
    /// [`Display`](fmt::Display) shortens long names, and gives all anonymous sizes the name `?`.
    ///
    /// ```
    /// # let bytes = unishape_onnx::model_builder::add_model();
    /// # let inference = unishape_onnx::infer_shapes(&unishape_onnx::Model::read(&bytes)?);
    /// # let z = inference.value("z").and_then(|z| z.shape()).expect("a shape");
    /// # let unishape_onnx::Dim::Unknown(size) = &z[0] else { panic!() };
    /// assert_eq!(size.full_text(), "N");
    /// # Ok::<(), unishape_onnx::Error>(())
    /// ```
    pub fn full_text(&self) -> String {
        self.text(true)
    }

    fn text(&self, is_full: bool) -> String {
        // The constant comes last.
        let (constants, others): (Vec<&Term>, Vec<&Term>) =
            self.0.terms.iter().partition(|term| term.factors.is_empty());
        let mut text = String::new();
        // A positive term first, to avoid a leading minus sign.
        let mut ordered: Vec<&Term> = others.into_iter().chain(constants).collect();
        if let Some(first) = ordered.iter().position(|term| term.coefficient > 0) {
            let first = ordered.remove(first);
            ordered.insert(0, first);
        }
        for term in ordered {
            let sign = if term.coefficient < 0 { "-" } else { "+" };
            if !text.is_empty() || sign == "-" {
                text.push_str(sign);
            }
            let mut factors: Vec<String> = term.factors.iter().map(|atom| atom_text(atom, is_full)).collect();
            if term.coefficient.unsigned_abs() != 1 || factors.is_empty() {
                factors.insert(0, term.coefficient.unsigned_abs().to_string());
            }
            // Between factors, a set needs parentheses.
            let is_set = |atom: &Atom| matches!(atom, Atom::Common(_));
            if (factors.len() > 1 || self.0.terms.len() > 1) && term.factors.iter().any(is_set) {
                for (text, atom) in factors.iter_mut().rev().zip(term.factors.iter().rev()) {
                    if is_set(atom) {
                        *text = format!("({text})");
                    }
                }
            }
            text.push_str(&factors.join("*"));
        }
        if text.is_empty() { "0".into() } else { text }
    }
}

fn atom_text(atom: &Atom, is_full: bool) -> String {
    // Sums and sets are in parentheses, and products after the bar.
    let in_quotient = |expr: &SizeExpr, is_divisor: bool| {
        let text = expr.text(is_full);
        let needs_parentheses = match &expr.0.terms[..] {
            [Term { factors, coefficient }] => {
                matches!((&factors[..], coefficient), ([Atom::Common(_)], 1))
                    || is_divisor && factors.len() + usize::from(*coefficient != 1) > 1
            }
            terms => terms.len() > 1,
        };
        if needs_parentheses { format!("({text})") } else { text }
    };
    match atom {
        Atom::Named(name) if is_full => name.to_string(),
        Atom::Named(name) => display_name(name),
        Atom::Anonymous { value, dim: index } | Atom::Element { value, index } if is_full => {
            format!("?{value}.{index}")
        }
        Atom::Anonymous { .. } | Atom::Element { .. } => "?".into(),
        Atom::Floor { dividend, divisor } => {
            format!("floor({}/{})", in_quotient(dividend, false), in_quotient(divisor, true))
        }
        Atom::Positive(expr) => format!("max({},0)", expr.text(is_full)),
        Atom::Common(members) => {
            let texts: BTreeSet<String> = members.iter().map(|member| member.text(is_full)).collect();
            texts.into_iter().collect::<Vec<_>>().join("|")
        }
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

/// The expression, with long names shortened and `?` for anonymous sizes.
impl fmt::Display for SizeExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn n() -> SizeExpr {
        SizeExpr::named("N")
    }

    #[test]
    fn canonical_forms() {
        let half = n().add_int(1).and_then(|expr| expr.floor_div_int(2)).expect("in limits");
        assert_eq!(half.to_string(), "floor((N+1)/2)");
        // Half of a half is a quarter.
        let quarter = half.floor_div_int(2).expect("in limits");
        assert_eq!(quarter.to_string(), "floor((N+1)/4)");
        let even = n().mul_int(4).and_then(|expr| expr.add_int(6)).expect("in limits");
        assert_eq!(even.floor_div_int(2).expect("in limits").to_string(), "2*N+3");
        assert_eq!(n().mul(&n()).and_then(|square| square.floor_div(&n())), Some(n()));
        assert_eq!(n().sub(&n()).and_then(|zero| zero.constant()), Some(0));
        // Factors that dividend and divisor share are left out, and a divisor of several is in parentheses.
        let (m, twice) = (SizeExpr::named("M"), n().mul_int(2).expect("in limits"));
        let product = m.mul(&n()).expect("in limits");
        assert_eq!(product.floor_div(&twice).expect("in limits").to_string(), "floor(M/2)");
        assert_eq!(m.floor_div(&twice).expect("in limits").to_string(), "floor(M/(2*N))");
        assert_eq!(m.floor_div(&n()).expect("in limits").to_string(), "floor(M/N)");
        let common = m.broadcast_with(&n());
        assert_eq!(common.floor_div_int(2).expect("in limits").to_string(), "floor((M|N)/2)");
        assert_eq!(twice.floor_div(&common).expect("in limits").to_string(), "floor(2*N/(M|N))");
        assert_eq!(SizeExpr::int(5).smaller(&SizeExpr::int(3)), Some(SizeExpr::int(3)));
    }

    #[test]
    fn sizes_without_a_name_are_anonymous() {
        let (dim, element) = (SizeExpr::anonymous(4, 1), SizeExpr::element(5, 2));
        assert!(dim.is_anonymous() && element.is_anonymous());
        let more = dim.add_int(1).expect("in limits");
        for other in [n(), SizeExpr::int(3), more.clone(), dim.mul_int(2).expect("in limits")] {
            assert!(!other.is_anonymous(), "{other}");
        }
        // Only the full text tells them apart, and has long names in full.
        assert_eq!([&dim, &element, &more].map(SizeExpr::to_string), ["?", "?", "?+1"]);
        assert_eq!([&dim, &element, &more].map(SizeExpr::full_text), ["?4.1", "?5.2", "?4.1+1"]);
        let long = "size".repeat(100);
        let named = SizeExpr::named(&long);
        assert_eq!(named.full_text(), long);
        assert!(named.to_string().len() < long.len());
    }

    #[test]
    fn differences() {
        let two = SizeExpr::int(2);
        assert!(n().mul_int(2).is_some_and(|even| even.certainly_differs(&SizeExpr::int(1))));
        assert!(n().add_int(2).is_some_and(|more| more.certainly_differs(&SizeExpr::int(1))));
        assert!(!n().certainly_differs(&two) && !two.certainly_differs(&two));
        assert!(n().certainly_differs(&SizeExpr::int(-1)));
        assert!(!SizeExpr::element(0, 0).certainly_differs(&SizeExpr::int(-1)));
        // floor(-5/M) is -1 for M of at least 5.
        let quotient = SizeExpr::int(-5).floor_div(&SizeExpr::named("M"));
        assert!(quotient.is_some_and(|quotient| !quotient.certainly_differs(&SizeExpr::int(-1))));
    }

    #[test]
    fn sizes_are_limited() {
        let mut sum = n();
        for index in 0..100 {
            match sum.add(&SizeExpr::anonymous(index, 0)) {
                Some(next) => sum = next,
                None => return,
            }
        }
        panic!("no limit");
    }

    /// Computes an expression of `N` and the same with numbers.
    fn apply(steps: &[(u8, i64)], size: i64) -> Option<(SizeExpr, i64)> {
        let (mut expr, mut value) = (n(), size);
        for &(step, number) in steps {
            (expr, value) = match step % 6 {
                0 => (expr.add_int(number)?, value + number),
                1 => (expr.mul_int(number)?, value * number),
                2 => (expr.floor_div_int(number.abs() + 1)?, value.div_euclid(number.abs() + 1)),
                3 => (expr.positive()?, value.max(0)),
                4 => (expr.smaller(&n().add_int(number)?)?, value.min(size + number)),
                _ => (expr.add(&n())?, value + size),
            };
        }
        Some((expr, value))
    }

    /// Value of an expression of `N`.
    fn evaluate(expr: &SizeExpr, size: i64) -> i64 {
        let atom = |atom: &Atom| match atom {
            Atom::Floor { dividend, divisor } => evaluate(dividend, size).div_euclid(evaluate(divisor, size)),
            Atom::Positive(expr) => evaluate(expr, size).max(0),
            _ => size,
        };
        let terms = expr.0.terms.iter();
        terms.map(|term| term.factors.iter().map(atom).product::<i64>() * term.coefficient).sum()
    }

    proptest! {
        #[test]
        fn canonical_forms_keep_the_value(
            steps in prop::collection::vec((0u8..6, -7i64..8), 0..7), size in 0i64..50
        ) {
            if let Some((expr, value)) = apply(&steps, size) {
                prop_assert_eq!(evaluate(&expr, size), value, "{}", expr);
                let (low, high) = expr.bounds();
                prop_assert!(low.is_none_or(|low| low <= value) && high.is_none_or(|high| value <= high));
            }
        }
    }
}
