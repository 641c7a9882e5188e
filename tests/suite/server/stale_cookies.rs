//! A browser keeps its cookie through changes of the server. The cookie is judged first, so a stale one is cleared with the 401
//! that it causes where a browser signs in; otherwise not even the right token would help. Elsewhere it stays: such an answer
//! may come late, when the browser has a new cookie.

use aethon_tests::{Request, Response, Server};

const TOKEN: &str = "the-right-token-of-today";
const SETTING: &str = "dashboard.auth_token=the-right-token-of-today";
const OLD: &str = "dashboard.auth_token=the-right-token-of-yesterday";

/// Signs in under the given token and returns the cookie, `name=value`.
fn cookie_of(server: &Server, token: &str) -> String {
    let answer = server.send(&Request::get("/dashboard").bearer(token));
    assert_eq!(answer.status, 200);
    answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned()
}

/// Asserts that the answer takes the cookie away: as it was set, but with no value and no time left.
fn assert_cleared(answer: &Response, what: &str) {
    assert_eq!(answer.status, 401, "{what}");
    let cleared = answer.header("set-cookie").unwrap_or_else(|| panic!("{what}: the cookie stays"));
    let parts: Vec<&str> = cleared.split(';').map(str::trim).collect();
    assert_eq!(parts[0], "aethon_dash=", "{what}");
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=0"] {
        assert!(parts.contains(&attribute), "{what}: {attribute} in {cleared}");
    }
}

/// Follows a browser with this cookie: the form's first try is refused and cleared of the cookie, its second signs in.
fn assert_signs_in_again(server: &Server, cookie: &str, what: &str) {
    let opened = server.send(&Request::get("/dashboard").header("Cookie", cookie));
    assert_cleared(&opened, &format!("{what}: GET /dashboard"));
    let shown = Request::get("/api/status").bearer(TOKEN).header("Cookie", cookie);
    assert_cleared(&server.send(&shown), &format!("{what}: the form without a dashboard"));
    let late = ["/api/status", "/api/nothing", "/docs", "/nothing"].map(Request::get);
    for request in late.into_iter().chain([Request::new("POST", "/api/sessions/x/reset")]) {
        let answer = server.send(&request.header("Cookie", cookie));
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{what}: it may come late");
    }
    let form = Request::get("/dashboard").bearer(TOKEN);
    let first = server.send(&form.clone().header("Cookie", cookie));
    assert_cleared(&first, &format!("{what}: the form's first try"));
    let second = server.send(&form);
    assert_eq!(second.status, 200, "{what}: the form's second try");
    let fresh = second.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let signed_in = server.send(&Request::get("/api/status").header("Cookie", &fresh));
    assert_eq!((signed_in.status, signed_in.header("set-cookie")), (200, None), "{what}");
}

#[test]
fn a_cookie_of_another_token_is_cleared_with_its_401() {
    let server = Server::start(&[OLD]);
    let cookie = cookie_of(&server, "the-right-token-of-yesterday");
    let home = server.home();
    server.terminate();
    assert_signs_in_again(&Server::start_in(home, &[SETTING]), &cookie, "a changed token");
}

#[test]
fn cookie_of_a_revoked_sign_in_is_cleared_with_its_401() {
    let server = Server::start(&[SETTING]);
    let cookie = cookie_of(&server, TOKEN);
    let listed = server.send(&Request::get("/api/sign-ins").bearer(TOKEN)).json();
    let id = listed["sign_ins"][0]["id"].as_str().unwrap().to_owned();
    let taken = Request::new("DELETE", &format!("/api/sign-ins/{id}")).bearer(TOKEN);
    assert_eq!(server.send(&taken).status, 204);
    assert_signs_in_again(&server, &cookie, "a sign-in that was taken back");
}

#[test]
fn a_cookie_under_a_lost_key_is_cleared_with_its_401() {
    let server = Server::start(&[SETTING]);
    let cookie = cookie_of(&server, TOKEN);
    let home = server.home();
    server.terminate();
    std::fs::remove_file(home.path().join("run/sign-in.key")).unwrap();
    assert_signs_in_again(&Server::start_in(home, &[SETTING]), &cookie, "a lost key");
}

#[test]
fn cookies_of_other_forms_are_cleared_with_their_401() {
    let server = Server::start(&[SETTING]);
    let old = format!("aethon_dash={}", "5f".repeat(32));
    for cookie in
        [old.as_str(), "aethon_dash=stale", "aethon_dash=\"quoted\"", "other=1; aethon_dash=a.b.c.d"]
    {
        assert_signs_in_again(&server, cookie, cookie);
    }
}

#[test]
fn valid_and_foreign_cookies_are_not_cleared() {
    let server = Server::start(&[SETTING]);
    let cookie = cookie_of(&server, TOKEN);
    let kept = |request: Request, what: &str| {
        let answer = server.send(&request);
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{what}");
    };
    kept(Request::get("/api/status"), "nothing was sent");
    kept(Request::get("/api/status").bearer("wrong"), "a wrong token without a cookie");
    kept(Request::get("/api/status").header("Cookie", "aethon_dash="), "an empty cookie");
    kept(Request::get("/api/status").header("Cookie", "other=1"), "another cookie");
    let twice = Request::get("/api/status").bearer(TOKEN).bearer(TOKEN).header("Cookie", &cookie);
    kept(twice, "the cookie is right, and the request malformed");
    let open = Server::start(&[]);
    let answer = open.send(&Request::get("/api/status").header("Cookie", "aethon_dash=stale"));
    assert_eq!(
        (answer.status, answer.header("set-cookie")),
        (200, None),
        "without a token there is no sign-in"
    );
}

#[test]
fn a_stale_cookie_that_came_by_https_is_cleared_as_a_secure_one() {
    let server = Server::start(&[SETTING, "server.trusted_proxies=[\"127.0.0.0/8\"]"]);
    let request = Request::get("/dashboard").header("Cookie", "aethon_dash=stale");
    let answer = server.send(&request.header("X-Forwarded-Proto", "https"));
    assert_cleared(&answer, "https");
    assert!(answer.header("set-cookie").unwrap().contains("Secure"));
}
