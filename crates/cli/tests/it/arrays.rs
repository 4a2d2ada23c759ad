//! Test arrays, as tensors of the oracle and as `.npy` files.

use unishape::DType;
use unishape_npy::{Descr, Header};
use unishape_oracle::{Indices, Tensor, step_1, step_2};

/// An array whose elements are bytes of any dtype.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) descr: Descr,
    pub(crate) fortran_order: bool,
    pub(crate) tensor: Tensor<Vec<u8>>,
}

impl Array {
    /// Elements of the type that `descr` describes; the first 65 536 differ from each other.
    pub(crate) fn of(descr: &str, shape: &[usize]) -> Array {
        let descr = Descr::parse(descr).expect("a description");
        let item = descr.item_size();
        // Bit patterns of all kinds: of floats also NaNs with payloads, −0 and subnormal numbers (BC-8).
        let element = |n: usize| {
            let n = n as u64 + 1;
            let mut bytes = match n % 4 {
                0 => [0xff, 0xff, 0xff, 0x7f].repeat(item.div_ceil(4)),
                1 => [0, 0, 0, 0x80].repeat(item.div_ceil(4)),
                _ => n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(item.div_ceil(8)),
            };
            bytes.truncate(item);
            bytes.iter_mut().zip(n.to_le_bytes()).take(2).for_each(|(byte, mark)| *byte ^= mark);
            bytes
        };
        Array { tensor: Tensor::from_fn(shape, element), descr, fortran_order: false }
    }

    /// Valid elements of a dtype.
    pub(crate) fn numbers(dtype: DType, shape: &[usize]) -> Array {
        match dtype {
            DType::Bool => {
                let mut array = Array::of("'|b1'", shape);
                array.tensor.elements.iter_mut().flatten().for_each(|byte| *byte &= 1);
                array
            }
            DType::Str => {
                let letters = |n: usize| {
                    let text = [['é', '\0', '\0'], ['a', '\0', 'b'], ['\u{1f980}', 'x', '\u{10ffff}']][n % 3];
                    text.iter().flat_map(|&letter| u32::from(letter).to_le_bytes()).collect()
                };
                let tensor = Tensor::from_fn(shape, letters);
                Array { descr: Descr::unicode(3).expect("short"), fortran_order: false, tensor }
            }
            _ => Array::of(Descr::of(dtype).text(), shape),
        }
    }

    pub(crate) fn fortran(self) -> Array {
        Array { fortran_order: true, ..self }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.tensor.shape
    }

    /// The bytes of the `.npy` file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let Array { descr, fortran_order, tensor } = self;
        let header =
            Header { descr: descr.clone(), fortran_order: *fortran_order, shape: tensor.shape.clone() };
        let mut file = Vec::new();
        header.write(&mut file).expect("a valid header");
        if *fortran_order {
            let backwards: Vec<usize> = tensor.shape.iter().rev().copied().collect();
            for mut index in Indices::of(&backwards) {
                index.reverse();
                file.extend(tensor.at(&index));
            }
        } else {
            file.extend(tensor.elements.iter().flatten());
        }
        file
    }

    /// The array after steps 1 and 2 of the specification, in row-major order.
    pub(crate) fn stretched(&self, common: &[usize]) -> Array {
        let tensor = step_2(&step_1(&self.tensor, common.len()), common);
        Array { descr: self.descr.clone(), fortran_order: false, tensor }
    }
}

/// The `.npy` file of an array of zeros.
pub(crate) fn zeros(descr: &str, shape: &[usize]) -> Vec<u8> {
    let header = Header {
        descr: Descr::parse(descr).expect("a description"),
        fortran_order: false,
        shape: shape.to_vec(),
    };
    let mut file = Vec::new();
    header.write(&mut file).expect("a valid header");
    file.resize(file.len() + header.data_bytes().expect("small") as usize, 0);
    file
}
