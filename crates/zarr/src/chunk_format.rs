//! Formats of chunks that are decoded as they are read.

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;
use unishape::DType;
use unishape_npy::Descr;

/// The largest window of a zstd frame, as a power of two: the largest that the format allows on 64-bit systems.
const MAX_WINDOW_LOG: u32 = 31;

/// Bytes that are read from a file at a time.
const BUFFER_BYTES: usize = 1 << 17;

/// Elements in row-major order, compressed or not: what can be decoded front to back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChunkFormat {
    /// The dtype and byte order of elements.
    pub(crate) descr: Descr,
    compression: Compression,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Compression {
    None,
    Zstd,
    Gzip,
    Zlib,
}

impl ChunkFormat {
    /// The format of an array by its metadata; `None` where it has other codecs, such as shards.
    pub(crate) fn of(metadata: &Value, dtype: DType) -> Option<ChunkFormat> {
        let is_empty = |value: &Value| value.as_array().is_none_or(Vec::is_empty);
        let (is_big_endian, compression) = match metadata["zarr_format"].as_u64()? {
            2 => {
                if !is_empty(&metadata["filters"]) || metadata["order"] != "C" {
                    return None;
                }
                let id = metadata["compressor"].get("id").map(|id| id.as_str().unwrap_or("unknown"));
                (metadata["dtype"].as_str()?.starts_with('>'), Compression::named(id)?)
            }
            3 => {
                if !is_empty(&metadata["storage_transformers"]) || metadata["chunk_grid"]["name"] != "regular"
                {
                    return None;
                }
                let codecs: Vec<(&str, &Value)> = metadata["codecs"].as_array()?.iter().map(named).collect();
                let (first, compression) = match codecs[..] {
                    [first] => (first, None),
                    [first, (name, _)] => (first, Some(name)),
                    _ => return None,
                };
                let ("bytes", configuration) = first else { return None };
                (configuration["endian"] == "big", Compression::named(compression)?)
            }
            _ => return None,
        };
        let little = Descr::of(dtype);
        let descr = match is_big_endian {
            true => Descr::parse(&little.text().replace('<', ">")).ok()?,
            false => little,
        };
        Some(ChunkFormat { descr, compression })
    }

    /// Opens the file of a chunk, to be decoded as it is read; `None` if it does not exist.
    pub(crate) fn open(&self, path: &Path) -> io::Result<Option<Box<dyn Read>>> {
        let file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => BufReader::with_capacity(BUFFER_BYTES, file?),
        };
        Ok(Some(match self.compression {
            Compression::None => Box::new(file),
            Compression::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(file)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Box::new(decoder)
            }
            Compression::Gzip => Box::new(MultiGzDecoder::new(file)),
            Compression::Zlib => Box::new(ZlibDecoder::new(file)),
        }))
    }
}

impl Compression {
    fn named(name: Option<&str>) -> Option<Compression> {
        Some(match name {
            None => Compression::None,
            Some("zstd") => Compression::Zstd,
            Some("gzip") => Compression::Gzip,
            Some("zlib") => Compression::Zlib,
            Some(_) => return None,
        })
    }
}

/// The name and the configuration of a codec of version 3. One without a configuration may be its name alone.
fn named(codec: &Value) -> (&str, &Value) {
    match codec {
        Value::String(name) => (name, &Value::Null),
        codec => (codec["name"].as_str().unwrap_or("unknown"), &codec["configuration"]),
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkFormat, Compression};
    use serde_json::{Value, json};
    use unishape::DType;

    fn format(metadata: Value) -> Option<(String, Compression)> {
        let format = ChunkFormat::of(&metadata, DType::F32)?;
        Some((format.descr.text().to_owned(), format.compression))
    }

    #[test]
    fn version_2() {
        let plain =
            json!({"zarr_format": 2, "dtype": ">f4", "order": "C", "filters": null, "compressor": null});
        assert_eq!(format(plain.clone()), Some(("'>f4'".into(), Compression::None)));
        let with = |key: &str, value: Value| {
            let mut metadata = plain.clone();
            metadata[key] = value;
            format(metadata).map(|(_, compression)| compression)
        };
        assert_eq!(with("compressor", json!({"id": "zlib", "level": 1})), Some(Compression::Zlib));
        assert_eq!(with("filters", json!([])), Some(Compression::None));
        assert_eq!(with("compressor", json!({"id": "blosc"})), None);
        assert_eq!(with("filters", json!([{"id": "delta"}])), None);
        assert_eq!(with("order", json!("F")), None);
        assert_eq!(with("zarr_format", json!(4)), None);
    }

    #[test]
    fn version_3() {
        let with = |grid: &str, codecs: Value| {
            format(json!({"zarr_format": 3, "chunk_grid": {"name": grid}, "codecs": codecs}))
        };
        let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
        let zstd = json!({"name": "zstd", "configuration": {"level": 0}});
        let shards = json!({"name": "sharding_indexed", "configuration": {}});
        assert_eq!(with("regular", json!([little, zstd])), Some(("'<f4'".into(), Compression::Zstd)));
        assert_eq!(
            with("regular", json!([big, {"name": "gzip"}])),
            Some(("'>f4'".into(), Compression::Gzip))
        );
        assert_eq!(with("regular", json!(["bytes"])), Some(("'<f4'".into(), Compression::None)));
        for (grid, codecs) in [
            ("regular", json!([shards])),
            ("regular", json!([little, zstd, {"name": "crc32c"}])),
            ("regular", json!([{"name": "transpose"}, little])),
            ("regular", json!([])),
            ("rectangular", json!([little])),
        ] {
            assert_eq!(with(grid, codecs.clone()), None, "{codecs}");
        }
    }
}
