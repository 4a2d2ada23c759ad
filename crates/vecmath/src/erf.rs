//! Error function.

use crate::UnaryFunction;
use crate::double_double::{DoubleDouble, at_most, polynomial, power_of_two};
use crate::exp::ExpParts;

// erf x / x - 1 as a polynomial of x², for |x| < 0.84; error of erf: 2^-62.8.
const ERF_NEAR_FIRST: f64 = 0.1283791670955126;
const ERF_NEAR: [f64; 11] = [
    -0.3761263890318375,
    0.11283791670954756,
    -0.026866170645033965,
    0.00522397762412026,
    -0.0008548326917246304,
    0.00012055327560261249,
    -1.492546765415534e-05,
    1.6457990586964906e-06,
    -1.6303970854484982e-07,
    1.4211237694427096e-08,
    -8.895304630650311e-10,
];

// erfc x · e^x² as a polynomial of (x - 1) / (x + 1), for x from 0.84 to 6; error of erf:
// 2^-60.2. At 0.84, e^x² is 2: from there on both factors are below 1/2, and their rounding errors small.
const ERF_FAR: [f64; 16] = [
    0.427583576155807,
    -0.546424029567797,
    0.0710622159198383,
    0.05473270987664493,
    0.005744191747751434,
    -0.00792640984388376,
    -0.005392865829361186,
    -0.0012108315662309951,
    0.0006997769983532838,
    0.0008686327701622354,
    0.0004411640998087905,
    0.00010724689355065818,
    -0.00023300512873562028,
    0.0001850210095311449,
    -0.0004277319869746336,
    0.00018783981303902578,
];

/// Error function.
///
/// ```
/// use unishape_vecmath::{Erf, UnaryFunction};
///
/// assert_eq!(Erf::eval(f64::INFINITY), 1.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Erf;

impl UnaryFunction<f64> for Erf {
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let square = x * x;
        let near = x.mul_add(square.mul_add(polynomial(square, &ERF_NEAR), ERF_NEAR_FIRST), x);
        // The result is 1 from 6 on.
        let size = at_most(x.abs(), 6.0);
        let square = DoubleDouble::two_product(size, size);
        let parts = ExpParts::of(DoubleDouble::new(-square.high, -square.low));
        let e = parts.mantissa().to_f64() * power_of_two(parts.k);
        let far = (-e).mul_add(polynomial((size - 1.0) / (size + 1.0), &ERF_FAR), 1.0);
        (if x.abs() < 0.84 { near } else { far }).copysign(x)
    }
}
