//! Which inputs of a node are broadcast, to which shape: of every operator that broadcasts.
//!
//! An operator that is in no table here is reported as not analyzed, so that no broadcast is missed.

use crate::graph::Node;
use crate::operators::{Operator, ShapeRule};
use crate::shape_inference::Scope;
use crate::shape_inference::rules::{
    einsum_operands, gemm_rows_and_columns, has_transposed_batch, matmul_batch,
};
use crate::shape_inference::symbolic::{Dim, SymbolicShape, broadcast_all};
use std::fmt;

/// Kind of broadcasting.
///
/// ```
/// use unishape_onnx::BroadcastKind;
///
/// assert_eq!(BroadcastKind::MatMul.to_string(), "matmul");
/// assert_eq!("element-wise".parse(), Ok(BroadcastKind::ElementWise));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BroadcastKind {
    /// Inputs of an element-wise operator, such as Add.
    ElementWise,
    /// A single exponent of Pow.
    ///
    /// ONNX Runtime computes it differently from an expanded one.
    ScalarExponent,
    /// The matrix C of Gemm.
    Gemm,
    /// Batch dimensions of matrix products.
    MatMul,
    /// Scale and bias of a normalization.
    Normalization,
    /// Scale and zero point along an axis.
    Quantization,
    /// Masks, biases and heads of attention.
    Attention,
    /// Dimensions of size 1, or left out by an ellipsis, in Einsum.
    Einsum,
    /// The bias of an activation such as BiasGelu, which takes no other shape.
    Bias,
}

impl BroadcastKind {
    /// All kinds.
    pub const ALL: [BroadcastKind; 9] = [
        BroadcastKind::ElementWise,
        BroadcastKind::ScalarExponent,
        BroadcastKind::Gemm,
        BroadcastKind::MatMul,
        BroadcastKind::Normalization,
        BroadcastKind::Quantization,
        BroadcastKind::Attention,
        BroadcastKind::Einsum,
        BroadcastKind::Bias,
    ];

    /// Name on the command line and in JSON.
    ///
    /// ```
    /// assert_eq!(unishape_onnx::BroadcastKind::ScalarExponent.name(), "pow");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            BroadcastKind::ElementWise => "element-wise",
            BroadcastKind::ScalarExponent => "pow",
            BroadcastKind::Gemm => "gemm",
            BroadcastKind::MatMul => "matmul",
            BroadcastKind::Normalization => "normalization",
            BroadcastKind::Quantization => "quantization",
            BroadcastKind::Attention => "attention",
            BroadcastKind::Einsum => "einsum",
            BroadcastKind::Bias => "bias",
        }
    }
}

impl fmt::Display for BroadcastKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for BroadcastKind {
    type Err = String;

    fn from_str(text: &str) -> Result<BroadcastKind, String> {
        let names = BroadcastKind::ALL.map(BroadcastKind::name).join(", ");
        let kind = BroadcastKind::ALL.into_iter().find(|kind| kind.name() == text);
        kind.ok_or_else(|| format!("expected one of {names}"))
    }
}

/// What a node does with the shapes of its inputs.
pub(crate) enum Finding<'n> {
    /// It does not broadcast, whatever the unknown sizes are.
    None,
    /// It broadcasts, or may.
    Broadcast(Broadcast<'n>),
    /// It may broadcast in a way that is not analyzed, for this reason.
    NotAnalyzed(&'static str),
    /// Its inputs are incompatible (E1), which the inference reports if it knows their shapes before the node.
    Incompatible,
}

/// A node that broadcasts, or may.
pub(crate) struct Broadcast<'n> {
    pub(crate) kind: BroadcastKind,
    /// Indices and names of the inputs that are broadcast together.
    pub(crate) inputs: Vec<(usize, &'n str)>,
    /// Common shape, or that of the result.
    pub(crate) common: SymbolicShape,
    pub(crate) stretched: Vec<Stretch<'n>>,
}

impl Broadcast<'_> {
    /// No input is stretched.
    fn none(kind: BroadcastKind) -> Self {
        Broadcast { kind, inputs: Vec::new(), common: SymbolicShape::new(Vec::new()), stretched: Vec::new() }
    }
}

/// An input that is stretched, or may be.
pub(crate) struct Stretch<'n> {
    pub(crate) input: usize,
    pub(crate) name: &'n str,
    pub(crate) from: SymbolicShape,
    pub(crate) to: SymbolicShape,
    /// Axis of `to` that the only dimension of `from` is for; otherwise dimensions are aligned from the right.
    pub(crate) axis: Option<usize>,
}

impl Stretch<'_> {
    /// For each dimension of `to`, that of `from`; `None` if a rank is unknown.
    pub(crate) fn aligned(&self) -> Option<Vec<Option<&Dim>>> {
        let (from, to) = (self.from.dims()?, self.to.dims()?);
        Some(match self.axis {
            Some(axis) => (0..to.len()).map(|dim| from.first().filter(|_| dim == axis)).collect(),
            None => {
                let added = to.len().saturating_sub(from.len());
                (0..to.len()).map(|dim| dim.checked_sub(added).and_then(|dim| from.get(dim))).collect()
            }
        })
    }

    /// Whether the input is stretched whatever the unknown sizes are.
    pub(crate) fn is_certain(&self) -> bool {
        let (Some(aligned), Some(to)) = (self.aligned(), self.to.dims()) else { return false };
        aligned.iter().zip(to).any(|(from, to)| match from {
            None => true,
            Some(Dim::Known(1)) => to.is_certainly_not_one(),
            Some(from) => from.certainly_differs(to),
        })
    }
}

/// Operators of the default domain that never broadcast.
///
/// Their parameters, such as the bias of Conv, have a fixed shape or are scalars.
const NEVER: &[&str] = &[
    "AdaptiveAveragePool",
    "AffineGrid",
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "BatchNormalization",
    "Bernoulli",
    "BitCast",
    "BlackmanWindow",
    "Cast",
    "CenterCropPad",
    "Clip",
    "Col2Im",
    "Compress",
    "Concat",
    "ConcatFromSequence",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "CumProd",
    "CumSum",
    "DFT",
    "DeformConv",
    "DepthToSpace",
    "Det",
    "Dropout",
    "DynamicQuantizeLinear",
    "Expand",
    "EyeLike",
    "Flatten",
    "GRU",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalAveragePool",
    "GlobalLpPool",
    "GlobalMaxPool",
    "GridSample",
    "HammingWindow",
    "HannWindow",
    "Hardmax",
    "If",
    "ImageDecoder",
    "InstanceNormalization",
    "LRN",
    "LSTM",
    "LogSoftmax",
    "Loop",
    "LpNormalization",
    "LpPool",
    "MaxPool",
    "MaxRoiPool",
    "MaxUnpool",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "Multinomial",
    "NegativeLogLikelihoodLoss",
    "NonMaxSuppression",
    "NonZero",
    "OneHot",
    "Optional",
    "OptionalGetElement",
    "OptionalHasElement",
    "Pad",
    "QLinearConv",
    "RNN",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Range",
    "RegexFullMatch",
    "Reshape",
    "Resize",
    "ReverseSequence",
    "RoiAlign",
    "STFT",
    "Scan",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SequenceMap",
    "Shape",
    "Shrink",
    "Size",
    "Slice",
    "Softmax",
    "SoftmaxCrossEntropyLoss",
    "SpaceToDepth",
    "Split",
    "SplitToSequence",
    "SwiGLU",
    "Squeeze",
    "StringNormalizer",
    "StringSplit",
    "TensorScatter",
    "TfIdfVectorizer",
    "Tile",
    "TopK",
    "Transpose",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Upsample",
];

/// Operators of `com.microsoft` that never broadcast.
const NEVER_MICROSOFT: &[&str] = &[
    "CDist",
    "ConvTransposeWithDynamicPads",
    "CropAndResize",
    "ExpandDims",
    "FusedConv",
    "GatherND",
    "Gelu",
    "Inverse",
    "Irfft",
    "NhwcMaxPool",
    "NhwcConv",
    "NhwcFusedConv",
    "Pad",
    "QLinearAveragePool",
    "QLinearConcat",
    "QLinearConv",
    "QLinearGlobalAveragePool",
    "QLinearLeakyRelu",
    "QLinearReduceMean",
    "QLinearSigmoid",
    "QLinearSoftmax",
    "QuickGelu",
    "Range",
    "ReduceSumInteger",
    "Rfft",
    "SampleOp",
    "Tokenizer",
    "Trilu",
    "Unique",
    "WordConvEmbedding",
];

/// Operators of `ai.onnx.ml`: their parameters are attributes.
const NEVER_MACHINE_LEARNING: &[&str] = &[
    "ArrayFeatureExtractor",
    "Binarizer",
    "CastMap",
    "CategoryMapper",
    "DictVectorizer",
    "FeatureVectorizer",
    "Imputer",
    "LabelEncoder",
    "LinearClassifier",
    "LinearRegressor",
    "Normalizer",
    "OneHotEncoder",
    "SVMClassifier",
    "SVMRegressor",
    "Scaler",
    "TreeEnsemble",
    "TreeEnsembleClassifier",
    "TreeEnsembleRegressor",
    "ZipMap",
];

const UNKNOWN: &str = "unknown operator";
const INCOMPATIBLE: &str = "its inputs are missing or incompatible";

impl<'n> Finding<'n> {
    /// Analyzes a node of a graph with these values.
    pub(crate) fn of(node: &'n Node, scope: &Scope) -> Finding<'n> {
        let analysis = Analysis { node, scope };
        // The body of the function is analyzed instead.
        if scope.call(node.index).is_some() && !node.may_be_built_in() {
            return Finding::None;
        }
        let broadcast = match (&*node.domain, &*node.op_type) {
            ("", _) => return analysis.standard(),
            ("com.microsoft", name) => match name {
                "QLinearAdd" | "QLinearMul" => analysis.multidirectional(&[0, 3]),
                "BiasGelu" | "FastGelu" | "BiasAdd" | "BiasSoftmax" | "BiasDropout" => {
                    analysis.unidirectional(BroadcastKind::Bias, &[1])
                }
                "FusedGemm" => analysis.gemm(),
                "FusedMatMul" if !has_transposed_batch(node) => analysis.matmul(0, 1, &[], &[]),
                "DynamicQuantizeMatMul" => analysis.matmul_with_bias(&[], &[2, 3], 4),
                "MatMulIntegerToFloat" => analysis.matmul_with_bias(&[2, 4], &[3, 5], 6),
                "SkipLayerNormalization" => {
                    analysis.unidirectional(BroadcastKind::Normalization, &[1, 2, 3, 4])
                }
                "SkipSimplifiedLayerNormalization" => {
                    analysis.unidirectional(BroadcastKind::Normalization, &[1, 2, 3])
                }
                "SimplifiedLayerNormalization" | "LayerNormalization" => {
                    analysis.unidirectional(BroadcastKind::Normalization, &[1, 2])
                }
                "QuantizeLinear" | "DequantizeLinear" => analysis.quantization(),
                _ if NEVER_MICROSOFT.contains(&name) => return Finding::None,
                "Attention"
                | "MultiHeadAttention"
                | "GroupQueryAttention"
                | "PackedAttention"
                | "DecoderMaskedMultiHeadAttention"
                | "QAttention"
                | "LongformerAttention" => {
                    return Finding::NotAnalyzed("its masks and biases broadcast");
                }
                _ => return Finding::NotAnalyzed(UNKNOWN),
            },
            ("ai.onnx.ml", name) if NEVER_MACHINE_LEARNING.contains(&name) => return Finding::None,
            _ => return Finding::NotAnalyzed(UNKNOWN),
        };
        broadcast.map_or(Finding::NotAnalyzed(INCOMPATIBLE), Finding::from)
    }
}

impl<'n> From<Broadcast<'n>> for Finding<'n> {
    fn from(broadcast: Broadcast<'n>) -> Finding<'n> {
        match broadcast.stretched.is_empty() {
            true => Finding::None,
            false => Finding::Broadcast(broadcast),
        }
    }
}

/// A node and what is known about the values of its graph.
struct Analysis<'n, 's> {
    node: &'n Node,
    scope: &'s Scope,
}

impl<'n, 's> Analysis<'n, 's> {
    fn standard(&self) -> Finding<'n> {
        let node = self.node;
        if node.has_unread_subgraph {
            return Finding::NotAnalyzed("its subgraph is nested too deeply");
        }
        let subgraphs = match &*node.op_type {
            "If" => 2,
            "Loop" | "Scan" | "SequenceMap" => 1,
            _ => 0,
        };
        if node.subgraphs.len() < subgraphs {
            return Finding::NotAnalyzed("its subgraph is missing");
        }
        if let Some(operator) = Operator::of_node(node) {
            match operator.shape_rule {
                ShapeRule::Multidirectional if node.legacy_broadcast_attribute().is_some() => {
                    return Finding::NotAnalyzed(
                        "broadcasting before opset 7; convert the model to opset 8 or later \
                         (onnx.version_converter)",
                    );
                }
                ShapeRule::Multidirectional => {
                    let all: Vec<usize> = (0..node.inputs.len()).collect();
                    return self.multidirectional(&all).map_or(Finding::Incompatible, Finding::from);
                }
                // ONNX Runtime stretches the first input, too, although ONNX does not allow it.
                ShapeRule::Unidirectional => {
                    let broadcast = self.multidirectional(&[0, 1]);
                    return broadcast.map_or(Finding::NotAnalyzed(INCOMPATIBLE), Finding::from);
                }
                ShapeRule::SameShape | ShapeRule::Reduction | ShapeRule::ShapeOperator => {
                    return Finding::None;
                }
                ShapeRule::Normalization => {}
            }
        }
        let broadcast = match &*node.op_type {
            "MatMul" => self.matmul(0, 1, &[], &[]),
            "MatMulInteger" => self.matmul(0, 1, &[2], &[3]),
            "QLinearMatMul" => self.matmul(0, 3, &[1, 2], &[4, 5]),
            "Gemm" => self.gemm(),
            "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" => {
                self.unidirectional(BroadcastKind::Normalization, &[1, 2])
            }
            "GroupNormalization" => self.along_axis(BroadcastKind::Normalization, &[1, 2], 1),
            "QuantizeLinear" | "DequantizeLinear" => self.quantization(),
            "Einsum" => match einsum_operands(node) {
                Some(_) => self.einsum(),
                None => return Finding::NotAnalyzed("its equation is invalid"),
            },
            "Attention" => self.attention(),
            "RotaryEmbedding" => return Finding::NotAnalyzed("its caches broadcast"),
            name if NEVER.contains(&name) => return Finding::None,
            _ => return Finding::NotAnalyzed(UNKNOWN),
        };
        broadcast.map_or(Finding::NotAnalyzed(INCOMPATIBLE), Finding::from)
    }

    fn shape(&self, input: usize) -> Option<&'s SymbolicShape> {
        self.scope.shape(self.node.input(input)?)
    }

    fn dims(&self, input: usize) -> Option<&'s [Dim]> {
        self.shape(input)?.dims()
    }

    /// A stretched input; `None` if its shape is that of `to` anyway.
    fn stretch(&self, input: usize, to: &SymbolicShape, axis: Option<usize>) -> Option<Stretch<'n>> {
        let (name, from) = (self.node.input(input)?, self.shape(input)?);
        (from != to).then(|| Stretch { input, name, from: from.clone(), to: to.clone(), axis })
    }

    fn named(&self, inputs: &[usize]) -> Vec<(usize, &'n str)> {
        inputs.iter().filter_map(|&index| Some((index, self.node.input(index)?))).collect()
    }

    fn multidirectional(&self, indices: &[usize]) -> Option<Broadcast<'n>> {
        let inputs = self.named(indices);
        let shapes = inputs.iter().map(|&(index, _)| self.shape(index)).collect::<Option<Vec<_>>>()?;
        let common = broadcast_all(shapes.iter().copied(), &[]).ok()?;
        let stretched: Vec<Stretch<'n>> =
            inputs.iter().filter_map(|&(index, _)| self.stretch(index, &common, None)).collect();
        let is_exponent = |stretch: &Stretch<'n>| stretch.input == 1 && is_single(&stretch.from);
        let kind = match self.node.op_type == "Pow" && stretched.iter().all(is_exponent) {
            true => BroadcastKind::ScalarExponent,
            false => BroadcastKind::ElementWise,
        };
        Some(Broadcast { kind, inputs, common, stretched })
    }

    /// Inputs that are broadcast to the shape of the first.
    fn unidirectional(&self, kind: BroadcastKind, indices: &[usize]) -> Option<Broadcast<'n>> {
        let to = self.shape(0)?;
        let all: Vec<usize> = [0].iter().chain(indices).copied().collect();
        let shapes = all.iter().filter_map(|&index| self.shape(index));
        // The first input already has the common shape; anything else is invalid.
        broadcast_all(shapes.collect::<Vec<_>>().iter().copied(), &[]).ok()?;
        let stretched = indices.iter().filter_map(|&index| self.stretch(index, to, None)).collect();
        Some(Broadcast { kind, inputs: self.named(&all), common: to.clone(), stretched })
    }

    /// Inputs of rank 1 that are for an axis of the first.
    fn along_axis(&self, kind: BroadcastKind, indices: &[usize], axis: i64) -> Option<Broadcast<'n>> {
        let to = self.shape(0)?;
        let axis = to.dims().and_then(|dims| {
            let axis = if axis < 0 { axis + dims.len() as i64 } else { axis };
            usize::try_from(axis).ok().filter(|axis| *axis < dims.len())
        });
        let all: Vec<usize> = [0].iter().chain(indices).copied().collect();
        let stretched = indices.iter().filter_map(|&index| self.stretch(index, to, axis)).collect();
        Some(Broadcast { kind, inputs: self.named(&all), common: to.clone(), stretched })
    }

    fn quantization(&self) -> Option<Broadcast<'n>> {
        // A single scale is a parameter of the whole tensor.
        if self.shape(1).is_some_and(is_single) {
            return Some(Broadcast::none(BroadcastKind::Quantization));
        }
        let axis = self.node.int("axis", 1).unwrap_or(1);
        match self.dims(1) {
            // Blocks of elements along an axis share a scale.
            Some(dims) if dims.len() > 1 => {
                let to = self.shape(0)?;
                let stretched = [1, 2].iter().filter_map(|&index| self.stretch(index, to, None)).collect();
                let inputs = self.named(&[0, 1, 2]);
                Some(Broadcast { kind: BroadcastKind::Quantization, inputs, common: to.clone(), stretched })
            }
            _ => self.along_axis(BroadcastKind::Quantization, &[1, 2], axis),
        }
    }

    /// Batch dimensions of the inputs `a` and `b`, and parameters along rows of `a` and columns of `b`.
    fn matmul(&self, a: usize, b: usize, of_a: &[usize], of_b: &[usize]) -> Option<Broadcast<'n>> {
        let kind = BroadcastKind::MatMul;
        let inputs = self.named(&[a, b]);
        let (a_shape, b_shape) = (self.shape(a)?, self.shape(b)?);
        let (Some(a_dims), Some(b_dims)) = (a_shape.dims(), b_shape.dims()) else {
            // The batch dimensions are equal if both inputs are the same value.
            let common = a_shape.broadcast_with(b_shape)?;
            let stretched: Vec<Stretch<'n>> =
                inputs.iter().filter_map(|&(index, _)| self.stretch(index, &common, None)).collect();
            return Some(Broadcast { kind, inputs, common, stretched });
        };
        let split = |dims: &[Dim]| {
            let matrix = dims.len().saturating_sub(2);
            (dims[..matrix].to_vec(), dims[matrix..].to_vec())
        };
        let ((a_batch, a_matrix), (b_batch, b_matrix)) = (split(a_dims), split(b_dims));
        let batch = matmul_batch(&a_batch, &b_batch)?;
        let with_batch =
            |matrix: &[Dim]| SymbolicShape::new([batch.dims().unwrap_or_default(), matrix].concat());
        let mut stretched: Vec<Stretch<'n>> = [(a, &a_matrix), (b, &b_matrix)]
            .iter()
            .filter_map(|(input, matrix)| self.stretch(*input, &with_batch(matrix), None))
            .collect();
        // Parameters such as zero points, per row or per column.
        for (parameters, dims, from_end) in [(of_a, a_dims, 2), (of_b, b_dims, 1)] {
            for &index in parameters {
                let (Some(shape), Some(axis)) = (self.shape(index), dims.len().checked_sub(from_end)) else {
                    continue;
                };
                if !is_single(shape) {
                    let axis = shape.dims().filter(|dims| dims.len() == 1).map(|_| axis);
                    stretched.extend(self.stretch(index, &SymbolicShape::new(dims.to_vec()), axis));
                }
            }
        }
        let common = with_batch(&[]);
        Some(Broadcast { kind, inputs, common, stretched })
    }

    /// As `matmul` of the first two inputs, with a bias that is added to every row of the result.
    fn matmul_with_bias(&self, of_a: &[usize], of_b: &[usize], bias: usize) -> Option<Broadcast<'n>> {
        let mut broadcast = self.matmul(0, 1, of_a, of_b)?;
        let result = self.node.outputs.first().and_then(|name| self.scope.shape(name)).cloned();
        let result = result.unwrap_or_else(|| SymbolicShape::unranked(usize::MAX));
        broadcast.stretched.extend(self.stretch(bias, &result, None));
        Some(broadcast)
    }

    fn gemm(&self) -> Option<Broadcast<'n>> {
        if self.node.input(2).is_none() {
            return Some(Broadcast::none(BroadcastKind::Gemm));
        }
        let sizes = match (self.dims(0), self.dims(1)) {
            (Some(a), Some(b)) => gemm_rows_and_columns(self.node, a, b),
            _ => None,
        };
        let common = match sizes {
            Some((rows, columns)) => SymbolicShape::new(vec![rows.clone(), columns.clone()]),
            // The rank of the result is 2 anyway; its sizes are those of the output.
            None => {
                let output = self.node.outputs.first().and_then(|name| self.scope.shape(name));
                output.cloned().unwrap_or_else(|| SymbolicShape::unranked(usize::MAX))
            }
        };
        let stretched = self.stretch(2, &common, None).into_iter().collect();
        Some(Broadcast { kind: BroadcastKind::Gemm, inputs: self.named(&[2]), common, stretched })
    }

    fn einsum(&self) -> Option<Broadcast<'n>> {
        let (operands, _) = einsum_operands(self.node)?;
        let all: Vec<usize> = (0..operands.len()).collect();
        let inputs = self.named(&all);
        let dims = all.iter().map(|&input| self.dims(input)).collect::<Option<Vec<_>>>();
        let kind = BroadcastKind::Einsum;
        let Some(dims) = dims else {
            // Without ranks, an ellipsis may stand for anything.
            let common = SymbolicShape::unranked(usize::MAX);
            let stretched =
                inputs.iter().filter_map(|&(input, _)| self.stretch(input, &common, None)).collect();
            return Some(Broadcast { kind, inputs, common, stretched });
        };
        let mut hidden = SymbolicShape::new(vec![]);
        let mut sizes: std::collections::HashMap<char, SymbolicShape> = Default::default();
        for (operand, dims) in operands.iter().zip(&dims) {
            hidden = hidden.broadcast_with(&SymbolicShape::new(operand.ellipsis_dims(dims)?.to_vec()))?;
            for (label, dim) in operand.dim_labels(dims.len())?.into_iter().zip(*dims) {
                let Some(label) = label else { continue };
                let one = SymbolicShape::new(vec![dim.clone()]);
                let common =
                    sizes.get(&label).map_or(Some(one.clone()), |known| known.broadcast_with(&one))?;
                sizes.insert(label, common);
            }
        }
        let mut stretched = Vec::new();
        for (index, operand) in operands.iter().enumerate() {
            let mut to = Vec::new();
            for label in &operand.labels {
                to.push(sizes.get(label)?.dims()?.first()?.clone());
            }
            if let Some(start) = operand.ellipsis {
                to.splice(start..start, hidden.dims()?.iter().cloned());
            }
            let to = SymbolicShape::new(to);
            // Axes of an ellipsis that are missing are not at the start of the shape.
            let Some(stretch) = self.stretch(index, &to, None) else { continue };
            stretched.push(stretch);
        }
        Some(Broadcast { kind, inputs, common: hidden, stretched })
    }

    /// The mask, and heads of key and value that several heads of the query share.
    fn attention(&self) -> Option<Broadcast<'n>> {
        let kind = BroadcastKind::Attention;
        let mut stretched = Vec::new();
        let scores = match (self.dims(0), self.dims(1), self.node.input(4)) {
            (Some([batch, heads, rows, _]), Some([_, _, columns, _]), None) => {
                SymbolicShape::new(vec![batch.clone(), heads.clone(), rows.clone(), columns.clone()])
            }
            (Some([batch, rows, _]), Some([_, columns, _]), None) => {
                let heads =
                    self.node.int("q_num_heads", 0).ok().and_then(|heads| usize::try_from(heads).ok());
                SymbolicShape::new(vec![batch.clone(), Dim::Known(heads?), rows.clone(), columns.clone()])
            }
            _ => SymbolicShape::unranked(usize::MAX),
        };
        stretched.extend(self.stretch(3, &scores, None));
        if let (Some([batch, heads, _, _]), Some(key), Some(value)) =
            (self.dims(0), self.dims(1), self.dims(2))
        {
            for (index, dims) in [(1, key), (2, value)] {
                let [_, _, rest @ ..] = dims else { continue };
                let to = SymbolicShape::new([&[batch.clone(), heads.clone()], rest].concat());
                stretched.extend(self.stretch(index, &to, None));
            }
        }
        let (query, kv) = (self.node.int("q_num_heads", 0), self.node.int("kv_num_heads", 0));
        let has_ranks = (0..3).all(|input| self.dims(input).is_some());
        let has_merged_heads = self.dims(0).is_some_and(|dims| dims.len() == 3);
        if !has_ranks || (query != kv && has_merged_heads) {
            let to = SymbolicShape::unranked(usize::MAX);
            stretched.extend([1, 2].iter().filter_map(|&index| self.stretch(index, &to, None)));
        }
        Some(Broadcast { kind, inputs: self.named(&[0, 1, 2, 3]), common: scores, stretched })
    }
}

/// Whether a shape certainly has one element.
pub(crate) fn is_single(shape: &SymbolicShape) -> bool {
    shape.dims().is_some_and(|dims| dims.iter().all(|dim| *dim == Dim::Known(1)))
}
