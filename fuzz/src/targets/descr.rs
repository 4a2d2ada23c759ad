//! Parses dtypes: the text is kept exactly, also in a header.

use crate::file::check_message;
use unishape_npy::{Descr, Header, NpyError};

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let descr = match Descr::parse(&text) {
        Ok(descr) => descr,
        Err(error) => return check_message(&error),
    };
    assert!(text.contains(descr.text()));
    assert_eq!(Descr::parse(descr.text()).expect("parsed before"), descr);
    let header = Header { descr, fortran_order: bytes.len() % 2 == 1, shape: vec![bytes.len(), 3] };
    check_header(&header);
}

/// Checks that a header survives writing and reading.
pub(crate) fn check_header(header: &Header) {
    let mut file = Vec::new();
    match header.write(&mut file) {
        Ok(()) => {
            let rest = &mut &file[..];
            assert_eq!(&Header::read(rest).expect("written by unishape"), header);
            assert!(rest.is_empty() && file.len() % 64 == 0);
            assert_eq!(header.encoded_len().ok(), Some(file.len() as u64));
        }
        // With its padding the header can be longer than the text that was read.
        Err(NpyError::HeaderTooLong { .. }) => assert!(header.descr.text().len() > 1 << 19),
        Err(error) => panic!("{error}"),
    }
}
