//! The operations of expressions: one table defines their names, methods and documentation.

/// Calls a macro with every operation: variant, method name, arity, names in expressions, description.
///
/// ```
/// macro_rules! methods {
///     ($($op:ident $method:ident $arity:literal [$($name:literal),+] $description:literal;)+) => {
///         [$(stringify!($method)),+]
///     };
/// }
/// assert_eq!(unishape_kernels::for_each_op!(methods)[0], "abs");
/// ```
#[macro_export]
macro_rules! for_each_op {
    ($macro:ident) => {
        $macro! {
            Abs abs 1 ["abs", "absolute"] "The absolute value; of a complex number, its magnitude.";
            Acos acos 1 ["acos", "arccos"] "The inverse cosine.";
            Acosh acosh 1 ["acosh", "arccosh"] "The inverse hyperbolic cosine.";
            Add plus 2 ["add"] "`x + y`. Integers wrap; booleans: logical or.";
            And bitwise_and 2 ["bitwise_and"] "`x & y`, bit by bit.";
            Asin asin 1 ["asin", "arcsin"] "The inverse sine.";
            Asinh asinh 1 ["asinh", "arcsinh"] "The inverse hyperbolic sine.";
            Atan atan 1 ["atan", "arctan"] "The inverse tangent.";
            Atan2 atan2 2 ["atan2", "arctan2"] "The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`).";
            Atanh atanh 1 ["atanh", "arctanh"] "The inverse hyperbolic tangent.";
            Cbrt cbrt 1 ["cbrt"] "The cube root.";
            Ceil ceil 1 ["ceil"] "Rounds up to an integer.";
            Clip clip 3 ["clip", "clamp"] "Limits the first argument to the range from the second to the third.";
            Conj conj 1 ["conj", "conjugate"] "The complex conjugate.";
            Copysign copysign 2 ["copysign"] "`x` with the sign of `y`.";
            Cos cos 1 ["cos"] "The cosine.";
            Cosh cosh 1 ["cosh"] "The hyperbolic cosine.";
            Deg2rad deg2rad 1 ["deg2rad", "radians"] "Converts degrees to radians.";
            Divide over 2 ["divide", "true_divide"] "`x / y`. Integers are divided as floating-point numbers.";
            Equal equal_to 2 ["equal"] "`x == y`.";
            Erf erf 1 ["erf"] "The error function.";
            Exp exp 1 ["exp"] "e to the power of `x`.";
            Exp2 exp2 1 ["exp2"] "2 to the power of `x`.";
            Expm1 expm1 1 ["expm1"] "`exp(x) - 1`, accurate near 0.";
            FloatPower float_power 2 ["float_power"] "`x ** y`, computed in float64 or complex128.";
            Floor floor 1 ["floor"] "Rounds down to an integer.";
            FloorDivide floor_divide 2 ["floor_divide"] "`x // y`: the quotient rounded down; 0 for integer division by 0.";
            Fmax fmax 2 ["fmax"] "The larger argument; of a NaN and a number, the number.";
            Fmin fmin 2 ["fmin"] "The smaller argument; of a NaN and a number, the number.";
            Fmod fmod 2 ["fmod"] "The remainder with the sign of `x`, as in C; 0 for integer division by 0.";
            Greater greater 2 ["greater"] "`x > y`.";
            GreaterEqual greater_equal 2 ["greater_equal"] "`x >= y`.";
            Heaviside heaviside 2 ["heaviside"] "0 where `x` is negative, `y` where it is 0, and 1 where it is positive.";
            Hypot hypot 2 ["hypot"] "`sqrt(x² + y²)`, without intermediate overflow.";
            Imag imag 1 ["imag"] "The imaginary part.";
            Invert invert 1 ["bitwise_invert", "bitwise_not", "invert"] "`~x`: inverts every bit.";
            IsFinite is_finite 1 ["isfinite"] "Whether it is neither infinite nor NaN.";
            IsInf is_inf 1 ["isinf"] "Whether it is infinite.";
            IsNan is_nan 1 ["isnan"] "Whether it is NaN.";
            LeakyRelu leaky_relu 2 ["leaky_relu", "prelu"] "`x` where it is not negative, else `x * y`.";
            Less less 2 ["less"] "`x < y`.";
            LessEqual less_equal 2 ["less_equal"] "`x <= y`.";
            Log log 1 ["log", "ln"] "The natural logarithm.";
            Log10 log10 1 ["log10"] "The logarithm to base 10.";
            Log1p log1p 1 ["log1p"] "`log(1 + x)`, accurate near 0.";
            Log2 log2 1 ["log2"] "The logarithm to base 2.";
            Logaddexp logaddexp 2 ["logaddexp"] "`log(exp(x) + exp(y))`, without intermediate overflow.";
            Logaddexp2 logaddexp2 2 ["logaddexp2"] "`log2(exp2(x) + exp2(y))`, without intermediate overflow.";
            LogicalAnd logical_and 2 ["logical_and"] "`x and y`: whether both are nonzero.";
            LogicalNot logical_not 1 ["logical_not"] "`not x`: whether it is 0.";
            LogicalOr logical_or 2 ["logical_or"] "`x or y`: whether at least one is nonzero.";
            LogicalXor logical_xor 2 ["logical_xor"] "Whether exactly one of them is nonzero.";
            Max max 2 ["maximum", "max"] "The larger argument; NaN if either is NaN.";
            Min min 2 ["minimum", "min"] "The smaller argument; NaN if either is NaN.";
            Multiply times 2 ["multiply"] "`x * y`. Integers wrap; booleans: logical and.";
            Negative negative 1 ["negative"] "`-x`. Integers wrap.";
            Nextafter nextafter 2 ["nextafter"] "The next representable number from `x` toward `y`.";
            NotEqual not_equal 2 ["not_equal"] "`x != y`.";
            Or bitwise_or 2 ["bitwise_or"] "`x | y`, bit by bit.";
            Positive positive 1 ["positive"] "`+x`: `x` unchanged.";
            Pow pow 2 ["pow", "power"] "`x ** y`. Integers wrap.\n\n\
                Integers to negative powers are rounded toward 0 (0 for a base of 0). Python reports them as errors, as \
                NumPy does, unless the exponent is computed in the same expression.";
            Rad2deg rad2deg 1 ["rad2deg", "degrees"] "Converts radians to degrees.";
            Real real 1 ["real"] "The real part.";
            Reciprocal reciprocal 1 ["reciprocal"] "`1 / x`; of integers rounded toward 0, and 0 for 0.";
            Remainder remainder 2 ["remainder", "mod"] "`x % y`: the remainder with the sign of `y`; 0 for integer division by 0.";
            Rint rint 1 ["rint"] "Rounds to the nearest integer, ties to even. Integers become floating-point.";
            Round round 1 ["round"] "Rounds to the nearest integer, ties to even.";
            RoundTo round_to 2 ["around"] "Rounds `x` to `y` decimals, ties to even. Negative `y`: to tens, hundreds, …";
            ShiftLeft shift_left 2 ["bitwise_left_shift", "left_shift"] "`x << y`; 0 if `y` is negative or not less than the number of bits.";
            ShiftRight shift_right 2 ["bitwise_right_shift", "right_shift"] "`x >> y`; shifts out all bits if `y` is negative or not less than their number.";
            Sigmoid sigmoid 1 ["sigmoid", "expit"] "`1 / (1 + exp(-x))`.";
            Sign sign 1 ["sign"] "-1, 0 or 1; of a complex number, `x / abs(x)`.";
            Signbit signbit 1 ["signbit"] "Whether the sign bit is set, also of -0 and NaN.";
            Sin sin 1 ["sin"] "The sine.";
            Sinh sinh 1 ["sinh"] "The hyperbolic sine.";
            Sqrt sqrt 1 ["sqrt"] "The square root.";
            Square square 1 ["square"] "`x * x`.";
            Subtract minus 2 ["subtract"] "`x - y`. Integers wrap.";
            Tan tan 1 ["tan"] "The tangent.";
            Tanh tanh 1 ["tanh"] "The hyperbolic tangent.";
            Trunc trunc 1 ["trunc"] "Rounds toward 0 to an integer.";
            TruncDivide trunc_divide 2 ["trunc_divide"] "The quotient rounded toward 0; 0 for integer division by 0.";
            Where choose 3 ["where"] "The second argument where the first is true (nonzero), else the third.";
            Xor bitwise_xor 2 ["bitwise_xor"] "`x ^ y`, bit by bit.";
        }
    };
}
macro_rules! define {
    ($($op:ident $method:ident $arity:literal [$name:literal $(, $alias:literal)*] $description:literal;)+) => {
        /// An operation of expressions: an operator or a function.
        ///
        /// ```
        /// # use unishape_kernels::Op;
        /// assert_eq!(Op::from_name("arctan2"), Some(Op::Atan2));
        /// assert_eq!((Op::Clip.name(), Op::Clip.arity()), ("clip", 3));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Op {
            $(#[doc = $description] $op,)+
        }

        impl Op {
            /// All operations, in alphabetical order.
            ///
            /// ```
            /// # use unishape_kernels::Op;
            /// assert!(Op::ALL.len() > 70);
            /// ```
            pub const ALL: &[Op] = &[$(Op::$op),+];

            /// Its name in expressions; the first of its [names](Op::names).
            ///
            /// ```
            /// # use unishape_kernels::Op;
            /// assert_eq!(Op::Pow.name(), "pow");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(Op::$op => $name,)+
                }
            }

            /// All its names in expressions.
            ///
            /// ```
            /// # use unishape_kernels::Op;
            /// assert_eq!(Op::Pow.names(), ["pow", "power"]);
            /// ```
            pub const fn names(self) -> &'static [&'static str] {
                match self {
                    $(Op::$op => &[$name $(, $alias)*],)+
                }
            }

            /// The number of its arguments.
            ///
            /// ```
            /// # use unishape_kernels::Op;
            /// assert_eq!(Op::Where.arity(), 3);
            /// ```
            pub const fn arity(self) -> usize {
                match self {
                    $(Op::$op => $arity,)+
                }
            }

            /// What it computes: a sentence or two in the first line, details after an empty one.
            ///
            /// ```
            /// # use unishape_kernels::Op;
            /// assert_eq!(Op::Sqrt.description(), "The square root.");
            /// ```
            pub const fn description(self) -> &'static str {
                match self {
                    $(Op::$op => $description,)+
                }
            }
        }
    };
}
for_each_op!(define);

impl Op {
    /// The operation with this name.
    ///
    /// ```
    /// # use unishape_kernels::Op;
    /// assert_eq!(Op::from_name("power"), Some(Op::Pow));
    /// assert_eq!(Op::from_name("powder"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Op> {
        Op::ALL.iter().copied().find(|op| op.names().contains(&name))
    }

    /// Its operator symbol, if it has one.
    ///
    /// ```
    /// # use unishape_kernels::Op;
    /// assert_eq!(Op::FloorDivide.symbol(), Some("//"));
    /// assert_eq!(Op::Sqrt.symbol(), None);
    /// ```
    pub const fn symbol(self) -> Option<&'static str> {
        Some(match self {
            Op::Add | Op::Positive => "+",
            Op::Subtract | Op::Negative => "-",
            Op::Multiply => "*",
            Op::Divide => "/",
            Op::FloorDivide => "//",
            Op::Remainder => "%",
            Op::Pow => "**",
            Op::Equal => "==",
            Op::NotEqual => "!=",
            Op::Less => "<",
            Op::LessEqual => "<=",
            Op::Greater => ">",
            Op::GreaterEqual => ">=",
            Op::And => "&",
            Op::Or => "|",
            Op::Xor => "^",
            Op::Invert => "~",
            Op::ShiftLeft => "<<",
            Op::ShiftRight => ">>",
            Op::LogicalAnd => "and",
            Op::LogicalOr => "or",
            Op::LogicalNot => "not",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Op;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique() {
        let names: Vec<&str> = Op::ALL.iter().flat_map(|op| op.names()).copied().collect();
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
        for &op in Op::ALL {
            assert!(op.names().iter().all(|name| Op::from_name(name) == Some(op)));
        }
        assert_eq!(Op::from_name("add "), None);
    }

    /// They become docstrings in Python.
    #[test]
    fn descriptions_start_with_a_short_line() {
        for op in Op::ALL {
            let (first, rest) = op.description().split_once('\n').unwrap_or((op.description(), "\n"));
            assert!(first.chars().count() <= 80 && first.ends_with(['.', '…']), "{first}");
            assert!(rest.starts_with('\n'), "{first}");
        }
    }

    #[test]
    fn symbols() {
        use Op::*;
        let expected = [
            (Add, "+"),
            (And, "&"),
            (Divide, "/"),
            (Equal, "=="),
            (FloorDivide, "//"),
            (Greater, ">"),
            (GreaterEqual, ">="),
            (Invert, "~"),
            (Less, "<"),
            (LessEqual, "<="),
            (LogicalAnd, "and"),
            (LogicalNot, "not"),
            (LogicalOr, "or"),
            (Multiply, "*"),
            (Negative, "-"),
            (NotEqual, "!="),
            (Or, "|"),
            (Positive, "+"),
            (Pow, "**"),
            (Remainder, "%"),
            (ShiftLeft, "<<"),
            (ShiftRight, ">>"),
            (Subtract, "-"),
            (Xor, "^"),
        ];
        let symbols = Op::ALL.iter().filter_map(|&op| Some((op, op.symbol()?)));
        assert_eq!(symbols.collect::<Vec<_>>(), expected);
    }
}
