//! The access token: required by default, and refused in every wrong form.

use std::thread;

use aethon_tests::http::exchange;
use aethon_tests::{Request, Response, Server, Socket};
use serde_json::json;

const TOKEN: &str = "correct+horse battery/staple";
/// The token in an address.
const ENCODED: &str = "correct%2Bhorse%20battery%2Fstaple";
const SETTING: &str = "dashboard.auth_token=\"correct+horse battery/staple\"";

fn guarded() -> Server {
    Server::start(&[SETTING])
}

/// Signs in as a browser does and returns the cookie, `name=value`.
fn sign_in(server: &Server) -> String {
    let answer = server.get(&format!("/dashboard?token={ENCODED}"));
    let cookie = answer.header("set-cookie").expect("a cookie is set").to_owned();
    cookie.split(';').next().expect("a pair").to_owned()
}

#[test]
fn public_routes_need_no_token() {
    let server = guarded();
    for target in ["/", "/health", "/dashboard/static/nothing"] {
        assert_ne!(server.get(target).status, 401, "{target}");
    }
    assert_eq!(server.post("/webhook/trigger", &json!({"text": "!say hello"})).status, 200);
    assert_eq!(server.get("/health").json(), json!({"status": "ok"}));
}

#[test]
fn everything_else_is_401_for_any_method() {
    let server = guarded();
    let targets = [
        "/api/status",
        "/api/sessions",
        "/api/config",
        "/api/config/schema",
        "/api/logs",
        "/api/approvals",
        "/api",
        "/api/nothing",
        "/nothing",
        "/docs",
        "/docs/handbook",
        "/docs/handbook/first-hour",
        "/docs/reference/approvals",
        "/openapi.json",
        "/metrics",
        "/favicon.ico",
        "/ws",
        "/ws/nothing",
        "/dashboards",
        "/api/sessions/webchat:default/export",
        "/dashboard/",
        "/dashboard/x",
    ];
    for target in targets {
        for method in
            ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "PROPFIND", "X-ODD"]
        {
            let answer = server.send(&Request::new(method, target));
            assert_eq!(answer.status, 401, "{method} {target}");
            answer.assert_guarded();
            assert!(answer.header("www-authenticate").is_some(), "RFC 9110 asks for it: {method} {target}");
            if method != "HEAD" {
                answer.problem();
            }
        }
    }
    for target in ["/ws/chat", "/ws/dashboard"] {
        assert_eq!(server.get(target).status, 401, "a plain GET of {target}: 401 before 426");
    }
}

#[test]
fn variants_of_public_paths_stay_401() {
    let server = guarded();
    let targets = [
        "//",
        "//health",
        "/health/",
        "/Health",
        "/HEALTH",
        "/health.",
        "/./health",
        "/x/../health",
        "/health%20",
        "/health;x",
        "/%68ealth",
        "/%2e%2e/health",
        "/dashboard/static",
        "/dashboard/Static/x",
        "/dashboard//static/x",
        "/dashboard/static/../../api/status",
        "/dashboard/static/%2e%2e/%2e%2e/api/status",
        "/dashboard/static%2f..%2fapi",
        "/webhook",
        "/Webhook/trigger",
        "/webhook%2ftrigger",
        "/webhook%2Fx",
        "//webhook/trigger",
        "/./webhook/x",
        "/webhook/../api/status",
        "/webhook/..%2fapi%2fstatus",
        "/webhook/%2e%2e/api/status",
        "/webhook\\x",
        "/api/../health",
        "/health/../api/status",
        "/health%00",
        "/index.html",
        "/%2e",
        "/.",
        "/..",
    ];
    for target in targets {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = exchange(server.address, bytes.as_bytes()).expect("an answer");
        // Below a public prefix a name that cannot exist is 404, and a target that is no path is 400: never a page.
        let is_below = target.starts_with("/dashboard/static/") || target.starts_with("/webhook/");
        let expected: &[u16] = if is_below { &[401, 404, 405] } else { &[401, 400] };
        assert!(expected.contains(&answer.status), "{target}: {}", answer.status);
    }
}

#[test]
fn first_present_token_carrier_decides() {
    let server = guarded();
    let cookie = sign_in(&server);
    let raw = format!("aethon_dash={TOKEN}");
    let check = |cookie: Option<&str>, bearer: Option<&str>, query: &str, expected: u16| {
        let mut request = Request::get(&format!("/api/status{query}"));
        if let Some(cookie) = cookie {
            request = request.header("Cookie", cookie);
        }
        if let Some(bearer) = bearer {
            request = request.header("Authorization", bearer);
        }
        assert_eq!(server.send(&request).status, expected, "{cookie:?} {bearer:?} {query}");
    };
    let bearer = format!("Bearer {TOKEN}");
    let (bearer, right, wrong) = (bearer.as_str(), format!("?token={ENCODED}"), "?token=wrong");
    check(Some(&cookie), None, "", 200);
    check(Some(&raw), None, "", 200);
    check(None, Some(bearer), "", 200);
    check(None, None, &right, 200);
    check(None, Some("bearer correct+horse battery/staple"), "", 200);
    // The first one that is there counts, right or wrong.
    check(Some("aethon_dash=wrong"), Some(bearer), &right, 401);
    check(Some(&cookie), Some("Bearer wrong"), wrong, 200);
    check(None, Some("Bearer wrong"), &right, 401);
    check(None, Some(bearer), wrong, 200);
    check(None, None, wrong, 401);
    // An empty value counts as absent.
    check(Some("aethon_dash="), Some(bearer), wrong, 200);
    check(Some("other=x"), Some("Bearer "), &right, 200);
    check(Some("aethon_dash="), Some("Bearer"), "?token=", 401);
    // Look-alikes of the cookie's name.
    check(Some(&format!("xaethon_dash={TOKEN}")), None, "", 401);
    check(Some(&format!("aethon_dash2={TOKEN}; AETHON_DASH={TOKEN}")), None, "", 401);
    check(Some(&format!("a=1; {cookie}; b=2")), None, "", 200);
}

#[test]
fn odd_tokens_are_401_and_never_500() {
    let server = guarded();
    let status = |head: &[u8]| {
        let mut bytes = b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n".to_vec();
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(b"\r\n\r\n");
        exchange(server.address, &bytes).expect("an answer").status
    };
    assert_eq!(status(b"Authorization: Bearer \xff\xfe\xfd"), 401);
    assert_eq!(status("Authorization: Bearer p\u{e4}ssw\u{f6}rd".as_bytes()), 401);
    assert_eq!(status(b"Cookie: aethon_dash=\xff\xfe"), 401);
    assert_eq!(status(format!("Authorization: Bearer {}", "x".repeat(7000)).as_bytes()), 401);
    assert_eq!(status(format!("Cookie: aethon_dash={}", "x".repeat(7000)).as_bytes()), 401);
    assert_eq!(status(b"Authorization: Basic YTpi"), 401);
    assert_eq!(status(b"Authorization: Bearer correct+horse"), 401, "a prefix");
    let doubled = format!("Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}");
    assert_eq!(status(doubled.as_bytes()), 401, "two headers are never honest");
    for query in ["token=%ff%fe", "token=%", "token=%zz", "token=a&token=b", "token"] {
        assert_eq!(server.get(&format!("/api/status?{query}")).status, 401, "{query}");
    }
}

#[test]
fn a_token_may_be_any_text() {
    for token in ["\u{fc}ml\u{e4}ut \u{1f980}", "a=b;c,d", "%41", "Bearer x", &"long".repeat(500)] {
        let server = Server::start(&[&format!("dashboard.auth_token=\"{token}\"")]);
        let mut bytes = b"GET /api/status HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ".to_vec();
        bytes.extend_from_slice(token.as_bytes());
        bytes.extend_from_slice(b"\r\n\r\n");
        assert_eq!(exchange(server.address, &bytes).expect("an answer").status, 200, "{token}");
        let encoded: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
        assert_eq!(server.get(&format!("/api/status?token={encoded}")).status, 200, "{token}");
        assert_eq!(server.get("/api/status?token=%41x").status, 401, "{token}");
    }
}

#[test]
fn a_token_of_blanks_is_none() {
    let server = Server::start(&["dashboard.auth_token=\"   \""]);
    assert_eq!(server.get("/api/status").status, 200);
    assert_eq!(server.get("/api/status?token=%20%20%20").status, 200);
}

#[test]
fn opening_the_dashboard_with_the_token_signs_in() {
    let server = guarded();
    let target = format!("/dashboard?token={ENCODED}");
    let answer = server.get(&target);
    assert_eq!(answer.status, 200);
    assert!(answer.header("content-type").unwrap().starts_with("text/html"));
    let cookie = answer.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once(';').unwrap();
    assert!(pair.starts_with("aethon_dash=") && pair.len() > "aethon_dash=".len());
    assert!(!cookie.contains("horse"), "a cookie does not hold the token itself");
    let attributes: Vec<&str> = attributes.split(';').map(str::trim).collect();
    for attribute in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=2592000"] {
        assert!(attributes.contains(&attribute), "{attribute} in {cookie}");
    }
    assert!(!attributes.contains(&"Secure"), "it came by http");

    let navigation = server.send(&Request::get(&target).header("Sec-Fetch-Mode", "navigate"));
    assert_eq!((navigation.status, navigation.header("location")), (303, Some("/dashboard")));
    assert!(navigation.header("set-cookie").is_some(), "the token leaves the address bar");
    navigation.assert_guarded();

    let again = server.send(&Request::get("/dashboard").header("Cookie", pair));
    assert_eq!(again.status, 200);
    assert!(again.header("set-cookie").is_none());
}

#[test]
fn stale_cookie_does_not_block_the_dashboard_sign_in() {
    let server = guarded();
    let stale = ("Cookie", "aethon_dash=stale");
    let target = format!("/dashboard?token={ENCODED}");
    let answer = server.send(&Request::get(&target).header(stale.0, stale.1));
    assert_eq!(answer.status, 200);
    assert!(answer.header("set-cookie").is_some());
    let elsewhere =
        server.send(&Request::get(&format!("/api/status?token={ENCODED}")).header(stale.0, stale.1));
    assert_eq!(elsewhere.status, 401, "only GET /dashboard looks at the query first");
    let wrong = server.send(&Request::get("/dashboard?token=wrong").header("Cookie", &sign_in(&server)));
    assert_eq!(wrong.status, 200, "a right cookie still counts");
}

#[test]
fn the_cookie_is_secure_when_a_trusted_proxy_says_https() {
    let forwarded = |server: &Server| {
        let request =
            Request::get(&format!("/dashboard?token={ENCODED}")).header("X-Forwarded-Proto", "https");
        server.send(&request).header("set-cookie").unwrap().contains("Secure")
    };
    assert!(forwarded(&Server::start(&[SETTING, "server.trusted_proxies=[\"127.0.0.0/8\"]"])));
    assert!(!forwarded(&guarded()), "nobody else may say so");
    assert!(!forwarded(&Server::start(&[SETTING, "server.trusted_proxies=[\"10.0.0.1\"]"])));
}

#[test]
fn a_cookie_survives_a_restart_and_not_a_change_of_the_token() {
    let server = guarded();
    let cookie = sign_in(&server);
    let home = server.home();
    let status = |server: &Server| server.send(&Request::get("/api/status").header("Cookie", &cookie)).status;
    server.terminate();
    let server = Server::start_in(home.clone(), &[SETTING]);
    assert_eq!(status(&server), 200);
    server.terminate();
    assert_eq!(status(&Server::start_in(home, &["dashboard.auth_token=another"])), 401);
}

#[test]
fn the_dashboard_without_a_token_is_a_sign_in_page() {
    let answer = guarded().get("/dashboard");
    assert_eq!(answer.status, 401);
    assert!(answer.header("content-type").unwrap().starts_with("text/html"));
    assert!(answer.text().contains("Sign in"), "{}", answer.text());
    answer.assert_guarded();
    let open = Server::start(&[]).get("/dashboard");
    assert_eq!(open.status, 200, "without a configured token there is nothing to ask for");
}

#[test]
fn wrong_tokens_are_limited_and_right_ones_work() {
    let server = guarded();
    let send = |token: &str| server.send(&Request::get("/api/status").bearer(token));
    let cookie = sign_in(&server);
    for _ in 0..100 {
        assert_eq!(server.get("/api/status").status, 401, "none at all is not counted");
    }
    let answers: Vec<Response> = (0..62).map(|number| send(&format!("wrong{number}"))).collect();
    let refused = answers.iter().filter(|answer| answer.status == 401).count();
    assert!((55..=61).contains(&refused), "60 a minute, and not {refused}");
    let last = answers.last().unwrap();
    assert_eq!(last.status, 429);
    last.problem();
    last.assert_guarded();
    let wait: u64 = last.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    for _ in 0..2 {
        assert_eq!(send(TOKEN).status, 200, "the owner's token works, after a wait");
    }
    for _ in 0..20 {
        let signed_in = Request::get("/api/status").header("Cookie", &cookie);
        assert_eq!(server.send(&signed_in).status, 200, "the owner's browser is not affected");
    }
    assert_eq!(server.get("/api/status").status, 401, "nor is who sends none");
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn wrong_tokens_on_sockets_are_limited_too() {
    let server = guarded();
    for _ in 0..61 {
        // Past the limit the handshake may be refused.
        let _ = Socket::try_open(server.address, "/ws/chat", &[("Authorization", "Bearer wrong")]);
    }
    assert_eq!(server.send(&Request::get("/api/status").bearer("wrong")).status, 429);
    let bearer = format!("Bearer {TOKEN}");
    let mut socket = Socket::open(server.address, "/ws/chat", &[("Authorization", &bearer)]);
    socket.send("!say still here");
    assert_eq!(socket.text(), "still here");
}

#[test]
fn guessing_from_many_connections_is_limited_as_well() {
    let server = guarded();
    let address = server.address;
    let guess = move |worker: usize| {
        let request = |number: usize| Request::get("/api/status").bearer(&format!("guess-{worker}-{number}"));
        (0..10).filter(|number| request(*number).send(address).status == 401).count()
    };
    let workers: Vec<_> = (0..8).map(|worker| thread::spawn(move || guess(worker))).collect();
    let refused: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert!(refused <= 65, "{refused} guesses were answered with 401");
}

#[test]
fn behind_a_trusted_proxy_each_client_has_a_limit_of_its_own() {
    let from = |server: &Server, address: &str| {
        let request = Request::get("/api/status").bearer("wrong").header("X-Forwarded-For", address);
        server.send(&request).status
    };
    let proxied = Server::start(&[SETTING, "server.trusted_proxies=[\"127.0.0.1\"]"]);
    for _ in 0..60 {
        from(&proxied, "203.0.113.1");
    }
    assert_eq!((from(&proxied, "203.0.113.1"), from(&proxied, "203.0.113.2")), (429, 401));
    // What anybody else says of himself does not get him past it.
    let direct = guarded();
    for number in 0..60 {
        from(&direct, &format!("203.0.113.{number}"));
    }
    assert_eq!(from(&direct, "203.0.113.200"), 429);
}

#[test]
fn signing_out_revokes_the_cookie() {
    let server = guarded();
    let cookie = sign_in(&server);
    let own = format!("http://{}", server.address);
    let request = Request::new("POST", "/api/sign-out").header("Cookie", &cookie);
    assert_eq!(server.send(&request.clone().header("Origin", "https://evil.example")).status, 403);
    let answer = server.send(&request.header("Origin", &own));
    assert_eq!(answer.status / 100, 2);
    let cleared = answer.header("set-cookie").expect("the cookie is taken back");
    assert!(cleared.starts_with("aethon_dash=;") && cleared.contains("Max-Age=0"), "{cleared}");
}

/// An open socket of this sign-in.
fn socket_of(server: &Server, target: &str, cookie: &str) -> Socket {
    Socket::open(server.address, target, &[("Cookie", cookie)])
}

#[test]
fn signing_out_closes_the_sockets_of_that_sign_in_only() {
    let server = guarded();
    let (one, other) = (sign_in(&server), sign_in(&server));
    let v1 = [("Cookie", one.as_str()), ("Sec-WebSocket-Protocol", "aethon.chat.v1")];
    let mut chat = Socket::open(server.address, "/ws/chat?session=v1", &v1);
    assert_eq!(chat.frame()["type"], "ready");
    let mut plain = socket_of(&server, "/ws/chat", &one);
    let mut dashboard = socket_of(&server, "/ws/dashboard", &one);
    let mut kept = socket_of(&server, "/ws/chat?session=kept", &other);
    // One that waits for an answer, and one that is in the middle of one.
    plain.send("!stream 2000 20");
    chat.send_json(&json!({"type": "message", "id": "1", "text": "!stream 2000 20"}));
    chat.until("delta");
    let out = Request::new("POST", "/api/sign-out").header("Cookie", &one);
    assert_eq!(server.send(&out).status, 200);
    for (name, socket) in [("chat", &mut chat), ("plain", &mut plain), ("dashboard", &mut dashboard)] {
        assert_eq!(socket.close_code(), 1008, "{name}");
    }
    let with = |cookie: &str| server.send(&Request::get("/api/status").header("Cookie", cookie)).status;
    assert_eq!((with(&one), with(&other)), (401, 200), "the cookie is worth nothing any more");
    kept.send("!say still here");
    assert_eq!(kept.text(), "still here");
}

#[test]
fn a_sign_in_outlasts_a_restart_and_each_is_another() {
    let server = guarded();
    let (one, other) = (sign_in(&server), sign_in(&server));
    assert_ne!(one, other);
    let out = Request::new("POST", "/api/sign-out").header("Cookie", &other);
    assert_eq!(server.send(&out).status, 200);
    let home = server.kill();
    let server = Server::start_in(home.clone(), &[SETTING]);
    let request = Request::get("/api/status").header("Cookie", &one);
    assert_eq!(server.send(&request).status, 200);
    let copied = Request::get("/api/status").header("Cookie", &other);
    assert_eq!(server.send(&copied).status, 401, "what was signed out stays so");
    drop(server);
    let server = Server::start_in(home, &["dashboard.auth_token=\"another token, long enough\""]);
    assert_eq!(server.send(&request).status, 401, "with another token nobody is signed in");
}

#[test]
fn a_sign_in_lasts_as_long_as_it_is_set_to() {
    let server = Server::start(&[SETTING, "dashboard.session_days=2"]);
    let cookie = server.get(&format!("/dashboard?token={ENCODED}")).header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("; Max-Age=172800;"), "{cookie}");
    for days in ["0", "4000", "\"long\""] {
        let setting = format!("dashboard.session_days={days}");
        let refused = aethon_tests::run_server(aethon_tests::home().path(), &["--check", "--set", &setting]);
        assert_eq!(refused.status.code(), Some(2), "{days}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("dashboard.session_days"), "{refused:?}");
    }
}

#[test]
fn the_sign_in_form_leaves_authorization_to_a_proxy_in_front() {
    let server = guarded();
    let shown = "correct%2Bhorse%20battery%2Fstaple";
    let basic = ("Authorization", "Basic b3duZXI6cHJveHk=");
    let send = |target: &str, token: &str| {
        server.send(&Request::get(target).header(basic.0, basic.1).header("X-Aethon-Token", token))
    };
    let answer = send("/dashboard", shown);
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().unwrap().to_owned();
    let again = Request::get("/api/status").header("Cookie", &cookie).header(basic.0, basic.1);
    assert_eq!((answer.status, server.send(&again).status), (200, 200));
    assert_eq!(send("/api/status", shown).status, 200);
    assert_eq!(send("/api/status", "wrong").status, 401);
    let twice = Request::get("/api/status").header("X-Aethon-Token", shown).header("X-Aethon-Token", shown);
    assert_eq!(server.send(&twice).status, 401);
    for _ in 0..70 {
        send("/api/status", "guess");
    }
    assert_eq!(send("/api/status", "guess").status, 429, "a guess there counts as any other");
    assert_eq!(server.send(&Request::get("/api/status").header(basic.0, basic.1)).status, 401);
}

#[test]
fn probes_from_named_addresses_need_no_token() {
    let closed = guarded();
    assert_eq!(closed.get("/api/ready").status, 401);
    let server = Server::start(&[SETTING, "server.health_from=[\"127.0.0.0/8\"]"]);
    assert_eq!(server.get("/api/ready").json()["ready"], true);
    assert_eq!(server.send(&Request::new("HEAD", "/api/ready")).status, 200);
    let wrong = Request::get("/api/ready").header("Authorization", "Bearer wrong");
    assert_eq!(server.send(&wrong).status, 401, "a guess is a guess");
    for target in ["/api/status", "/api/ready/", "//api/ready", "/api/ready%2f"] {
        assert_eq!(server.get(target).status, 401, "{target}");
    }
    assert_eq!(server.post("/api/ready", &json!({})).status, 401);
    let elsewhere = Server::start(&[SETTING, "server.health_from=[\"192.0.2.1\"]"]);
    assert_eq!(elsewhere.get("/api/ready").status, 401);
    let refused = aethon_tests::run_server(
        aethon_tests::home().path(),
        &["--check", "--set", "server.health_from=[\"lan\"]"],
    );
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("server.health_from"), "{refused:?}");
}
