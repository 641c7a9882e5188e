//! A response as tests read it.

use serde_json::Value;

/// A response, read to its end.
#[derive(Debug)]
pub(crate) struct ReadResponse {
    pub(crate) status: u16,
    pub(super) headers: http::HeaderMap,
    pub(crate) body: String,
}

impl ReadResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status);
        problem["code"].as_str().expect("a code").to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("plain"))
    }
}
