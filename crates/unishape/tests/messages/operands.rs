// Code that must not compile. Each `//~` is followed by a part of what the compiler says about the line.

use ndarray::{Array2, Axis, arr1};
use unishape::fold::Sum;
use unishape::{broadcast, broadcast_all, for_each, map, reduce, try_map};

struct Own;

fn read(a: &mut Array2<f32>) {
    _ = map((&*a, Own), |_, _| ()); //~ `Own` is not an array, a slice or a number that can be read //~ `ndarray::arr0(value)`
    _ = map((a, 2.0), |_, _| ()); //~ arrays passed by `&mut` are written to: only `for_each` takes them
    _ = map(Own, |_| ()); //~ `Own` are no inputs of a function of elements //~ pass one array (`&a`) or a tuple
}

fn ranges(a: &Array2<f32>) {
    _ = map((a, 0..3), |_, _| ()); //~ collect a range or an iterator into a `Vec`
}

fn too_many(a: &Array2<f32>) {
    _ = map((a, a, a, a, a, a, a, a, a), |_, _, _, _, _, _, _, _, _| ()); //~ not a tuple of one to eight arrays
}

fn write(a: &mut Array2<f32>) {
    _ = for_each((a, Own), |_, _| ()); //~ `Own` is not an array, a slice or a number that can be read
    _ = for_each(Own, |_| ()); //~ pass `&mut a` for an array that is written and `&b` for one that is read
}

fn not_borrowed(a: Array2<f32>) {
    _ = broadcast((2.0, &a)); //~ `{float}` cannot be broadcast to a view, because it is not borrowed
    _ = broadcast(&a); //~ to stretch one array, call `broadcast_to`
    _ = broadcast((a,)); //~ pass `&a` for an array, a `Vec`, a slice or a number, or `a.view()`
}

fn of_owned(a: Array2<f32>) {
    _ = broadcast_all(vec![a]); //~ cannot be broadcast to a view, because it is not borrowed
}

fn functions(a: &Array2<f32>) {
    _ = try_map(a, |x| x + 1.0); //~ the function must return a `Result`, not `f32`
    _ = try_map(a, |x| Some(*x)); //~ turn an `Option` into a `Result` with `ok_or`
    _ = map((a, a), |x| *x); //~ closure is expected to take 2 arguments, but it takes 1 argument
    _ = map(&arr1(&[std::rc::Rc::new(1)]), |x| **x); //~ cannot be shared between threads safely
}

fn axes(a: &Array2<f32>) {
    _ = reduce(a, 0, |x| *x, Sum); //~ write `Axis(0)`, `[Axis(0), Axis(1)]`
    _ = reduce(a, Axis(0), |x| *x, Sum);
}

fn main() {}
