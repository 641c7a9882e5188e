//! The handbook as the server shows it.

use aethon_tests::{Request, Server};

#[test]
fn pages_are_whole_html_and_are_sent_once_only() {
    let server = Server::start(&[]);
    for (target, words) in [
        ("/docs/handbook", "<h1 id=\"handbook\">Handbook</h1>"),
        ("/docs/handbook/first-hour", "<h2 id=\"1-start-it\">1. Start it</h2>"),
        ("/docs/handbook/ollama", "href=\"/docs/handbook/troubleshooting#models\""),
        ("/docs/reference/approvals", "href=\"/docs/reference/household#who-approves\""),
    ] {
        let page = server.get(target);
        assert_eq!(
            (page.status, page.header("content-type")),
            (200, Some("text/html; charset=utf-8")),
            "{target}"
        );
        assert!(page.text().contains(words), "{target} has {words}");
        assert!(page.header("content-security-policy").unwrap().contains("default-src 'none'"), "{target}");
        let tag = page.header("etag").unwrap().to_owned();
        let again = server.send(&Request::get(target).header("If-None-Match", &tag));
        assert_eq!((again.status, again.body.len()), (304, 0), "{target}");
    }
}

#[test]
fn what_is_no_page_is_404_and_says_where_the_pages_are() {
    let server = Server::start(&[]);
    for target in [
        "/docs/handbook/nothing",
        "/docs/handbook/first-hour.md",
        "/docs/handbook/..%2fapprovals",
        "/docs/reference/handbook%2ffirst-hour",
        "/docs/reference/..%2f..%2fREADME",
        "/docs/reference/nothing",
    ] {
        let seen = server.get(target);
        assert_eq!((seen.status, seen.json()["code"].as_str()), (404, Some("not_found")), "{target}");
        assert!(seen.json()["detail"].as_str().unwrap().contains("/docs/handbook"), "{target}");
    }
    assert_eq!(server.get("/docs/handbook/a/b").status, 404);
    assert_eq!(server.get("/docs/handbook/").status, 404);
}
