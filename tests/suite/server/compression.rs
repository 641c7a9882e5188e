//! JSON answers are compressed for those who take it, unless their length could tell another site something (docs/contract/http.md).

use std::io::Read as _;

use aethon_tests::{Request, Response, Server};

fn ask(server: &Server, target: &str, fields: &[(&str, &str)]) -> Response {
    let request =
        fields.iter().fold(Request::get(target), |request, (name, value)| request.header(name, value));
    server.send(&request)
}

#[test]
fn a_long_answer_is_compressed_and_says_the_same() {
    let server = Server::start(&[]);
    for target in ["/openapi.json", "/api/config/schema", "/api/config"] {
        let plain = ask(&server, target, &[]);
        assert_eq!((plain.header("content-encoding"), plain.status), (None, 200), "{target}");
        let packed = ask(&server, target, &[("Accept-Encoding", "br, gzip")]);
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{target}");
        assert_eq!(packed.header("vary"), Some("accept-encoding"), "{target}");
        assert_eq!(packed.header("cache-control"), Some("no-store"), "{target}");
        assert!(packed.body.len() * 2 < plain.body.len(), "{target}");
        let mut text = String::new();
        flate2::read::GzDecoder::new(packed.body.as_slice()).read_to_string(&mut text).expect("it is gzip");
        assert_eq!(text, plain.text(), "{target}");
    }
}

#[test]
fn responses_whose_length_could_leak_are_not_compressed() {
    let server = Server::start(&[]);
    let coding = ("Accept-Encoding", "gzip");
    let encoded = |fields: &[(&str, &str)]| {
        ask(&server, "/openapi.json", fields).header("content-encoding").map(str::to_owned)
    };
    assert_eq!(encoded(&[coding, ("Sec-Fetch-Site", "same-origin")]).as_deref(), Some("gzip"));
    for site in ["cross-site", "same-site"] {
        assert_eq!(encoded(&[coding, ("Sec-Fetch-Site", site)]), None, "{site}");
    }
    assert_eq!(encoded(&[("Accept-Encoding", "gzip;q=0")]), None);
    assert_eq!(ask(&server, "/health", &[coding]).header("content-encoding"), None, "a short one");
    let export = ask(&server, "/api/nothing", &[coding]);
    assert_eq!((export.status, export.header("content-encoding")), (404, None), "a problem");
}
