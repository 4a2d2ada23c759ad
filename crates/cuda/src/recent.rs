//! The most recent plans of an expression, by the values that they are for.

use crate::value::{ArrayType, Numerics, Variable};
use std::fmt;
use std::sync::{Arc, Mutex, TryLockError};
use unishape_kernels::{DType, Scalar};

/// Most plans of an expression.
const MAX_PLANS: usize = 16;

/// The most recent plans of an expression.
pub struct Recent<P> {
    /// Oldest first.
    entries: Mutex<Vec<Entry<P>>>,
}

impl<P> Default for Recent<P> {
    fn default() -> Recent<P> {
        Recent { entries: Mutex::default() }
    }
}

struct Entry<P> {
    variables: Vec<OwnedVariable>,
    output: Option<OwnedArray>,
    numerics: Numerics,
    plan: Arc<P>,
}

enum OwnedVariable {
    Array(OwnedArray),
    Scalar(Scalar),
}

struct OwnedArray {
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<isize>,
    alignment: usize,
}

impl OwnedArray {
    fn new(array: &ArrayType<'_>) -> OwnedArray {
        let ArrayType { dtype, shape, strides, alignment } = *array;
        OwnedArray { dtype, shape: shape.to_vec(), strides: strides.to_vec(), alignment }
    }

    fn is(&self, array: &ArrayType<'_>) -> bool {
        self.dtype == array.dtype
            && self.alignment == array.alignment
            && self.shape == array.shape
            && self.strides == array.strides
    }
}

/// Whether a plan for one number is right for the other: floats are compared by their bits.
fn is_same_scalar(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => a == b,
        (Scalar::Int(a), Scalar::Int(b)) => a == b,
        (Scalar::Float(a), Scalar::Float(b)) => a.to_bits() == b.to_bits(),
        (Scalar::Complex(a), Scalar::Complex(b)) => {
            (a.re.to_bits(), a.im.to_bits()) == (b.re.to_bits(), b.im.to_bits())
        }
        _ => false,
    }
}

impl<P> Entry<P> {
    fn is(&self, variables: &[Variable<'_>], output: Option<&ArrayType<'_>>, numerics: Numerics) -> bool {
        let is_same = |(own, other): (&OwnedVariable, &Variable<'_>)| match (own, other) {
            (OwnedVariable::Array(own), Variable::Array(other)) => own.is(other),
            (OwnedVariable::Scalar(own), Variable::Scalar(other)) => is_same_scalar(*own, *other),
            _ => false,
        };
        self.numerics == numerics
            && match (&self.output, output) {
                (None, None) => true,
                (Some(own), Some(other)) => own.is(other),
                _ => false,
            }
            && self.variables.len() == variables.len()
            && self.variables.iter().zip(variables).all(is_same)
    }
}

impl<P> Recent<P> {
    /// The plan for these values, or else a new one.
    pub(crate) fn get_or_make<E>(
        &self,
        variables: &[Variable<'_>],
        output: Option<ArrayType<'_>>,
        numerics: Numerics,
        make: impl FnOnce() -> Result<P, E>,
    ) -> Result<Arc<P>, E> {
        // A lock that another thread held during `fork` stays locked in the child, which plans again.
        let lock = || match self.entries.try_lock() {
            Ok(entries) => Some(entries),
            Err(TryLockError::Poisoned(error)) => Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        };
        let find = |entries: &[Entry<P>]| {
            let entry = entries.iter().rev().find(|entry| entry.is(variables, output.as_ref(), numerics));
            entry.map(|entry| entry.plan.clone())
        };
        if let Some(plan) = lock().and_then(|entries| find(&entries)) {
            return Ok(plan);
        }
        let plan = Arc::new(make()?);
        if let Some(mut entries) = lock() {
            if entries.len() >= MAX_PLANS {
                entries.remove(0);
            }
            let owned = |variable: &Variable<'_>| match variable {
                Variable::Array(array) => OwnedVariable::Array(OwnedArray::new(array)),
                Variable::Scalar(number) => OwnedVariable::Scalar(*number),
            };
            entries.push(Entry {
                variables: variables.iter().map(owned).collect(),
                output: output.as_ref().map(OwnedArray::new),
                numerics,
                plan: plan.clone(),
            });
        }
        Ok(plan)
    }
}

impl<P> fmt::Debug for Recent<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recent").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_complex::Complex;

    /// Looks a plan up, and makes one with this number if there is none.
    fn get(
        recent: &Recent<usize>,
        variables: &[Variable<'_>],
        output: Option<ArrayType<'_>>,
        numerics: Numerics,
        new: usize,
    ) -> usize {
        *recent.get_or_make(variables, output, numerics, || Ok::<usize, ()>(new)).unwrap()
    }

    #[test]
    fn plans_are_found_by_everything_that_they_depend_on() {
        let array = ArrayType { dtype: DType::F32, shape: &[2, 3], strides: &[3, 1], alignment: 16 };
        let arrays = [
            array,
            ArrayType { dtype: DType::I32, ..array },
            ArrayType { shape: &[3, 2], ..array },
            ArrayType { strides: &[1, 2], ..array },
            ArrayType { alignment: 4, ..array },
        ];
        let numbers = [
            Scalar::Bool(true),
            Scalar::Bool(false),
            Scalar::Int(1),
            Scalar::Int(0),
            Scalar::Float(0.0),
            Scalar::Float(-0.0),
            Scalar::Float(f64::NAN),
            Scalar::Complex(Complex::new(0.0, 0.0)),
            Scalar::Complex(Complex::new(1.0, 0.0)),
            Scalar::Complex(Complex::new(0.0, 1.0)),
        ];
        let variables: Vec<Vec<Variable<'_>>> = (arrays.iter().map(|&array| vec![Variable::Array(array)]))
            .chain(numbers.iter().map(|&number| vec![Variable::Scalar(number)]))
            .chain([vec![], vec![Variable::Array(array), Variable::Scalar(Scalar::Int(1))]])
            .collect();
        for (at, first) in variables.iter().enumerate() {
            let recent = Recent::default();
            assert_eq!(get(&recent, first, None, Numerics::Exact, 1), 1, "a new one");
            assert_eq!(get(&recent, first, None, Numerics::Exact, 2), 1, "{first:?}");
            for other in &variables[at + 1..] {
                let recent = Recent::default();
                get(&recent, first, None, Numerics::Exact, 1);
                assert_eq!(get(&recent, other, None, Numerics::Exact, 2), 2, "{first:?} {other:?}");
            }
        }
    }

    #[test]
    fn outputs_and_numerics_distinguish_plans() {
        let array = ArrayType { dtype: DType::F32, shape: &[2], strides: &[1], alignment: 16 };
        let other = ArrayType { strides: &[2], ..array };
        let variables = [Variable::Array(array)];
        let recent = Recent::default();
        let outputs = [None, Some(array), Some(other)];
        let keys = outputs.map(|output| [(output, Numerics::Exact), (output, Numerics::Fast)]).concat();
        for (number, &(output, numerics)) in keys.iter().enumerate() {
            assert_eq!(get(&recent, &variables, output, numerics, number), number);
        }
        for (number, &(output, numerics)) in keys.iter().enumerate() {
            assert_eq!(get(&recent, &variables, output, numerics, 99), number);
        }
    }

    #[test]
    fn the_oldest_plan_is_replaced() {
        let recent = Recent::default();
        let find = |number: usize, new: usize| {
            let variables = [Variable::Scalar(Scalar::Int(number as i128))];
            get(&recent, &variables, None, Numerics::Exact, new)
        };
        for number in 0..MAX_PLANS {
            assert_eq!(find(number, number), number);
        }
        assert_eq!(find(0, 99), 0, "all of them are kept");
        assert_eq!(find(MAX_PLANS, 100), 100);
        assert_eq!(find(1, 99), 1);
        assert_eq!(find(0, 101), 101, "made again");
    }

    #[test]
    fn a_plan_that_cannot_be_made_is_not_kept() {
        let recent = Recent::<usize>::default();
        assert_eq!(recent.get_or_make(&[], None, Numerics::Exact, || Err("no plan")), Err("no plan"));
        assert_eq!(get(&recent, &[], None, Numerics::Exact, 5), 5);
    }
}
