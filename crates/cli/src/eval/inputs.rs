//! The opened inputs of an expression, and their parts for a chunk of the result.

use super::binding::{Binding, BindingValue};
#[cfg(feature = "zarr")]
use super::decode::decode_to_file;
use crate::chunks::input_region;
use crate::error::CliError;
use crate::sources::open_array;
#[cfg(feature = "zarr")]
use std::ops::Range;
use std::path::{Path, PathBuf};
use unishape::expr::{Bound, Expr, ExprError, ExprErrorKind, Scalar, Value};
use unishape::{DType, Tensor, TensorView, text};
use unishape_array_text::{Arange, IndexRanges, Literal};
use unishape_files::ArraySource;
#[cfg(feature = "zarr")]
use unishape_files::BlockReader;
use unishape_npy::{RawArray, Region};

/// Inputs in chunks up to this size are decoded in memory by expressions that need them whole, in bytes.
const MAX_DECODED_BYTES: u64 = 8 << 20;

/// The value of a variable.
pub(crate) struct Input {
    pub(crate) name: String,
    /// The value as given on the command line.
    pub(crate) text: String,
    /// The path of its file, if it has one.
    #[cfg_attr(not(feature = "zarr"), allow(dead_code))]
    path: Option<PathBuf>,
    source: InputSource,
}

enum InputSource {
    Scalar(Scalar),
    Range(Arange),
    List(Tensor),
    File(Box<dyn ArraySource>, DType),
}

impl Input {
    /// Opens the file of an input, if it has one.
    pub(crate) fn open(binding: Binding) -> Result<Input, CliError> {
        let Binding { name, value, text } = binding;
        let path = match &value {
            BindingValue::File(location) => location.path().map(Path::to_path_buf),
            _ => None,
        };
        let source = match value {
            BindingValue::Literal(Literal::Scalar(number)) => InputSource::Scalar(number),
            BindingValue::Literal(Literal::Range(range)) => InputSource::Range(range),
            BindingValue::Literal(Literal::List(tensor)) => InputSource::List(tensor),
            BindingValue::File(location) => {
                let array = open_array(location)?;
                let descr = &array.source.header().descr;
                let problem = match descr.dtype() {
                    Some(DType::Str) => "strings, which expressions do not support",
                    None => "not numbers; convert them first",
                    Some(dtype) => {
                        return Ok(Input {
                            name,
                            text,
                            path,
                            source: InputSource::File(array.source, dtype),
                        });
                    }
                };
                let descr = text::truncate(descr.text(), 80);
                let message = format!("{}: elements of type {descr} are {problem}", array.location);
                return Err(CliError::input(message));
            }
        };
        Ok(Input { name, text, path, source })
    }

    /// The path of its file, if it has one.
    #[cfg(feature = "zarr")]
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The shape; `None` for a number.
    pub(crate) fn shape(&self) -> Option<&[usize]> {
        match &self.source {
            InputSource::Scalar(_) => None,
            InputSource::Range(range) => Some(range.shape()),
            InputSource::List(tensor) => Some(tensor.shape()),
            InputSource::File(array, _) => Some(&array.header().shape),
        }
    }

    /// The dtype; `None` for a number, which takes the dtype of the arrays it is combined with.
    pub(crate) fn dtype(&self) -> Option<DType> {
        match &self.source {
            InputSource::Scalar(_) => None,
            InputSource::Range(range) => Some(range.dtype()),
            InputSource::List(tensor) => Some(tensor.dtype()),
            InputSource::File(_, dtype) => Some(*dtype),
        }
    }

    /// Bytes of memory per element of a chunk that are copied or generated.
    pub(crate) fn copied_bytes(&self) -> usize {
        match &self.source {
            InputSource::Range(_) => 8,
            InputSource::File(array, _) => {
                let copies = usize::from(!self.is_in_place()) + usize::from(self.is_column_major());
                copies * array.header().item_size()
            }
            InputSource::Scalar(_) | InputSource::List(_) => 0,
        }
    }

    /// Bytes of memory that the whole input takes where it is loaded; 0 for files that are read where they are mapped.
    pub(crate) fn whole_bytes(&self) -> usize {
        let bytes = |item: usize| {
            self.shape().unwrap_or_default().iter().fold(item, |bytes, &size| bytes.saturating_mul(size))
        };
        match &self.source {
            InputSource::Range(_) => bytes(8),
            InputSource::File(..) if self.is_decoded_to_file() => 0,
            InputSource::File(array, _) if !self.is_in_place() => bytes(array.header().item_size()),
            InputSource::Scalar(_) | InputSource::List(_) | InputSource::File(..) => 0,
        }
    }

    /// How the elements are read by an expression that needs the whole input, in words; empty for numbers.
    pub(crate) fn whole_access(&self) -> &'static str {
        match &self.source {
            InputSource::Scalar(_) => "",
            InputSource::Range(_) => "generated in memory",
            InputSource::List(_) => "in memory",
            InputSource::File(..) if self.is_decoded_to_file() => "decoded to a temporary file",
            InputSource::File(array, _) if array.chunk_shape().is_some() => "decoded in memory",
            InputSource::File(..) => match (self.is_in_place(), self.is_column_major()) {
                (true, false) => "memory-mapped, not copied",
                (true, true) => "memory-mapped, column-major, not copied",
                (false, false) => "converted in memory",
                (false, true) => "column-major, converted in memory",
            },
        }
    }

    /// How the elements are read chunk by chunk, in words; empty for numbers.
    pub(crate) fn access(&self) -> &'static str {
        match &self.source {
            InputSource::Scalar(_) => "",
            InputSource::Range(_) => "generated chunk by chunk",
            InputSource::List(_) => "in memory",
            InputSource::File(array, _) if array.chunk_shape().is_some() => "decoded chunk by chunk",
            InputSource::File(..) => match (self.is_in_place(), self.is_column_major()) {
                (true, false) => "memory-mapped, not copied",
                (true, true) => "memory-mapped, column-major, transposed chunk by chunk",
                (false, false) => "memory-mapped, converted chunk by chunk",
                (false, true) => "memory-mapped, column-major, converted and transposed chunk by chunk",
            },
        }
    }

    /// Whether the elements are in another order than those of the result, so that large chunks are faster.
    pub(crate) fn is_column_major(&self) -> bool {
        match &self.source {
            InputSource::File(array, _) => {
                let header = array.header();
                header.fortran_order && header.shape.iter().filter(|&&size| size != 1).count() > 1
            }
            InputSource::Scalar(_) | InputSource::Range(_) | InputSource::List(_) => false,
        }
    }

    /// The elements of a region; `None` for a number.
    pub(super) fn part(&self, region: &IndexRanges) -> Result<Option<Region<'_>>, CliError> {
        Ok(Some(match &self.source {
            InputSource::Scalar(_) => return Ok(None),
            InputSource::Range(range) => Region::Tensor(range.part(region)),
            InputSource::List(tensor) => Region::View(tensor.view().slice(region)),
            InputSource::File(array, _) => {
                let part = array.region(region)?;
                match self.is_column_major() {
                    // A tiled transpose of the whole part is faster than strided reads later.
                    true => Region::Tensor(part.view().to_owned()?),
                    false => part,
                }
            }
        }))
    }

    /// A reader of a region that decodes it block by block, if it is stored so that this is possible.
    #[cfg(feature = "zarr")]
    pub(super) fn blocks(&self, region: &IndexRanges) -> Result<Option<Box<dyn BlockReader + '_>>, CliError> {
        match &self.source {
            InputSource::File(array, _) => Ok(array.blocks(region)?),
            InputSource::Scalar(_) | InputSource::Range(_) | InputSource::List(_) => Ok(None),
        }
    }

    /// Whether [`blocks`](Input::blocks) reads chunks block by block.
    #[cfg(feature = "zarr")]
    pub(super) fn reads_blocks(&self) -> bool {
        matches!(&self.source, InputSource::File(array, _) if array.reads_blocks())
    }

    /// Whether an expression that needs the whole input decodes it to a temporary file: it is large and stored in
    /// chunks, and its elements can be read from the file where they are.
    fn is_decoded_to_file(&self) -> bool {
        let InputSource::File(array, dtype) = &self.source else { return false };
        let is_large = array.header().data_bytes().is_ok_and(|bytes| bytes > MAX_DECODED_BYTES);
        array.chunk_shape().is_some() && is_large && *dtype != DType::Bool && cfg!(target_endian = "little")
    }

    /// All elements; `None` for a number. A file that needs no conversion is not copied.
    #[cfg_attr(not(feature = "zarr"), allow(unused_variables))]
    fn whole(&self, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<Option<InputPart<'_>>, CliError> {
        let shape = self.shape().unwrap_or_default();
        let region: IndexRanges = shape.iter().map(|&size| 0..size).collect();
        let part = match &self.source {
            #[cfg(feature = "zarr")]
            InputSource::File(array, _) if self.is_decoded_to_file() => {
                Some(PartElements::File(decode_to_file(&**array, &self.text, is_stopped)?))
            }
            InputSource::File(array, _) => Some(PartElements::Region(array.region(&region)?)),
            _ => self.part(&region)?.map(PartElements::Region),
        };
        Ok(part.map(|part| InputPart { region, part }))
    }

    pub(super) fn value<'v>(&self, elements: Option<TensorView<'v>>) -> Value<'v> {
        match (&self.source, elements) {
            (InputSource::Scalar(number), _) => Value::Scalar(*number),
            (_, Some(view)) => Value::Array(view),
            // Unreachable: only numbers have no part.
            (_, None) => Value::Scalar(Scalar::Bool(false)),
        }
    }

    /// Advises the kernel about the pages of a memory-mapped file.
    fn advise(&self, done: Option<&IndexRanges>, next: Option<&IndexRanges>) {
        if let Some(mapped) = self.raw() {
            if let Some(region) = done {
                mapped.release(region);
            }
            if let Some(region) = next {
                mapped.prefetch(region);
            }
        }
    }

    /// The array of a file as contiguous bytes, if it is stored so.
    fn raw(&self) -> Option<&RawArray> {
        match &self.source {
            InputSource::File(array, _) => array.as_raw(),
            InputSource::Scalar(_) | InputSource::Range(_) | InputSource::List(_) => None,
        }
    }

    /// The shape of the chunks of a file that are decoded as a whole.
    pub(crate) fn chunk_shape(&self) -> Option<&[usize]> {
        match &self.source {
            InputSource::File(array, _) => array.chunk_shape(),
            InputSource::Scalar(_) | InputSource::Range(_) | InputSource::List(_) => None,
        }
    }

    /// Whether the elements of a file are read where they are, without a copy.
    fn is_in_place(&self) -> bool {
        self.raw().is_some_and(|raw| raw.view().is_some())
    }
}

/// The parts of all inputs for the current chunk of the result.
pub(crate) struct InputParts<'i> {
    inputs: &'i [Input],
    current: Vec<Option<InputPart<'i>>>,
}

struct InputPart<'i> {
    region: IndexRanges,
    part: PartElements<'i>,
}

/// The elements of a part.
enum PartElements<'i> {
    Region(Region<'i>),
    /// A temporary file, whose elements are read where they are.
    #[cfg(feature = "zarr")]
    File(RawArray),
}

impl PartElements<'_> {
    fn view(&self) -> Option<TensorView<'_>> {
        match self {
            PartElements::Region(region) => Some(region.view()),
            #[cfg(feature = "zarr")]
            PartElements::File(array) => array.view(),
        }
    }
}

impl<'i> InputParts<'i> {
    pub(crate) fn new(inputs: &'i [Input]) -> InputParts<'i> {
        InputParts { inputs, current: inputs.iter().map(|_| None).collect() }
    }

    /// The first element of each array, to infer the dtype of the result.
    pub(crate) fn samples(inputs: &'i [Input]) -> Result<InputParts<'i>, CliError> {
        let mut parts = InputParts::new(inputs);
        for (input, current) in inputs.iter().zip(&mut parts.current) {
            let shape = input.shape().unwrap_or_default();
            let region: IndexRanges = shape.iter().map(|&size| 0..size.min(1)).collect();
            *current =
                input.part(&region)?.map(|part| InputPart { region, part: PartElements::Region(part) });
        }
        Ok(parts)
    }

    /// The whole inputs, for expressions with views or reductions. `is_stopped` ends the decoding of large ones.
    pub(crate) fn whole(
        inputs: &'i [Input],
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<InputParts<'i>, CliError> {
        let current = inputs.iter().map(|input| input.whole(is_stopped)).collect::<Result<_, _>>()?;
        Ok(InputParts { inputs, current })
    }

    /// Reads the parts for a chunk, and advises the kernel about those for the next.
    ///
    /// A part that does not change is kept; any other is freed before the next is read.
    pub(crate) fn load(&mut self, chunk: &IndexRanges, next: Option<&IndexRanges>) -> Result<(), CliError> {
        for (input, current) in self.inputs.iter().zip(&mut self.current) {
            let Some(shape) = input.shape() else { continue };
            let region = input_region(shape, chunk);
            if current.as_ref().is_none_or(|current| current.region != region) {
                let done = current.take().map(|current| current.region);
                input.advise(done.as_ref(), None);
                let part = input.part(&region)?.map(PartElements::Region);
                *current = part.map(|part| InputPart { region: region.clone(), part });
            }
            if let Some(next) = next.map(|next| input_region(shape, next)).filter(|next| *next != region) {
                input.advise(None, Some(&next));
            }
        }
        Ok(())
    }

    /// The names and values of all inputs.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'i str, Value<'_>)> {
        let inputs = self.inputs.iter().zip(&self.current);
        inputs.map(|(input, current)| {
            (input.name.as_str(), input.value(current.as_ref().and_then(|current| current.part.view())))
        })
    }

    /// Binds an expression to [samples](InputParts::samples) stretched to the shapes of the inputs.
    ///
    /// The result has the right shape, dtype and plan, but not the right elements.
    pub(crate) fn bind_stretched(&self, expr: &Expr) -> Result<Bound<'_>, ExprError> {
        expr.bind(self.stretched_values()?)
    }

    /// The names and values of [samples](InputParts::samples), stretched to the shapes of the inputs.
    pub(crate) fn stretched_values(&self) -> Result<Vec<(&'i str, Value<'_>)>, ExprError> {
        let values =
            self.values().zip(self.inputs).map(|((name, value), input)| match (value, input.shape()) {
                (Value::Array(view), Some(shape)) => Ok((name, Value::Array(view.broadcast_to(shape)?))),
                (value, _) => Ok((name, value)),
            });
        Ok(values.collect::<Result<_, unishape::Error>>()?)
    }
}

/// Ranges of indices of an array as ranges of indices of one of its regions.
#[cfg(feature = "zarr")]
pub(super) fn relative_to(ranges: &[Range<usize>], region: &[Range<usize>]) -> IndexRanges {
    let dims = ranges.iter().zip(region);
    dims.map(|(range, region)| range.start - region.start..range.end - region.start).collect()
}

/// The error of an expression: about shapes (exit code 1), other properties of the inputs (5), or the command line (2).
pub(crate) fn expression_error(error: &ExprError) -> CliError {
    match error.kind() {
        ExprErrorKind::Shapes(shapes) => CliError::broadcast(shapes, error),
        ExprErrorKind::WrongType { .. }
        | ExprErrorKind::NoCommonType(_)
        | ExprErrorKind::DoesNotFit { .. }
        | ExprErrorKind::NoCast { .. }
        | ExprErrorKind::Axis { .. }
        | ExprErrorKind::RepeatedAxis(_)
        | ExprErrorKind::Permutation { .. }
        | ExprErrorKind::Squeeze { .. }
        | ExprErrorKind::TooManyIndices { .. }
        | ExprErrorKind::IndexOutOfBounds { .. }
        | ExprErrorKind::EmptyReduction(_)
        | ExprErrorKind::ReductionType { .. }
        // The caller replaces this by the signal: `Progress::interruption_or`.
        | ExprErrorKind::Stopped => CliError::input(error),
        _ => CliError::usage(error),
    }
}
