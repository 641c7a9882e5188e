//! The headers of every answer, and how pages and assets are served (docs/contract/http.md).

use std::io::Read;

use aethon_tests::{Request, Response, Server};
use serde_json::json;

/// The addresses of own assets that a page names.
fn assets(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    for attribute in ["src=\"", "href=\""] {
        for rest in page.split(attribute).skip(1) {
            let address = rest.split('"').next().unwrap_or_default();
            if address.starts_with("/dashboard/static/") {
                found.push(address.to_owned());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn every_kind_of_answer_carries_the_headers() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let page = server.get("/");
    let asset = assets(&page.text()).first().expect("the page has assets").clone();
    let open = |request: Request| server.send(&request.bearer("t0ken"));
    let answers = [
        page,
        server.get("/health"),
        server.get(&asset),
        server.get("/api/status"),
        server.get("/dashboard"),
        open(Request::get("/dashboard")),
        open(Request::get("/api/status")),
        open(Request::get("/api/config")),
        open(Request::get("/nothing")),
        open(Request::new("POST", "/api/status")),
        open(Request::new("HEAD", "/api/status")),
        open(Request::get("/ws/chat")),
        open(Request::get("/api/sessions?limit=x")),
        open(Request::new("DELETE", "/api/sessions/webchat:none")),
        server.post("/webhook/trigger", &json!({"text": "!say hello"})),
        server.post("/webhook/trigger", &json!({})),
        server.send(&Request::new("POST", "/webhook/trigger")),
        server.send(&Request::get("/").header("Host", "a b")),
    ];
    for answer in &answers {
        answer.assert_guarded();
    }
    let mut ids: Vec<&str> = answers.iter().filter_map(|answer| answer.header("x-request-id")).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), answers.len(), "each answer has an id of its own");
}

#[test]
fn api_answers_are_not_cached() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    for target in
        ["/api/status", "/api/sessions", "/api/config", "/api/nothing", "/api/logs", "/api/approvals"]
    {
        for request in [Request::get(target), Request::get(target).bearer("t0ken")] {
            assert_eq!(server.send(&request).header("cache-control"), Some("no-store"), "{target}");
        }
    }
}

#[test]
fn the_policy_lets_a_page_reach_itself_only() {
    let server = Server::start(&[]);
    for target in ["/", "/dashboard"] {
        let answer = server.get(target);
        let policy = answer.header("content-security-policy").unwrap();
        let rules: Vec<&str> = policy.split(';').map(str::trim).collect();
        for rule in ["default-src 'none'", "frame-ancestors 'none'"] {
            assert!(rules.contains(&rule), "{rule} in {policy}");
        }
        for kind in ["script-src", "style-src", "font-src", "img-src", "connect-src"] {
            let rule = rules
                .iter()
                .find(|rule| rule.starts_with(kind))
                .unwrap_or_else(|| panic!("{kind} in {policy}"));
            assert!(rule.contains("'self'"), "{rule}");
            assert!(!rule.contains('*') && !rule.contains("http:") && !rule.contains("https:"), "{rule}");
        }
        let page = answer.text();
        assert!(
            !page.contains("<script>") && !page.contains("<style") && !page.contains(" style=\""),
            "no inline code"
        );
        assert!(!page.contains(" onclick=") && !page.contains("javascript:"), "no inline code");
        for remote in ["src=\"http", "href=\"http", "src=\"//", "href=\"//", "@import"] {
            assert!(!page.contains(remote), "no remote request: {remote}");
        }
    }
}

#[test]
fn head_is_supported_where_get_is() {
    let server = Server::start(&[]);
    let asset = assets(&server.get("/").text()).first().unwrap().clone();
    for target in
        ["/", "/health", "/dashboard", &asset, "/api/status", "/api/sessions", "/api/config", "/nothing"]
    {
        let (get, head) = (server.get(target), server.send(&Request::new("HEAD", target)));
        assert_eq!(head.status, get.status, "{target}");
        assert!(head.body.is_empty(), "{target}");
        assert_eq!(head.header("content-type"), get.header("content-type"), "{target}");
        if target != "/api/status" {
            assert_eq!(head.header("content-length"), get.header("content-length"), "{target}");
        }
    }
}

fn etag(answer: &Response) -> String {
    answer.header("etag").unwrap_or_else(|| panic!("an ETag in {:?}", answer.headers)).to_owned()
}

#[test]
fn assets_are_immutable_and_revalidated_by_etag() {
    let server = Server::start(&[]);
    let page = server.get("/").text();
    let assets = assets(&page);
    assert!(
        assets.iter().any(|asset| asset.contains(".js")) && assets.iter().any(|asset| asset.contains(".css"))
    );
    for asset in &assets {
        let answer = server.get(asset);
        assert_eq!(answer.status, 200, "{asset}");
        let cache = answer.header("cache-control").unwrap();
        // The manifest has one address for ever, because an installed page is known by it.
        let is_lasting = cache.contains("immutable") && cache.contains("max-age=31536000");
        assert!(is_lasting || (asset.ends_with(".webmanifest") && cache == "no-cache"), "{asset}: {cache}");
        let etag = etag(&answer);
        for known in [etag.clone(), format!("\"other\", {etag}"), format!("W/{etag}"), "*".to_owned()] {
            let again = server.send(&Request::get(asset).header("If-None-Match", &known));
            assert_eq!((again.status, again.body.len()), (304, 0), "{asset} {known}");
            assert_eq!(again.header("etag"), Some(etag.as_str()));
            again.assert_guarded();
        }
        let other = server.send(&Request::get(asset).header("If-None-Match", "\"other\""));
        assert_eq!(other.status, 200);
        let kind = answer.header("content-type").unwrap();
        let expected = match asset.rsplit('.').next().unwrap() {
            "js" => "javascript",
            "css" => "text/css",
            "svg" => "image/svg+xml",
            "woff2" => "font/woff2",
            _ => "",
        };
        assert!(kind.contains(expected), "{asset}: {kind}");
    }
}

#[test]
fn every_module_that_a_script_imports_is_served() {
    let server = Server::start(&[]);
    let mut waiting = assets(&(server.get("/").text() + &server.get("/dashboard").text()));
    let mut seen = Vec::new();
    while let Some(asset) = waiting.pop() {
        if seen.contains(&asset) {
            continue;
        }
        let answer = server.get(&asset);
        assert_eq!(answer.status, 200, "{asset} of {seen:?}");
        if asset.ends_with(".js") {
            let folder = asset.rsplit_once('/').unwrap().0.to_owned();
            let text = answer.text();
            let imports =
                text.lines().filter(|line| line.starts_with("import ") || line.starts_with("} from "));
            for quoted in imports.filter_map(|line| line.split("from \"").nth(1)?.split('"').next()) {
                if quoted.starts_with('.') {
                    waiting.push(resolved(&folder, quoted));
                } else if quoted.starts_with('/') {
                    waiting.push(quoted.to_owned());
                }
            }
        }
        seen.push(asset);
    }
    assert!(seen.len() > 3, "{seen:?}");
}

fn resolved(folder: &str, relative: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in relative.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[test]
fn a_client_that_accepts_gzip_gets_it() {
    let server = Server::start(&[]);
    let page = server.get("/").text();
    let asset = assets(&page).into_iter().find(|asset| asset.ends_with(".css")).unwrap();
    let plain = server.get(&asset);
    assert!(plain.header("content-encoding").is_none(), "not asked for");
    assert!(plain.header("vary").is_some_and(|vary| vary.to_ascii_lowercase().contains("accept-encoding")));
    for accept in ["gzip", "deflate, gzip;q=0.5", "GZIP", "*"] {
        let packed = server.send(&Request::get(&asset).header("Accept-Encoding", accept));
        if accept == "*" && packed.header("content-encoding").is_none() {
            continue;
        }
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{accept}");
        assert!(packed.body.len() < plain.body.len());
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(packed.body.as_slice()).read_to_end(&mut unpacked).unwrap();
        assert!(unpacked == plain.body, "the same content");
    }
    for accept in ["", "identity", "gzip;q=0", "br", "xgzip"] {
        let answer = server.send(&Request::get(&asset).header("Accept-Encoding", accept));
        assert!(answer.header("content-encoding").is_none(), "{accept:?}");
        assert!(answer.body == plain.body);
    }
}

#[test]
fn nothing_outside_the_assets_is_served() {
    let server = Server::start(&[]);
    for path in [
        "..",
        "../",
        "../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fetc%2fpasswd",
        "..%5c..%5cetc",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "js/../../Cargo.toml",
        "js%00.js",
        "%00",
        "js/",
        "",
        "js",
        ".",
        "css/./../js",
        "con",
        "%ff",
    ] {
        let bytes = format!("GET /dashboard/static/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = aethon_tests::http::exchange(server.address, bytes.as_bytes()).expect("an answer");
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.text().contains("root:") && !answer.text().contains("[package]"), "{path}");
    }
}

#[test]
fn the_chat_page_is_served_at_the_root() {
    let server = Server::start(&["dashboard.auth_token=t0ken"]);
    let page = server.get("/");
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.text().contains("<title>") && page.text().contains("lang="));
    assert_eq!(server.get("/?token=t0ken&x=1").status, 200, "a query changes nothing");
}
