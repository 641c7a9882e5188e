//! Signing in with a code (docs/phone.md): it counts once, is not the token, and guessing it costs what guessing the token costs.

use aethon_tests::{Request, Response, Server};
use serde_json::json;

const TOKEN: &str = "t0ken-of-the-owner";
const SETTING: &str = "dashboard.auth_token=t0ken-of-the-owner";

fn issue(server: &Server, address: &str) -> Response {
    server.send(&Request::post("/api/sign-in-codes", &json!({ "address": address })).bearer(TOKEN))
}

fn code(server: &Server) -> String {
    let url =
        issue(server, "https://home.example/aethon/").json()["url"].as_str().expect("an address").to_owned();
    url.strip_prefix("https://home.example/aethon/#sign-in=").expect("its form").to_owned()
}

fn show(server: &Server, code: &str) -> Response {
    server.send(&Request::get("/dashboard").header("X-Aethon-Code", code))
}

#[test]
fn a_code_signs_in_once_and_names_no_token() {
    let server = Server::start(&[SETTING]);
    let made = issue(&server, "http://nas.local:18790");
    assert_eq!(made.status, 201, "{}", made.text());
    assert!(!made.text().contains(TOKEN));
    let rows = made.json()["qr"].as_array().expect("rows").clone();
    assert!(
        rows.len() > 20 && rows.iter().all(|row| row.as_str().is_some_and(|row| row.len() == rows.len()))
    );
    assert!(made.json()["url"].as_str().expect("an address").starts_with("http://nas.local:18790/#sign-in="));
    let code = code(&server);
    let answer = show(&server, &code);
    let cookie = answer.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    let status = Request::get("/api/status").header("Cookie", &cookie);
    assert_eq!((answer.status, server.send(&status).status), (200, 200));
    let again = show(&server, &code);
    assert_eq!((again.status, again.header("set-cookie")), (401, None), "it counts once");
    for elsewhere in ["/api/status", "/", "/metrics"] {
        let answer = server.send(&Request::get(elsewhere).header("X-Aethon-Code", &self::code(&server)));
        assert_eq!(answer.header("set-cookie"), None, "{elsewhere}");
    }
    assert_eq!(
        server.send(&Request::get("/api/status").bearer(&self::code(&server))).status,
        401,
        "it is no token"
    );
    assert_eq!(server.get(&format!("/dashboard?token={}", self::code(&server))).status, 401);
}

#[test]
fn of_many_that_show_a_code_at_once_one_is_signed_in() {
    let server = Server::start(&[SETTING]);
    for _ in 0..5 {
        let code = code(&server);
        let signed_in: usize = std::thread::scope(|scope| {
            let racers: Vec<_> =
                (0..6).map(|_| scope.spawn(|| usize::from(show(&server, &code).status == 200))).collect();
            racers.into_iter().map(|racer| racer.join().expect("an answer")).sum()
        });
        assert_eq!(signed_in, 1);
    }
}

#[test]
fn sign_in_code_needs_a_sign_in_and_ends_with_a_restart() {
    let server = Server::start(&[SETTING]);
    let wanted = Request::post("/api/sign-in-codes", &json!({"address": "https://home.example/"}));
    assert_eq!(server.send(&wanted).status, 401);
    for address in
        ["", "home", "ftp://home.example/", "https://user:password@home.example/", "https://home.example/#x"]
    {
        assert_eq!(issue(&server, address).status, 422, "{address}");
    }
    let code = code(&server);
    let server = Server::start_in(server.kill(), &[SETTING]);
    assert_eq!(show(&server, &code).status, 401);
    let open = Server::start(&[]);
    let answer = open.post("/api/sign-in-codes", &json!({"address": "https://home.example/"}));
    assert_eq!((answer.status, answer.problem()), (409, "no_token".to_owned()));
}

#[test]
fn guessing_codes_is_stopped_like_guessing_tokens() {
    let server = Server::start(&[SETTING]);
    for _ in 0..70 {
        show(&server, "00000000000000000000000000000000");
    }
    let answer = show(&server, "00000000000000000000000000000000");
    assert_eq!(answer.status, 429);
}

#[test]
fn the_command_line_shows_a_code() {
    let server = Server::start(&[SETTING]);
    let run = |arguments: &[&str]| {
        let mut command = aethon_tests::program("aethon-cli", server.home().path());
        command.args(["--set", SETTING, "pair-phone"]).args(arguments);
        let output = command.output().expect("it runs");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (is_done, text) = run(&["--address", "https://home.example/"]);
    assert!(is_done && text.contains("https://home.example/#sign-in=") && text.contains('█'), "{text}");
    assert!(!text.contains(TOKEN) && !text.contains("does not reach"));
    let (_, text) = run(&[]);
    assert!(text.contains("A phone does not reach this address"), "{text}");
}
