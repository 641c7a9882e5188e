//! Byte ranges (RFC 9110, 14.2): a download that was cut off goes on where it ended.
//!
//! One range is answered; several at once, or something else than bytes, get the whole, as the RFC allows.

use std::io::{self, Read};

use http::header::{HeaderMap, HeaderValue, IF_RANGE, RANGE};
use http::{Method, StatusCode};

use crate::error::Problem;
use crate::request::Request;

/// Which bytes of a file are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    /// How many are left out at its beginning.
    pub(crate) start: u64,
    /// How many are sent.
    pub(crate) length: u64,
    /// How many the file has.
    size: u64,
    is_whole: bool,
}

impl Part {
    /// Returns what a request wants of a file of this size. A range behind its end is 416. Files that are sent have no
    /// version that `If-Range` could name, so with it the whole is sent.
    pub(crate) fn wanted(request: &Request, size: u64) -> Result<Self, Problem> {
        let headers = &request.head.headers;
        if request.head.method != Method::GET || headers.contains_key(IF_RANGE) {
            return Ok(Self::whole(size));
        }
        let Some(range) = Range::of(headers) else { return Ok(Self::whole(size)) };
        let (start, end) = match range {
            Range::From(start, end) => (start, end.map_or(size, |end| end.saturating_add(1).min(size))),
            Range::Last(length) => (size.saturating_sub(length), size),
        };
        if start >= end {
            return Err(beyond(size));
        }
        Ok(Self { start, length: end - start, size, is_whole: false })
    }

    fn whole(size: u64) -> Self {
        Self { start: 0, length: size, size, is_whole: true }
    }

    /// Returns the status of an answer with it.
    pub(crate) fn status(self) -> StatusCode {
        if self.is_whole { StatusCode::OK } else { StatusCode::PARTIAL_CONTENT }
    }

    /// Returns the `Content-Range`, if it is not the whole.
    pub(crate) fn content_range(self) -> Option<HeaderValue> {
        let Self { start, length, size, .. } = self;
        let last = start + length.saturating_sub(1);
        (!self.is_whole).then(|| HeaderValue::try_from(format!("bytes {start}-{last}/{size}")).ok())?
    }

    /// Returns a reader of these bytes of a file. The first reading passes over what is left out.
    pub(crate) fn of(self, file: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        Box::new(Behind { file, left_out: self.start }.take(self.length))
    }
}

/// A file behind its first bytes.
struct Behind {
    file: Box<dyn Read + Send>,
    left_out: u64,
}

impl Read for Behind {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left_out > 0 {
            io::copy(&mut Read::take(&mut *self.file, self.left_out), &mut io::sink())?;
            self.left_out = 0;
        }
        self.file.read(into)
    }
}

enum Range {
    /// From a byte on, to another one if it is named.
    From(u64, Option<u64>),
    /// So many at the end.
    Last(u64),
}

impl Range {
    /// Returns the one range that the headers ask for.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(RANGE).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let (unit, range) = value.to_str().ok()?.trim().split_once('=')?;
        let (start, end) = range.trim().split_once('-')?;
        let number = |text: &str| -> Option<u64> {
            text.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
            // A number that is too large is behind every end.
            (!text.is_empty()).then(|| text.parse().unwrap_or(u64::MAX))
        };
        let parsed = match (start, end) {
            ("", length) => Self::Last(number(length)?),
            (start, "") => Self::From(number(start)?, None),
            (start, end) => Self::From(number(start)?, Some(number(end)?)),
        };
        let is_backwards = matches!(parsed, Self::From(start, Some(end)) if end < start);
        (unit.trim().eq_ignore_ascii_case("bytes") && !is_backwards).then_some(parsed)
    }
}

fn beyond(size: u64) -> Problem {
    let detail = format!("the file has {size} bytes, and none of the wanted range");
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail);
    match HeaderValue::try_from(format!("bytes */{size}")) {
        Ok(range) => problem.with_header(http::header::CONTENT_RANGE, range),
        Err(_) => problem,
    }
}
