//! Reads response bodies within a limit, compressed or not.

use std::io::{self, Read};

use flate2::read::GzDecoder;
use ureq::http::{HeaderMap, header};

/// Bytes per read.
const PIECE: usize = 16 * 1024;
/// How much a compressed body may exceed the limit: compressing incompressible data adds a little.
const SLACK: usize = 64 * 1024;

/// The part of a body that was read.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) bytes: Vec<u8>,
    /// Why it is incomplete, if it is.
    pub(super) cut: Option<Cut>,
}

/// Why a body is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It exceeds the limit.
    Long,
    /// The connection broke, or it did not end in time.
    Broken,
}

/// Reads at most `most` bytes. If the connection breaks, returns the bytes received by then.
pub(super) fn read(body: impl Read, headers: &HeaderMap, most: usize) -> io::Result<Body> {
    if most == 0 {
        return Ok(Body::default());
    }
    let encoding = headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap_or("unreadable"));
    match encoding.unwrap_or_default().trim().to_ascii_lowercase().as_str() {
        "" | "identity" => gather(body, most),
        "gzip" | "x-gzip" => gather(GzDecoder::new(body.take((most + SLACK) as u64)), most).map_err(packing),
        other => Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!("the answer is packed with {other:?}, which was not asked for"),
        )),
    }
}

/// Passes connection errors on; anything else is a decompression error.
fn packing(error: io::Error) -> io::Error {
    if error.get_ref().is_some_and(|inner| inner.is::<ureq::Error>()) {
        return error;
    }
    io::Error::new(io::ErrorKind::Unsupported, format!("the answer cannot be unpacked: {error}"))
}

fn gather(mut reader: impl Read, most: usize) -> io::Result<Body> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(Body { bytes, cut: None }),
            Ok(length) => bytes.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if bytes.is_empty() => return Err(error),
            Err(_) => return Ok(Body { bytes, cut: Some(Cut::Broken) }),
        }
        if bytes.len() > most {
            bytes.truncate(most);
            return Ok(Body { bytes, cut: Some(Cut::Long) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ureq::http::HeaderValue;

    use super::*;

    fn headers(encoding: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(encoding))])
    }

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn bodies_are_bounded_compressed_or_not() {
        let check = |encoding: &'static str, body: &[u8], most: usize, expected: (usize, Option<Cut>)| {
            let read = read(body, &headers(encoding), most).unwrap();
            assert_eq!((read.bytes.len(), read.cut), expected, "{encoding}");
        };
        check("", b"hello", 100, (5, None));
        check("identity", b"hello", 5, (5, None));
        check("", b"hello", 4, (4, Some(Cut::Long)));
        check("", b"hello", 0, (0, None));
        check("gzip", &packed(b"hello"), 100, (5, None));
        check("X-GZIP", &packed(b"hello"), 4, (4, Some(Cut::Long)));
        check("gzip", &packed(&vec![0; 64 << 20]), 1 << 20, (1 << 20, Some(Cut::Long)));
        let whole = packed(&(0..200_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
        let half = &whole[..whole.len() / 2];
        assert_eq!(read(half, &headers("gzip"), 1 << 20).unwrap().cut, Some(Cut::Broken));
        assert!(read(&b"hello"[..], &headers("br"), 100).is_err());
        assert!(read(&b"hello"[..], &headers("gzip"), 100).is_err());
    }
}
