//! The inputs of an expression: files opened, and the parts of them that go into a piece of the result.

use super::counted::Counted;
use super::given::{Given, Written};
use super::pieces::{Piece, part_of};
use crate::failure::Failure;
use crate::mapped::map_array;
use unishape::expr::{Expr, ExprError, Problem, Scalar, Value};
use unishape::{DType, Tensor, text};
use unishape_npy::{RawArray, Region};

/// What is given for a name.
pub(crate) struct Input {
    pub(crate) name: String,
    /// As it was written on the command line.
    pub(crate) text: String,
    source: Source,
}

enum Source {
    Scalar(Scalar),
    Counted(Counted),
    Listed(Tensor),
    Mapped(RawArray, DType),
}

impl Input {
    /// Opens what has to be opened.
    pub(crate) fn open(given: Given) -> Result<Input, Failure> {
        let Given { name, value, text } = given;
        let source = match value {
            Written::Scalar(number) => Source::Scalar(number),
            Written::Counted(counted) => Source::Counted(counted),
            Written::Listed(tensor) => Source::Listed(tensor),
            Written::File(path) => {
                let mapped = map_array(&path)?;
                let descr = &mapped.header().descr;
                let problem = match descr.dtype() {
                    Some(DType::Str) => "text, which is not computed with",
                    None => "no numbers; convert them first",
                    Some(dtype) => return Ok(Input { name, text, source: Source::Mapped(mapped, dtype) }),
                };
                let descr = text::truncate(descr.text(), 80);
                let problem =
                    format!("{}: elements of type {descr} are {problem}", text::display_path(&path));
                return Err(Failure::failed(problem));
            }
        };
        Ok(Input { name, text, source })
    }

    /// Its shape; a number has none.
    pub(crate) fn shape(&self) -> Option<&[usize]> {
        match &self.source {
            Source::Scalar(_) => None,
            Source::Counted(counted) => Some(counted.shape()),
            Source::Listed(tensor) => Some(tensor.shape()),
            Source::Mapped(mapped, _) => Some(&mapped.header().shape),
        }
    }

    /// Its type; a number takes that of the arrays it meets.
    pub(crate) fn dtype(&self) -> Option<DType> {
        match &self.source {
            Source::Scalar(_) => None,
            Source::Counted(counted) => Some(counted.dtype()),
            Source::Listed(tensor) => Some(tensor.dtype()),
            Source::Mapped(_, dtype) => Some(*dtype),
        }
    }

    /// The bytes that each of its elements takes in memory while a piece is computed.
    pub(crate) fn copied_bytes(&self) -> usize {
        match &self.source {
            Source::Counted(_) => 8,
            Source::Mapped(mapped, _) => {
                let copies = usize::from(mapped.view().is_none()) + usize::from(self.lies_across());
                copies * mapped.header().item_size()
            }
            Source::Scalar(_) | Source::Listed(_) => 0,
        }
    }

    /// How its elements come into the computation, in words; nothing for numbers.
    pub(crate) fn way(&self) -> &'static str {
        match &self.source {
            Source::Scalar(_) => "",
            Source::Counted(_) => "counted out piece by piece",
            Source::Listed(_) => "in memory",
            Source::Mapped(mapped, _) => match (mapped.view().is_some(), self.lies_across()) {
                (true, false) => "mapped, read where it lies",
                (true, true) => "mapped, in Fortran order, turned piece by piece",
                (false, false) => "mapped, converted piece by piece",
                (false, true) => "mapped, in Fortran order, converted and turned piece by piece",
            },
        }
    }

    /// Its elements lie in another order than the result's, so that large pieces are better than small ones.
    pub(crate) fn lies_across(&self) -> bool {
        match &self.source {
            Source::Mapped(mapped, _) => {
                let header = mapped.header();
                header.fortran_order && header.shape.iter().filter(|&&size| size != 1).count() > 1
            }
            Source::Scalar(_) | Source::Counted(_) | Source::Listed(_) => false,
        }
    }

    /// Some of its elements; nothing for a number.
    fn part(&self, part: &Piece) -> Result<Option<Region<'_>>, Failure> {
        Ok(Some(match &self.source {
            Source::Scalar(_) => return Ok(None),
            Source::Counted(counted) => Region::Tensor(counted.part(part)),
            Source::Listed(tensor) => Region::View(tensor.view().slice(part)),
            Source::Mapped(mapped, _) => {
                let part = mapped.region(part).map_err(Failure::failed)?;
                match self.lies_across() {
                    // Turned all at once, tile by tile, which is faster than row by row later.
                    true => Region::Tensor(part.view().to_owned().map_err(Failure::failed)?),
                    false => part,
                }
            }
        }))
    }

    fn value<'v>(&self, part: Option<&'v Region<'_>>) -> Value<'v> {
        match (&self.source, part) {
            (Source::Scalar(number), _) => Value::Scalar(*number),
            (_, Some(part)) => Value::Array(part.view()),
            // Only numbers have no part.
            (_, None) => Value::Scalar(Scalar::Bool(false)),
        }
    }

    /// Advice to the system about the pages of a mapped file.
    fn advise(&self, done: Option<&Piece>, next: Option<&Piece>) {
        if let Source::Mapped(mapped, _) = &self.source {
            if let Some(part) = done {
                mapped.release(part);
            }
            if let Some(part) = next {
                mapped.prefetch(part);
            }
        }
    }
}

/// The parts of all inputs for the piece of the result that is being computed. One at a time is held.
pub(crate) struct Parts<'i> {
    inputs: &'i [Input],
    held: Vec<Option<Held<'i>>>,
}

struct Held<'i> {
    ranges: Piece,
    part: Region<'i>,
}

impl<'i> Parts<'i> {
    pub(crate) fn new(inputs: &'i [Input]) -> Parts<'i> {
        Parts { inputs, held: inputs.iter().map(|_| None).collect() }
    }

    /// One element of each array, for its type, stretched to the whole array.
    pub(crate) fn samples(inputs: &'i [Input]) -> Result<Parts<'i>, Failure> {
        let mut parts = Parts::new(inputs);
        for (input, held) in inputs.iter().zip(&mut parts.held) {
            let shape = input.shape().unwrap_or_default();
            let ranges: Piece = shape.iter().map(|&size| 0..size.min(1)).collect();
            *held = input.part(&ranges)?.map(|part| Held { ranges, part });
        }
        Ok(parts)
    }

    /// Takes the parts for a piece, and tells the system which are wanted next. A part that is the same as
    /// before is kept, and one that is not is given back before the next is taken.
    pub(crate) fn go_to(&mut self, piece: &Piece, next: Option<&Piece>) -> Result<(), Failure> {
        for (input, held) in self.inputs.iter().zip(&mut self.held) {
            let Some(shape) = input.shape() else { continue };
            let ranges = part_of(shape, piece);
            if held.as_ref().is_none_or(|held| held.ranges != ranges) {
                let done = held.take().map(|held| held.ranges);
                input.advise(done.as_ref(), None);
                *held = input.part(&ranges)?.map(|part| Held { ranges: ranges.clone(), part });
            }
            if let Some(next) = next.map(|next| part_of(shape, next)).filter(|next| *next != ranges) {
                input.advise(None, Some(&next));
            }
        }
        Ok(())
    }

    /// The parts by the names of their inputs.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'i str, Value<'_>)> {
        let inputs = self.inputs.iter().zip(&self.held);
        inputs.map(|(input, held)| (input.name.as_str(), input.value(held.as_ref().map(|held| &held.part))))
    }

    /// The result's shape and type, from [samples](Parts::samples).
    pub(crate) fn outcome(&self, expr: &Expr) -> Result<(Vec<usize>, DType), ExprError> {
        let values =
            self.values().zip(self.inputs).map(|((name, value), input)| match (value, input.shape()) {
                (Value::Array(view), Some(shape)) => Ok((name, Value::Array(view.broadcast_to(shape)?))),
                (value, _) => Ok((name, value)),
            });
        let values: Vec<(&str, Value<'_>)> = values.collect::<Result<_, unishape::Error>>()?;
        let bound = expr.bind(values)?;
        Ok((bound.shape().to_vec(), bound.dtype()))
    }
}

/// An error in an expression: its text and names are the command line's, shapes and types the inputs'.
pub(crate) fn at_fault(error: &ExprError) -> Failure {
    match error.problem() {
        Problem::Shapes(_)
        | Problem::WrongType { .. }
        | Problem::NoCommonType(_)
        | Problem::DoesNotFit { .. }
        | Problem::NoCast { .. } => Failure::failed(error),
        Problem::Stopped => Failure::Interrupted,
        _ => Failure::usage(error),
    }
}
