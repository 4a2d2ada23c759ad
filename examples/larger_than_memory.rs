//! A `.npy` file normalised in chunks: mean and standard deviation of its columns in one pass over the file, the result
//! in another. Memory holds one chunk, however large the file is.
//!
//! `cargo run --release -p unishape-examples --example larger_than_memory -- FOLDER 1000000000` makes a file of 32 GB.

use ndarray::{Array1, Array2, ArrayView2, Axis};
use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use unishape::fold::Sum;
use unishape::{DType, for_each, map, reduce};
use unishape_npy::{Descr, Header, write_elements};

const COLUMNS: usize = 8;
const ROWS_PER_CHUNK: usize = 1 << 14;

fn header(rows: usize) -> Header {
    Header { descr: Descr::of(DType::F32), fortran_order: false, shape: vec![rows, COLUMNS] }
}

/// Writes a file of this many rows.
fn write_input(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    header(rows).write(&mut file)?;
    for first in (0..rows).step_by(ROWS_PER_CHUNK) {
        let count = ROWS_PER_CHUNK.min(rows - first);
        let chunk = Array2::from_shape_fn((count, COLUMNS), |(i, j)| ((first + i) % 100) as f32 + j as f32);
        write_elements(&mut file, chunk.view())?;
    }
    Ok(file.flush()?)
}

/// Calls a function with the rows of a file, one chunk after another.
fn for_each_chunk(
    path: &Path,
    mut work: impl FnMut(ArrayView2<'_, f32>) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let mut file = BufReader::new(File::open(path)?);
    let Header { descr, fortran_order: false, shape } = Header::read(&mut file)? else {
        return Err("the file is in column-major order".into());
    };
    let (Some(DType::F32), &[rows, columns]) = (descr.dtype(), &shape[..]) else {
        return Err(format!("expected a matrix of float32, got {} of shape {shape:?}", descr.text()).into());
    };
    let (mut bytes, mut chunk) = (vec![0; ROWS_PER_CHUNK * columns * 4], Vec::new());
    for first in (0..rows).step_by(ROWS_PER_CHUNK) {
        let count = ROWS_PER_CHUNK.min(rows - first);
        let bytes = &mut bytes[..count * columns * 4];
        file.read_exact(bytes)?;
        chunk.clear();
        chunk.extend(
            bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])),
        );
        work(ArrayView2::from_shape((count, columns), &chunk)?)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rows: usize = arguments.next().map_or(Ok(100_000), |rows| rows.parse())?;
    let (input, output) = (folder.join("unishape-input.npy"), folder.join("unishape-normalised.npy"));
    write_input(&input, rows)?;

    // Sums and sums of squares of all columns, in double precision.
    let (mut sums, mut squares) = (Array1::<f64>::zeros(COLUMNS), Array1::<f64>::zeros(COLUMNS));
    for_each_chunk(&input, |chunk| {
        for_each((&mut sums, &reduce(&chunk, Axis(0), |&x| f64::from(x), Sum)?), |sum, more| *sum += more)?;
        for_each((&mut squares, &reduce(&chunk, Axis(0), |&x| f64::from(x).powi(2), Sum)?), |sum, more| {
            *sum += more
        })?;
        Ok(())
    })?;
    let means = map((&sums, rows as f64), |sum, count| sum / count)?;
    let scales =
        map((&squares, &means, rows as f64), |squares, mean, count| (squares / count - mean * mean).sqrt())?;

    let mut file = BufWriter::new(File::create(&output)?);
    header(rows).write(&mut file)?;
    for_each_chunk(&input, |chunk| {
        let normalised =
            map((&chunk, &means, &scales), |&x, mean, scale| ((f64::from(x) - mean) / scale) as f32)?;
        Ok(write_elements(&mut file, normalised.view())?)
    })?;
    file.flush()?;
    println!("mean of column 0: {:.2}, standard deviation: {:.2}", means[0], scales[0]);
    println!("{} bytes written, {} in memory", output.metadata()?.len(), 3 * ROWS_PER_CHUNK * COLUMNS * 4);
    Ok(())
}
