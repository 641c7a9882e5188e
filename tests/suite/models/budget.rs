//! The daily ceiling: `budget.*`, `budget_warning` and `budget_exceeded` (docs/context-and-budget.md).

use aethon_tests::socket::of_type;
use aethon_tests::{Request, Server};
use serde_json::{Value, json};

/// A dollar for a thousand tokens, and a ceiling that some answers pay for.
const TIGHT: [&str; 2] = ["budget.daily_usd=5", "budget.pricing.fake={input=1000.0, output=1000.0}"];

fn budget(server: &Server) -> Value {
    server.get("/api/usage?days=1").json()["budget"].clone()
}

#[test]
fn the_ceiling_holds_across_a_restart_and_says_why() {
    let server = Server::start(&TIGHT);
    let mut chat = server.chat("default");
    let (mut answered, mut warnings) = (0, 0);
    let refused = loop {
        let frames = chat.say(&format!("m{answered}"), "!say a short answer");
        warnings +=
            of_type(&frames, "notice").iter().filter(|notice| notice["code"] == "budget_warning").count();
        if frames.last().unwrap()["stop_reason"] != "end" {
            break frames;
        }
        let usage = of_type(&frames, "usage").last().copied().cloned().unwrap();
        assert!(usage["cost_usd"].as_f64() > Some(0.0), "{usage}");
        answered += 1;
        assert!(answered < 500, "the ceiling does not hold");
    };
    assert!(answered > 0);
    assert!(warnings <= 1, "once a day");
    assert_eq!(refused.last().unwrap()["stop_reason"], "budget");
    let error = of_type(&refused, "error")[0];
    assert_eq!(error["code"], "budget_exceeded");
    for word in ["budget.daily_usd", "$5.00", "UTC"] {
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
    let before = budget(&server);
    assert!(
        before["spent_usd"].as_f64().unwrap() <= 5.0 && before["spent_usd"].as_f64().unwrap() > 0.0,
        "{before}"
    );
    assert_eq!(before["reserved_usd"], 0.0, "{before}");

    let home = server.home();
    drop(chat);
    let server = {
        server.terminate();
        Server::start_in(home, &TIGHT)
    };
    assert_eq!(budget(&server)["spent_usd"], before["spent_usd"]);
    let mut chat = server.chat("default");
    assert_eq!(chat.say("again", "!say a short answer").last().unwrap()["stop_reason"], "budget");
    assert_eq!(budget(&server)["spent_usd"], before["spent_usd"], "a refused call costs nothing");

    // A session without a history is cheaper to answer: the rest of the budget suffices for it, until it suffices for none.
    let mut answered = 0;
    let (refused, spent) = loop {
        let spent = budget(&server)["spent_usd"].clone();
        let webhook = server.send(&Request::post("/webhook/trigger", &json!({"text": "!say hi"})));
        if webhook.status != 200 {
            break (webhook, spent);
        }
        answered += 1;
        assert!(answered < 500, "the ceiling does not hold");
    };
    assert_eq!((refused.status, &refused.json()["code"]), (429, &json!("budget_exceeded")));
    let after = budget(&server);
    assert_eq!(after["spent_usd"], spent, "a refused call costs nothing");
    assert!(after["spent_usd"].as_f64().unwrap() <= 5.0, "{after}");
}

#[test]
fn answer_ends_at_the_ceiling() {
    let server = Server::start(&["budget.daily_usd=1", "budget.pricing.fake={input=0.0, output=1000.0}"]);
    let mut chat = server.chat("default");
    let frames = chat.say("m1", "!stream 100000 0");
    let done = frames.last().unwrap();
    assert_eq!(done["stop_reason"], "budget");
    assert!(done["text"].as_str().unwrap().starts_with("token1 "), "what was said is kept");
    let spent = budget(&server)["spent_usd"].as_f64().unwrap();
    assert!(spent > 0.9 && spent < 1.01, "{spent}");
}

#[test]
fn ceiling_without_prices_blocks_nothing() {
    let server = Server::start(&["budget.daily_usd=0.000001"]);
    let mut chat = server.chat("default");
    for turn in 0..3 {
        assert_eq!(chat.say(&format!("m{turn}"), "!say free").last().unwrap()["text"], "free");
    }
}
