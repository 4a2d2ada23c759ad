//! The parts of all inputs for a chunk of a Zarr array, block by block.

use super::inputs::{Input, relative_to};
use crate::chunks::input_region;
use crate::error::CliError;
use unishape::Tensor;
use unishape::expr::Value;
use unishape_array_text::IndexRanges;
use unishape_files::BlockReader;
use unishape_npy::Region;

/// The inputs of a chunk of the result. Those that are stored in the same chunks are decoded block by block.
pub(crate) struct BlockParts<'i> {
    inputs: &'i [Input],
    parts: Vec<BlockPart<'i>>,
    block: IndexRanges,
}

enum BlockPart<'i> {
    Number,
    /// The elements for the whole chunk.
    Whole {
        region: IndexRanges,
        elements: Region<'i>,
    },
    /// The elements for the current block.
    Block {
        reader: Box<dyn BlockReader + 'i>,
        elements: Option<Tensor>,
    },
}

impl<'i> BlockParts<'i> {
    /// Opens the inputs for a chunk of the result.
    pub(crate) fn open(inputs: &'i [Input], chunk: &IndexRanges) -> Result<BlockParts<'i>, CliError> {
        let open = |input: &'i Input| {
            let Some(shape) = input.shape() else { return Ok(BlockPart::Number) };
            let region = input_region(shape, chunk);
            // A stretched input would be read several times.
            let more = chunk.len() - shape.len();
            let is_stretched = chunk[..more].iter().any(|range| range.len() > 1) || region != chunk[more..];
            let reader = if is_stretched { None } else { input.blocks(&region)? };
            if let Some(reader) = reader {
                return Ok(BlockPart::Block { reader, elements: None });
            }
            Ok(match input.part(&region)? {
                Some(elements) => BlockPart::Whole { region, elements },
                None => BlockPart::Number,
            })
        };
        let parts = inputs.iter().map(open).collect::<Result<_, CliError>>()?;
        Ok(BlockParts { inputs, parts, block: IndexRanges::new() })
    }

    /// Reads the parts for the next block of the chunk.
    pub(crate) fn load(&mut self, block: &IndexRanges) -> Result<(), CliError> {
        for (input, part) in self.inputs.iter().zip(&mut self.parts) {
            if let BlockPart::Block { reader, elements } = part {
                // Freed before the next one is read.
                *elements = None;
                *elements = Some(reader.read(&input_region(input.shape().unwrap_or_default(), block))?);
            }
        }
        self.block.clone_from(block);
        Ok(())
    }

    /// The names and values of all inputs.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&'i str, Value<'_>)> {
        self.inputs.iter().zip(&self.parts).map(|(input, part)| {
            let value = match part {
                BlockPart::Block { elements: Some(tensor), .. } => Value::Array(tensor.view()),
                BlockPart::Whole { region, elements } => {
                    let own = input_region(input.shape().unwrap_or_default(), &self.block);
                    Value::Array(elements.view().slice(&relative_to(&own, region)))
                }
                BlockPart::Number | BlockPart::Block { .. } => input.value(None),
            };
            (input.name.as_str(), value)
        })
    }
}
