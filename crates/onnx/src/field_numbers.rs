//! Field numbers of the messages in `onnx.proto`, one module per message.

pub(crate) mod model {
    pub(crate) const IR_VERSION: u32 = 1;
    pub(crate) const PRODUCER_NAME: u32 = 2;
    pub(crate) const GRAPH: u32 = 7;
    pub(crate) const OPSET_IMPORT: u32 = 8;
    pub(crate) const TRAINING_INFO: u32 = 20;
    pub(crate) const FUNCTIONS: u32 = 25;
}

pub(crate) mod opset {
    pub(crate) const DOMAIN: u32 = 1;
    pub(crate) const VERSION: u32 = 2;
}

pub(crate) mod function {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const INPUT: u32 = 4;
    pub(crate) const OUTPUT: u32 = 5;
    pub(crate) const NODE: u32 = 7;
    pub(crate) const OPSET_IMPORT: u32 = 9;
    pub(crate) const DOMAIN: u32 = 10;
    pub(crate) const ATTRIBUTE_PROTO: u32 = 11;
    pub(crate) const VALUE_INFO: u32 = 12;
    pub(crate) const OVERLOAD: u32 = 13;
}

pub(crate) mod graph {
    pub(crate) const NODE: u32 = 1;
    pub(crate) const INITIALIZER: u32 = 5;
    pub(crate) const INPUT: u32 = 11;
    pub(crate) const OUTPUT: u32 = 12;
    pub(crate) const VALUE_INFO: u32 = 13;
    pub(crate) const SPARSE_INITIALIZER: u32 = 15;
}

pub(crate) mod node {
    pub(crate) const INPUT: u32 = 1;
    pub(crate) const OUTPUT: u32 = 2;
    pub(crate) const NAME: u32 = 3;
    pub(crate) const OP_TYPE: u32 = 4;
    pub(crate) const ATTRIBUTE: u32 = 5;
    pub(crate) const DOMAIN: u32 = 7;
    pub(crate) const OVERLOAD: u32 = 8;
}

pub(crate) mod attribute {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const F: u32 = 2;
    pub(crate) const I: u32 = 3;
    pub(crate) const S: u32 = 4;
    pub(crate) const T: u32 = 5;
    pub(crate) const G: u32 = 6;
    pub(crate) const FLOATS: u32 = 7;
    pub(crate) const INTS: u32 = 8;
    pub(crate) const STRINGS: u32 = 9;
    pub(crate) const GRAPHS: u32 = 11;
    pub(crate) const TYPE: u32 = 20;
    pub(crate) const REF_ATTR_NAME: u32 = 21;
}

/// Values of the enum `AttributeProto.AttributeType`.
pub(crate) mod attribute_type {
    pub(crate) const FLOAT: i64 = 1;
    pub(crate) const INT: i64 = 2;
    pub(crate) const STRING: i64 = 3;
    pub(crate) const TENSOR: i64 = 4;
    pub(crate) const GRAPH: i64 = 5;
    pub(crate) const INTS: i64 = 7;
}

pub(crate) mod tensor {
    pub(crate) const DIMS: u32 = 1;
    pub(crate) const DATA_TYPE: u32 = 2;
    pub(crate) const SEGMENT: u32 = 3;
    pub(crate) const FLOAT_DATA: u32 = 4;
    pub(crate) const INT32_DATA: u32 = 5;
    pub(crate) const STRING_DATA: u32 = 6;
    pub(crate) const INT64_DATA: u32 = 7;
    pub(crate) const NAME: u32 = 8;
    pub(crate) const RAW_DATA: u32 = 9;
    pub(crate) const DOUBLE_DATA: u32 = 10;
    pub(crate) const UINT64_DATA: u32 = 11;
    pub(crate) const EXTERNAL_DATA: u32 = 13;
    pub(crate) const DATA_LOCATION: u32 = 14;
}

/// `StringStringEntryProto`.
pub(crate) mod entry {
    pub(crate) const KEY: u32 = 1;
    pub(crate) const VALUE: u32 = 2;
}

pub(crate) mod sparse_tensor {
    pub(crate) const VALUES: u32 = 1;
}

pub(crate) mod value_info {
    pub(crate) const NAME: u32 = 1;
    pub(crate) const TYPE: u32 = 2;
}

pub(crate) mod type_proto {
    pub(crate) const TENSOR_TYPE: u32 = 1;
}

/// `TypeProto.Tensor`.
pub(crate) mod tensor_type {
    pub(crate) const ELEM_TYPE: u32 = 1;
    pub(crate) const SHAPE: u32 = 2;
}

pub(crate) mod shape {
    pub(crate) const DIM: u32 = 1;
}

/// `TensorShapeProto.Dimension`.
pub(crate) mod dimension {
    pub(crate) const DIM_VALUE: u32 = 1;
    pub(crate) const DIM_PARAM: u32 = 2;
}
