//! Decompresses bodies. None is asked for, because a compressed stream arrives late, but some proxies compress anyway.

use std::io::{self, Read};

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use ureq::http::HeaderMap;
use ureq::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};

use super::failure::{Damaged, Failure};

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unpacking {
    None,
    Gzip,
    Deflate,
}

impl Unpacking {
    /// Reads the encoding from the headers, and removes it there if the body will be plain.
    pub(super) fn of(headers: &mut HeaderMap) -> Result<Self, Failure> {
        let Some(encoding) = headers.get(CONTENT_ENCODING) else { return Ok(Self::None) };
        let word = String::from_utf8_lossy(encoding.as_bytes()).trim().to_ascii_lowercase();
        let unpacking = match word.as_str() {
            "" | "identity" => Self::None,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            _ => {
                return Err(Failure::Encoding(
                    word.chars().filter(char::is_ascii_graphic).take(20).collect(),
                ));
            }
        };
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        Ok(unpacking)
    }

    pub(super) fn reader(self, body: impl Read + 'static) -> Box<dyn Read> {
        match self {
            Self::None => Box::new(body),
            Self::Gzip => Box::new(Unpacked(MultiGzDecoder::new(body))),
            Self::Deflate => Box::new(Unpacked(Deflated::Unknown(body))),
        }
    }
}

/// A body in deflate's form, with the header that the standard asks for or, as some servers send it, without.
enum Deflated<R: Read> {
    Unknown(R),
    Zlib(ZlibDecoder<io::Chain<io::Cursor<[u8; 1]>, R>>),
    Raw(DeflateDecoder<io::Chain<io::Cursor<[u8; 1]>, R>>),
    Empty,
}

impl<R: Read> Read for Deflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Self::Unknown(_) = self {
            let Self::Unknown(mut body) = std::mem::replace(self, Self::Empty) else { return Ok(0) };
            let mut first = [0];
            if body.read(&mut first)? == 1 {
                let whole = io::Cursor::new(first).chain(body);
                let has_header = first[0] & 0x0f == 8 && first[0] >> 4 <= 7;
                *self = match has_header {
                    true => Self::Zlib(ZlibDecoder::new(whole)),
                    false => Self::Raw(DeflateDecoder::new(whole)),
                };
            }
        }
        match self {
            Self::Zlib(reader) => reader.read(buffer),
            Self::Raw(reader) => reader.read(buffer),
            Self::Unknown(_) | Self::Empty => Ok(0),
        }
    }
}

/// A reader whose complaints about the compression are not taken for those of the connection.
struct Unpacked<R>(R);

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
                if error.get_ref().is_none_or(is_foreign) =>
            {
                io::Error::new(io::ErrorKind::Unsupported, Damaged)
            }
            _ => error,
        })
    }
}

fn is_foreign(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    !error.is::<ureq::Error>()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn unpacked(encoding: &str, bytes: Vec<u8>) -> io::Result<String> {
        let mut headers = HeaderMap::from_iter([(CONTENT_ENCODING, encoding.parse().unwrap())]);
        let mut text = String::new();
        let mut reader = Unpacking::of(&mut headers).unwrap().reader(io::Cursor::new(bytes));
        assert!(headers.is_empty());
        reader.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn compressed_bodies_are_read() {
        macro_rules! packed {
            ($encoder:ident) => {{
                let mut encoder = $encoder::new(Vec::new(), Compression::default());
                encoder.write_all(b"data: {}").unwrap();
                encoder.finish().unwrap()
            }};
        }
        assert_eq!(unpacked("gzip", packed!(GzEncoder)).unwrap(), "data: {}");
        assert_eq!(unpacked("deflate", packed!(ZlibEncoder)).unwrap(), "data: {}");
        assert_eq!(unpacked("deflate", packed!(DeflateEncoder)).unwrap(), "data: {}");
        assert_eq!(unpacked("identity", b"data: {}".to_vec()).unwrap(), "data: {}");
        assert_eq!(unpacked("deflate", Vec::new()).unwrap(), "");
        assert_eq!(
            unpacked("gzip", b"data: {\"choices\": []}".to_vec()).unwrap_err().kind(),
            io::ErrorKind::Unsupported
        );
    }

    #[test]
    fn other_encodings_are_refused_by_name() {
        let mut headers = HeaderMap::from_iter([(CONTENT_ENCODING, "br".parse().unwrap())]);
        assert!(matches!(Unpacking::of(&mut headers), Err(Failure::Encoding(name)) if name == "br"));
    }
}
