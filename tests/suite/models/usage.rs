//! Token usage of the models: `aethon-cli usage`, `[budget]`, `/api/usage` and the topic `usage` (docs/context-and-budget.md).

use std::path::Path;

use aethon_tests::{Request, Server, eventually, home, run, run_cli};
use serde_json::{Value, json};

/// A price at which a token costs a hundredth of a cent, so that amounts are easy to read.
const PRICE: &str = "budget.pricing.fake={input = 100, output = 100}";

fn usage(server: &Server) -> Value {
    let answer = server.get("/api/usage?days=2");
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

fn amount(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no amount"))
}

fn ask(server: &Server, text: &str) -> u16 {
    server.post("/webhook/trigger", &json!({ "text": text })).status
}

/// What `aethon-cli usage` prints.
fn cli(home: &Path, arguments: &[&str]) -> String {
    let output = run_cli(home, &[&["usage"], arguments].concat(), None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn an_empty_ledger_is_a_whole_document() {
    let server = Server::start(&["budget.daily_usd=2.5"]);
    let none = json!({"requests": 0, "failed": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cost_usd": 0.0, "saved_usd": 0.0});
    let answer = server.get("/api/usage").json();
    assert_eq!(
        (&answer["days"], &answer["rows"], &answer["today"], &answer["total"]),
        (&json!(30), &json!([]), &none, &none)
    );
    let budget = json!({"daily_usd": 2.5, "spent_usd": 0.0, "reserved_usd": 0.0, "state": "ok"});
    assert_eq!(answer["budget"], budget);
    assert_eq!(answer["day"].as_str().map(str::len), Some("2026-11-20".len()));
}

#[test]
fn days_are_checked() {
    let server = Server::start(&[]);
    for (days, status) in [
        ("1", 200),
        ("366", 200),
        ("0", 422),
        ("367", 422),
        ("-1", 422),
        ("1.5", 422),
        ("many", 422),
        ("99999999999999999999", 422),
        ("%00", 422),
    ] {
        let answer = server.get(&format!("/api/usage?days={days}"));
        assert_eq!(answer.status, status, "{days}: {}", answer.text());
        if status == 422 {
            assert_eq!(answer.json()["errors"][0]["field"], "days", "{days}");
        }
    }
    assert_eq!(server.send(&Request::new("POST", "/api/usage")).status, 405);
}

#[test]
fn usage_is_gated_and_belongs_to_the_dashboard() {
    let server = Server::start(&["dashboard.auth_token=token"]);
    assert_eq!(server.get("/api/usage").status, 401);
    assert_eq!(server.send(&Request::get("/api/usage").bearer("token")).status, 200);
    let server = Server::start(&["dashboard.enabled=false"]);
    assert_eq!(server.get("/api/usage").status, 404);
}

#[test]
fn terminal_usage_is_the_same_with_and_without_the_daemon() {
    let home = home();
    let text = cli(home.path(), &["--days", "7", "--set", "budget.daily_usd=1"]);
    assert!(text.contains("last 7 days") && text.contains("0.0000 of 1.00 USD"), "{text}");
    let output = run_cli(home.path(), &["usage", "--days", "0"], None);
    assert_eq!(output.status.code(), Some(2), "{output:?}");

    let server = Server::start_in(home, &[PRICE]);
    assert_eq!(ask(&server, "!say hello"), 200);
    let json: fn(&str) -> Value = |text| serde_json::from_str(text).unwrap();
    let through = json(&cli(server.home().path(), &["--json", "--days", "2"]));
    assert_eq!(through, usage(&server));
    let text = cli(server.home().path(), &[]);
    assert!(text.contains("fake") && text.contains("turn") && text.contains("total"), "{text}");
    let home = server.home();
    server.terminate();
    assert_eq!(json(&cli(home.path(), &["--json", "--days", "2"]))["rows"], through["rows"]);
}

#[test]
fn every_call_counts_with_its_tokens_and_its_price() {
    let server = Server::start(&[PRICE]);
    let mut socket = server.socket("/ws/dashboard");
    socket.send_json(&json!({"channel": "subscribe", "topics": ["usage"]}));
    assert!(socket.has_handled_all());
    // Two requests of one turn, then one of another.
    assert_eq!(ask(&server, "!tool current_time {}"), 200);
    assert_eq!(ask(&server, "!say hello"), 200);
    let told = usage(&server);
    let row = &told["rows"][0];
    assert_eq!((&row["model"], &row["kind"], &row["requests"]), (&json!("fake"), &json!("turn"), &json!(3)));
    assert_eq!(row["day"], told["day"]);
    let tokens = row["input_tokens"].as_u64().unwrap() + row["output_tokens"].as_u64().unwrap();
    assert!(tokens > 0 && (amount(&row["cost_usd"]) - tokens as f64 / 1e4).abs() < 1e-6, "{row}");
    assert_eq!(told["budget"]["spent_usd"], row["cost_usd"]);
    assert_eq!(told["budget"]["state"], "ok", "without a ceiling nothing is ever used up");

    let mut spent = 0.0;
    for seq in 1..=3 {
        let frame = socket.frame();
        assert_eq!((&frame["channel"], &frame["seq"]), (&json!("usage"), &json!(seq)));
        spent += amount(&frame["data"]["call"]["cost_usd"]);
        assert!((amount(&frame["data"]["today"]["spent_usd"]) - spent).abs() < 1e-6, "{frame}");
        assert_eq!(frame["data"]["call"]["kind"], "turn");
    }
}

#[test]
fn the_ceiling_holds_across_a_restart() {
    let settings = [PRICE, "budget.daily_usd=0.5", "model.max_tokens=200"];
    let mut server = Server::start(&settings);
    let (mut answered, mut restarts) = (0, 0);
    while ask(&server, "!say hello") == 200 {
        answered += 1;
        assert!(answered < 500, "the ceiling does not hold: {}", usage(&server));
        if answered % 3 == 0 && restarts < 3 {
            restarts += 1;
            let before = usage(&server)["budget"].clone();
            // Once in order and then as a crash would: all calls were settled, so nothing is lost or doubled.
            let home = server.home();
            if restarts % 2 == 1 {
                server.terminate();
            } else {
                server.kill();
            }
            server = Server::start_in(home, &settings);
            assert_eq!(usage(&server)["budget"], before);
        }
    }
    let refused = server.post("/webhook/trigger", &json!({"text": "!say hello"}));
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("budget_exceeded")));
    let budget = usage(&server)["budget"].clone();
    assert!(answered > 0 && amount(&budget["spent_usd"]) <= 0.5, "{budget}");
    assert_ne!(budget["state"], "ok");
    let home = server.kill();
    let server = Server::start_in(home, &settings);
    assert_eq!(ask(&server, "!say hello"), 429, "a restart gives no new money");
    let text = cli(server.home().path(), &["--set", "budget.daily_usd=0.5"]);
    assert!(text.contains("of 0.50 USD"), "{text}");
}

#[test]
fn call_interrupted_by_a_crash_counts_as_an_average_answer() {
    let settings = [PRICE, "budget.daily_usd=100", "model.max_tokens=100"];
    let server = Server::start(&settings);
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "!sleep 60000"}));
    let reserved = eventually("money is set aside", || {
        let reserved = amount(&usage(&server)["budget"]["reserved_usd"]);
        (reserved > 0.0).then_some(reserved)
    });
    // A terminal beside the daemon leaves its reservation alone.
    let output = run(
        aethon_tests::program("aethon-cli", server.home().path()).args(["sessions", "list", "--json"]),
        None,
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(amount(&usage(&server)["budget"]["reserved_usd"]), reserved);

    let server = Server::start_in(server.kill(), &settings);
    let told = usage(&server);
    let cut = told["rows"].as_array().unwrap().iter().find(|row| row["kind"] == "interrupted");
    let cut = cut.unwrap_or_else(|| panic!("{told}"));
    assert_eq!((&cut["requests"], &cut["failed"]), (&json!(1), &json!(1)));
    // A reservation has a margin above the estimate.
    let cost = amount(&cut["cost_usd"]);
    assert!(cost > 0.5 * reserved && cost <= reserved, "{cost} of {reserved}");
    assert!(amount(&told["budget"]["spent_usd"]) >= cost);
}
