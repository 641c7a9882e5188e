//! `server.base_path`: the same service below a path, whether the proxy in front takes it away or keeps it (docs/contract/http.md).

use aethon_tests::{Request, Server, run_server};
use serde_json::json;

const TOKEN: &str = "t0ken-of-the-owner";
const SETTINGS: [&str; 2] = ["dashboard.auth_token=t0ken-of-the-owner", "server.base_path=/home/aethon"];

#[test]
fn every_address_answers_with_and_without_the_path() {
    let server = Server::start(&SETTINGS);
    for base in ["", "/home/aethon"] {
        let status = |request: Request| server.send(&request).status;
        let get = |path: &str| Request::get(&format!("{base}{path}"));
        assert_eq!(status(get("/")), 200, "{base}");
        assert_eq!(status(get("/health")), 200, "{base}");
        assert_eq!(status(get("/api/status")), 401, "{base}");
        assert_eq!(status(get("/api/status").bearer(TOKEN)), 200, "{base}");
        assert_eq!(status(get("//api/status")), 401, "{base}");
        assert_eq!(status(get("/nothing").bearer(TOKEN)), 404, "{base}");
        let hook = Request::post(&format!("{base}/webhook/trigger"), &json!({"text": "!say hello"}));
        assert_eq!(server.send(&hook).json()["response"], "hello", "{base}");
    }
    assert_eq!(server.get("/home/aethon").status, 200, "the path alone is the chat");
    for path in ["/home", "/home/aethonx/health", "/home/aethon/home/aethon/health", "/Home/aethon/health"] {
        assert_eq!(server.get(path).status, 401, "{path} is no address of the service");
    }
}

#[test]
fn addresses_of_the_service_lie_below_the_base_path() {
    let server = Server::start(&SETTINGS);
    for page in ["/", "/dashboard", "/home/aethon/", "/home/aethon/dashboard"] {
        let text = server.get(page).text();
        assert!(text.contains("\"/home/aethon/dashboard/static/"), "{page}");
        assert!(!text.contains("\"/dashboard/static/"), "{page}");
    }
    let open = Request::get(&format!("/dashboard?token={TOKEN}")).header("Sec-Fetch-Mode", "navigate");
    let answer = server.send(&open);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/home/aethon/dashboard")));
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; Path=/home/aethon"), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    let out = Request::post("/home/aethon/api/sign-out", &json!({})).header("Cookie", pair);
    let out = server.send(&out).header("set-cookie").expect("it is cleared").to_owned();
    assert!(out.contains("Path=/home/aethon;") && out.contains("Max-Age=0"), "{out}");
    let document = server.send(&Request::get("/openapi.json").bearer(TOKEN)).json();
    assert_eq!(document["servers"], json!([{"url": "/home/aethon"}]));
}

#[test]
fn a_page_for_a_path_is_revalidated_and_compressed() {
    let server = Server::start(&SETTINGS);
    let plain = server.get("/");
    let etag = plain.header("etag").expect("a tag").to_owned();
    let again = server.send(&Request::get("/").header("If-None-Match", &etag));
    assert_eq!((again.status, again.header("etag")), (304, Some(etag.as_str())));
    let packed = server.send(&Request::get("/").header("Accept-Encoding", "gzip"));
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_ne!(
        Server::start(&[]).get("/").header("etag"),
        Some(etag.as_str()),
        "another page has another tag"
    );
}

#[test]
fn signing_out_ends_the_cookies_of_every_path() {
    let home = {
        let server = Server::start(&[SETTINGS[0]]);
        let old = server.get(&format!("/dashboard?token={TOKEN}"));
        let old = old.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned();
        (server.kill(), old)
    };
    let (home, old) = home;
    let server = Server::start_in(home, &SETTINGS);
    let new = server.get(&format!("/dashboard?token={TOKEN}"));
    let new = new.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned();
    let status = |cookie: &str| server.send(&Request::get("/api/status").header("Cookie", cookie)).status;
    assert_eq!((status(&old), status(&new)), (200, 200), "the setting changes no sign-in");
    let both = format!("{new}; {old}");
    let out = Request::post("/api/sign-out", &json!({})).header("Cookie", &both);
    assert_eq!(server.send(&out).status, 200);
    assert_eq!((status(&old), status(&new)), (401, 401));
}

#[test]
fn a_path_that_cannot_be_one_is_refused_by_name() {
    for path in ["aethon", "/aethon/", "/", "/api", "/a/../b", "/a b", "https://home.example/aethon"] {
        let setting = format!("server.base_path={path}");
        let refused = run_server(aethon_tests::home().path(), &["--check", "--set", &setting]);
        assert_eq!(refused.status.code(), Some(2), "{path}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("server.base_path"), "{refused:?}");
    }
}
