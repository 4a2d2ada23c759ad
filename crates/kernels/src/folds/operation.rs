//! What folds do with two elements, and with short columns of them.

use bytemuck::Pod;
use num_complex::Complex;

/// An associative operation on two elements; for floating-point sums and products, associative but for rounding.
pub(super) trait Operation<T: Pod>: 'static {
    /// Whether results depend on the order of elements.
    const IS_ORDERED: bool;

    /// Whether the compiler vectorises a plain loop over the elements of a row.
    const IS_PLAIN: bool = !Self::IS_ORDERED;

    /// Whether loops are compiled for wide SIMD, which is not worth it for rare operations.
    const HAS_WIDE_LOOPS: bool = true;

    /// Applies the operation to two elements.
    fn combine(a: T, b: T) -> T;

    /// Folds the first `W` elements of each row into `columns`, row after row.
    ///
    /// Rows start `stride` elements from each other, and the last one has at least `W` elements.
    #[inline(always)]
    fn fold_columns<const W: usize>(columns: &mut [T; W], rows: &[T], stride: usize) {
        for_each_row::<_, _, W>(
            rows,
            stride,
            columns,
            #[inline(always)]
            |columns, [a, b, c, d]| {
                for i in 0..W {
                    let two = Self::combine(Self::combine(columns[i], a[i]), b[i]);
                    columns[i] = Self::combine(Self::combine(two, c[i]), d[i]);
                }
            },
            #[inline(always)]
            |columns, row| {
                for i in 0..W {
                    columns[i] = Self::combine(columns[i], row[i]);
                }
            },
        );
    }

    /// Folds a function of two operands into `columns`, `W` elements of each at a time.
    #[inline(always)]
    fn fold_values<'a, const W: usize>(
        columns: &mut [T; W],
        pairs: impl Iterator<Item = (&'a [T; W], &'a [T; W])>,
        value: impl Fn(T, T) -> T,
    ) {
        let mut local = *columns;
        for (a, b) in pairs {
            for i in 0..W {
                local[i] = Self::combine(local[i], value(a[i], b[i]));
            }
        }
        *columns = local;
    }

    /// Folds `W` lanes to the `P` parts of one element: halves them, and folds the second half into the first.
    #[inline(always)]
    fn fold_tree<const W: usize, const P: usize>(lanes: &[T; W]) -> [T; P] {
        fold_halves(lanes, Self::combine)
    }
}

/// An operation that gives one of its elements: the smallest or the largest.
pub(super) trait Extremum<T: Pod>: Operation<T> {
    /// Whether `a` is more extreme than `b`. NaN is more extreme than any number.
    fn is_more(a: T, b: T) -> bool;

    /// The same of elements that are not NaN; of others, anything.
    #[inline(always)]
    fn is_beyond(a: T, b: T) -> bool {
        Self::is_more(a, b)
    }
}

/// Halves lanes and applies `combine` to both halves, until `P` lanes are left.
#[inline(always)]
fn fold_halves<T: Copy, const W: usize, const P: usize>(
    lanes: &[T; W],
    combine: impl Fn(T, T) -> T,
) -> [T; P] {
    let mut lanes = *lanes;
    let mut half = W / 2;
    while half >= P {
        for i in 0..half {
            lanes[i] = combine(lanes[i], lanes[half + i]);
        }
        half /= 2;
    }
    std::array::from_fn(|part| lanes[part])
}

/// Calls `four` for the first `W` elements of each four rows, and `one` for those of the rows that remain.
///
/// With four rows at a time, the compiler keeps `state` in registers and the loop has little overhead.
#[inline(always)]
fn for_each_row<T, S: Copy, const W: usize>(
    mut rows: &[T],
    stride: usize,
    state: &mut S,
    four: impl Fn(&mut S, [&[T; W]; 4]),
    one: impl Fn(&mut S, &[T; W]),
) {
    let mut local = *state;
    while rows.len() >= 3 * stride + W {
        let (a, rest) = rows.split_at(stride);
        let (b, rest) = rest.split_at(stride);
        let (c, d) = rest.split_at(stride);
        if let (Some(a), Some(b), Some(c), Some(d)) =
            (a.first_chunk(), b.first_chunk(), c.first_chunk(), d.first_chunk())
        {
            four(&mut local, [a, b, c, d]);
        }
        rows = &d[stride.min(d.len())..];
    }
    for row in rows.chunks(stride) {
        if let Some(row) = row.first_chunk() {
            one(&mut local, row);
        }
    }
    *state = local;
}

/// The sum.
pub(super) struct Add;

/// The product.
pub(super) struct Multiply;

/// The minimum.
pub(super) struct Min;

/// The maximum.
pub(super) struct Max;

/// The maximum of numbers that are not negative, and NaN if there is one: the largest bits.
pub(super) struct MaxOfPositive;

impl Operation<u64> for Add {
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        a.wrapping_add(b)
    }
}

impl Operation<u64> for Multiply {
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn combine(a: u64, b: u64) -> u64 {
        a.wrapping_mul(b)
    }
}

macro_rules! integers {
    ($($T:ident)+) => {
        $(
            impl Operation<$T> for Min {
                const IS_ORDERED: bool = false;

                #[inline(always)]
                fn combine(a: $T, b: $T) -> $T {
                    a.min(b)
                }
            }

            impl Operation<$T> for Max {
                const IS_ORDERED: bool = false;

                #[inline(always)]
                fn combine(a: $T, b: $T) -> $T {
                    a.max(b)
                }
            }

            impl Extremum<$T> for Min {
                #[inline(always)]
                fn is_more(a: $T, b: $T) -> bool {
                    a < b
                }
            }

            impl Extremum<$T> for Max {
                #[inline(always)]
                fn is_more(a: $T, b: $T) -> bool {
                    a > b
                }
            }
        )+
    };
}
integers!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! floats {
    ($($T:ident)+) => {
        $(
            impl Operation<$T> for Add {
                const IS_ORDERED: bool = true;

                #[inline(always)]
                fn combine(a: $T, b: $T) -> $T {
                    a + b
                }
            }

            impl Operation<$T> for Multiply {
                const IS_ORDERED: bool = true;

                #[inline(always)]
                fn combine(a: $T, b: $T) -> $T {
                    a * b
                }
            }

            impl Operation<$T> for MaxOfPositive {
                const IS_ORDERED: bool = false;

                #[inline(always)]
                fn combine(a: $T, b: $T) -> $T {
                    // The order of numbers is that of their bits, and those of NaN are the largest.
                    $T::from_bits(a.to_bits().max(b.to_bits()))
                }
            }

            extremum!($T, Min, <=, <);
            extremum!($T, Max, >=, >);

            impl Operation<Complex<$T>> for Multiply {
                const IS_ORDERED: bool = true;
                const HAS_WIDE_LOOPS: bool = false;

                #[inline(always)]
                fn combine(a: Complex<$T>, b: Complex<$T>) -> Complex<$T> {
                    Complex::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
                }
            }
        )+
    };
}

/// Minimum or maximum of floating-point and complex numbers, as in NumPy: NaN if there is one.
macro_rules! extremum {
    ($T:ident, $Operation:ident, $or_equal:tt, $than:tt) => {
        impl Operation<$T> for $Operation {
            const IS_ORDERED: bool = false;
            const IS_PLAIN: bool = false;

            #[inline(always)]
            fn combine(a: $T, b: $T) -> $T {
                if a $or_equal b || a.is_nan() { a } else { b }
            }

            // One SIMD instruction for each element, which ignores NaN, and half of one to find NaN.
            #[inline(always)]
            fn fold_columns<const W: usize>(columns: &mut [$T; W], rows: &[$T], stride: usize) {
                let mut state = (*columns, [0.0; W]);
                for_each_row::<_, _, W>(
                    rows,
                    stride,
                    &mut state,
                    #[inline(always)]
                    |(columns, nan), [a, b, c, d]| {
                        for i in 0..W {
                            let first = if b[i] $than a[i] { b[i] } else { a[i] };
                            let second = if d[i] $than c[i] { d[i] } else { c[i] };
                            columns[i] = if first $than columns[i] { first } else { columns[i] };
                            columns[i] = if second $than columns[i] { second } else { columns[i] };
                            nan[i] = if a[i].is_nan() || b[i].is_nan() { $T::NAN } else { nan[i] };
                            nan[i] = if c[i].is_nan() || d[i].is_nan() { $T::NAN } else { nan[i] };
                        }
                    },
                    #[inline(always)]
                    |(columns, nan), row| {
                        for i in 0..W {
                            columns[i] = if row[i] $than columns[i] { row[i] } else { columns[i] };
                            nan[i] = if row[i].is_nan() { $T::NAN } else { nan[i] };
                        }
                    },
                );
                for i in 0..W {
                    columns[i] = if state.1[i].is_nan() { $T::NAN } else { state.0[i] };
                }
            }

            #[inline(always)]
            fn fold_tree<const W: usize, const P: usize>(lanes: &[$T; W]) -> [$T; P] {
                let mut has_nan = [false; P];
                for (i, lane) in lanes.iter().enumerate() {
                    has_nan[i % P] |= lane.is_nan();
                }
                let results: [$T; P] = fold_halves(lanes, |a, b| if a $than b { a } else { b });
                std::array::from_fn(|part| if has_nan[part] { $T::NAN } else { results[part] })
            }
        }

        impl Operation<Complex<$T>> for $Operation {
            // Of several NaN, the first one.
            const IS_ORDERED: bool = true;
            const HAS_WIDE_LOOPS: bool = false;

            #[inline(always)]
            fn combine(a: Complex<$T>, b: Complex<$T>) -> Complex<$T> {
                // Where real parts differ, `or_equal` compares them as `<` or `>` would.
                let is_first = if a.re == b.re { a.im $or_equal b.im } else { a.re $or_equal b.re && !b.im.is_nan() };
                if is_first || a.re.is_nan() || a.im.is_nan() { a } else { b }
            }
        }

        impl Extremum<$T> for $Operation {
            #[inline(always)]
            fn is_more(a: $T, b: $T) -> bool {
                (a $than b || a.is_nan()) && !b.is_nan()
            }

            #[inline(always)]
            fn is_beyond(a: $T, b: $T) -> bool {
                a $than b
            }
        }

        impl Extremum<Complex<$T>> for $Operation {
            #[inline(always)]
            fn is_more(a: Complex<$T>, b: Complex<$T>) -> bool {
                let is_nan = |x: Complex<$T>| x.re.is_nan() || x.im.is_nan();
                let is_before = a.re $than b.re || a.re == b.re && a.im $than b.im;
                !is_nan(b) && (is_nan(a) || is_before)
            }
        }
    };
}
floats!(f32 f64);
