//! Metadata of arrays and groups that are written.

use serde_json::{Map, Value, json};
use unishape::DType;

/// Level of zstd: fast, and nearly as small as higher ones.
pub(crate) const ZSTD_LEVEL: i32 = 1;

/// A version of the Zarr format.
///
/// ```
/// assert_ne!(unishape_zarr::Format::V2, unishape_zarr::Format::V3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Version 2.
    V2,
    /// Version 3.
    V3,
}

impl Format {
    /// Whether chunks of zeros need no file: the fill value is 0.
    ///
    /// In version 2 there is none, since xarray takes it for the mark of missing values and reads NaN instead.
    pub(crate) fn omits_zeros(self) -> bool {
        self == Format::V3
    }

    /// The path of a chunk below the directory of its array.
    pub(crate) fn chunk_path(self, index: &[u64]) -> String {
        let index: Vec<String> = index.iter().map(u64::to_string).collect();
        match self {
            Format::V2 if index.is_empty() => "0".into(),
            Format::V2 => index.join("."),
            Format::V3 => std::iter::once("c".to_owned()).chain(index).collect::<Vec<_>>().join("/"),
        }
    }
}

/// The name of a dtype in version 3, and in version 2; `None` for those that Zarr does not have.
pub(crate) fn dtype_names(dtype: DType) -> Option<(&'static str, &'static str)> {
    Some(match dtype {
        DType::F16 => ("float16", "<f2"),
        DType::F32 => ("float32", "<f4"),
        DType::F64 => ("float64", "<f8"),
        DType::I8 => ("int8", "|i1"),
        DType::I16 => ("int16", "<i2"),
        DType::I32 => ("int32", "<i4"),
        DType::I64 => ("int64", "<i8"),
        DType::U8 => ("uint8", "|u1"),
        DType::U16 => ("uint16", "<u2"),
        DType::U32 => ("uint32", "<u4"),
        DType::U64 => ("uint64", "<u8"),
        DType::Bool => ("bool", "|b1"),
        DType::C64 => ("complex64", "<c8"),
        DType::C128 => ("complex128", "<c16"),
        DType::BF16 | DType::Str => return None,
    })
}

/// The files of an array's metadata: names and contents.
pub(crate) fn array_files(
    format: Format,
    dtype: DType,
    shape: &[usize],
    chunks: &[usize],
) -> Option<Vec<(&'static str, Value)>> {
    let (v3, v2) = dtype_names(dtype)?;
    let names: Vec<String> = (0..shape.len()).map(|dim| format!("dim_{dim}")).collect();
    let zero = match dtype {
        DType::Bool => json!(false),
        DType::F16 | DType::F32 | DType::F64 => json!(0.0),
        DType::C64 | DType::C128 => json!([0.0, 0.0]),
        _ => json!(0),
    };
    Some(match format {
        Format::V3 => {
            let endian = if dtype.item_size() > 1 { json!({"endian": "little"}) } else { json!({}) };
            let metadata = json!({
                "zarr_format": 3,
                "node_type": "array",
                "shape": shape,
                "data_type": v3,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "fill_value": zero,
                "codecs": [
                    {"name": "bytes", "configuration": endian},
                    {"name": "zstd", "configuration": {"level": ZSTD_LEVEL, "checksum": false}},
                ],
                "dimension_names": names,
                "attributes": {},
            });
            vec![("zarr.json", metadata)]
        }
        Format::V2 => {
            let metadata = json!({
                "zarr_format": 2,
                "shape": shape,
                "chunks": chunks,
                "dtype": v2,
                "compressor": {"id": "zstd", "level": ZSTD_LEVEL},
                "fill_value": null,
                "order": "C",
                "filters": null,
                "dimension_separator": ".",
            });
            // The names of dimensions, as xarray writes them.
            vec![(".zarray", metadata), (".zattrs", json!({ "_ARRAY_DIMENSIONS": names }))]
        }
    })
}

/// The files of the metadata of a group inside the store.
pub(crate) fn group_files(format: Format) -> Vec<(&'static str, Value)> {
    match format {
        Format::V3 => vec![("zarr.json", json!({"zarr_format": 3, "node_type": "group", "attributes": {}}))],
        Format::V2 => vec![(".zgroup", json!({"zarr_format": 2}))],
    }
}

/// The files of the metadata of the store: a group with the consolidated metadata of all nodes in it.
pub(crate) fn root_files(
    format: Format,
    nodes: &[(String, Vec<(&'static str, Value)>)],
) -> Vec<(&'static str, Value)> {
    match format {
        Format::V3 => {
            let metadata: Map<String, Value> = nodes
                .iter()
                .filter_map(|(name, files)| Some((name.clone(), files.first()?.1.clone())))
                .collect();
            let consolidated = json!({"kind": "inline", "must_understand": false, "metadata": metadata});
            let group = json!({
                "zarr_format": 3,
                "node_type": "group",
                "attributes": {},
                "consolidated_metadata": consolidated,
            });
            vec![("zarr.json", group)]
        }
        Format::V2 => {
            let group = json!({ "zarr_format": 2 });
            let mut metadata = Map::from_iter([(".zgroup".to_owned(), group.clone())]);
            for (name, files) in nodes {
                metadata.extend(files.iter().map(|(file, value)| (format!("{name}/{file}"), value.clone())));
            }
            let consolidated = json!({"zarr_consolidated_format": 1, "metadata": metadata});
            vec![(".zgroup", group), (".zmetadata", consolidated)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn chunks_have_the_paths_of_their_version() {
        let indices: [&[u64]; 3] = [&[], &[3], &[3, 0]];
        assert_eq!(indices.map(|index| Format::V3.chunk_path(index)), ["c", "c/3", "c/3/0"]);
        assert_eq!(indices.map(|index| Format::V2.chunk_path(index)), ["0", "3", "3.0"]);
    }
}
