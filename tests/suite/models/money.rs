//! The bills of a service, against the ceiling and the ledger (docs/context-and-budget.md).
//!
//! The service of these tests counts by its own rule everything that reached it and everything that it produced. However a
//! call goes, its bill stays below the ceiling and one step of a reservation, and the ledger has the whole of it.

use std::sync::Arc;

use aethon_tests::billing::{Charge, Dialect, Play, TOKEN, Window};
use aethon_tests::server::server_command;
use aethon_tests::socket::of_type;
use aethon_tests::stub::Seen;
use aethon_tests::{Billing, Server, eventually, home, run, run_cli};
use serde_json::{Value, json};

/// The price of a million tokens, sent and received: a hundred tokens of an answer are a cent.
const INPUT: f64 = 1.0;
const OUTPUT: f64 = 100.0;
const PRICE: &str = "budget.pricing.billed={input = 1.0, output = 100.0}";

/// By how much a reservation grows at first: half of the answer that is taken for usual, in USD.
const STEP: f64 = 500.0 * OUTPUT / 1e6;

/// The least that an answer may be cut to, in USD: 64 tokens.
const MIN_COUNT: f64 = 64.0 * OUTPUT / 1e6;

/// More than any answer comes to.
const ENDLESS: u64 = 1_000_000;

fn settings(service: &Billing, model: &str, more: &[&str]) -> Vec<String> {
    let host = format!("model.host=\"http://{}/v1\"", service.address);
    let own = ["model.provider=openai", "model.api_key=sk-test", "model.max_retries=4"];
    let mut all: Vec<String> = own.iter().chain(more).map(|&setting| setting.to_owned()).collect();
    all.extend([host, format!("model.model_id={model}")]);
    all
}

fn borrowed(settings: &[String]) -> Vec<&str> {
    settings.iter().map(String::as_str).collect()
}

/// A service and a server that asks it for the model `billed`.
fn billed(more: &[&str], script: impl Fn(&Seen) -> Play + Send + Sync + 'static) -> (Billing, Server) {
    let service = Billing::start(Dialect::OpenAi, script);
    let settings = settings(&service, "billed", &[&[PRICE][..], more].concat());
    let server = Server::start(&borrowed(&settings));
    (service, server)
}

fn usage(server: &Server) -> Value {
    server.get("/api/usage?days=1").json()
}

fn rows(server: &Server) -> Vec<Value> {
    usage(server)["rows"].as_array().unwrap().clone()
}

/// The amount that the ledger shows as spent today, once nothing is reserved any more.
fn spent(server: &Server) -> f64 {
    eventually("nothing is reserved", || {
        let budget = usage(server)["budget"].clone();
        (budget["reserved_usd"] == 0.0).then(|| budget["spent_usd"].as_f64().unwrap())
    })
}

#[track_caller]
fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} by {tolerance}");
}

/// The words of the person that a request ends with.
fn asked(seen: &Seen) -> String {
    let body = seen.json();
    let user = body["messages"].as_array().unwrap().iter().rfind(|message| message["role"] == "user");
    user.map(ToString::to_string).unwrap_or_default()
}

/// Says something and shows the service how far the answer has come; returns the end of the turn.
fn watch(server: &Server, session: &str, text: &str, window: &Window) -> Value {
    let mut chat = server.chat(session);
    chat.send_json(&json!({"type": "message", "id": "m", "text": text}));
    loop {
        let frame = chat.frame();
        match frame["type"].as_str() {
            Some("delta") => window.seen(frame["text"].as_str().unwrap().len()),
            Some("done") => return frame,
            _ => {}
        }
    }
}

/// Twenty sessions say something at once; what each of them came to.
fn twenty(server: &Server, windows: &[Window]) -> Vec<Value> {
    std::thread::scope(|scope| {
        let asking: Vec<_> = windows
            .iter()
            .enumerate()
            .map(|(n, window)| {
                scope.spawn(move || watch(server, &format!("s{n}"), &format!("I am number <{n}>"), window))
            })
            .collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    })
}

/// The caller's window.
fn window_of(windows: &Arc<Vec<Window>>, seen: &Seen) -> Option<Window> {
    let said = asked(seen);
    let number = said.split_once("number <")?.1.split_once('>')?.0.parse::<usize>().ok()?;
    windows.get(number).cloned()
}

fn windows() -> Arc<Vec<Window>> {
    Arc::new((0..20).map(|_| Window::default()).collect())
}

#[test]
fn single_session_spends_up_to_the_ceiling_and_no_more() {
    let (service, server) = billed(&["budget.daily_usd=0.1"], |_| Play::say(70));
    let mut chat = server.chat("default");
    let mut answers = 0;
    let last = loop {
        let done = chat.say(&format!("m{answers}"), "More.").pop().unwrap();
        if done["stop_reason"] != "end" {
            break done;
        }
        answers += 1;
        assert!(answers < 50, "the ceiling does not hold");
    };
    assert_eq!(last["stop_reason"], "budget");
    let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
    assert_near(spent, bill, 1e-9);
    let request = service.charges().last().unwrap().input as f64 * INPUT / 1e6;
    assert!(bill <= 0.1 + STEP, "{bill}");
    assert!(bill >= 0.1 - MIN_COUNT - 1.5 * request, "the rest pays for no answer: {bill}");
    assert_eq!(usage(&server)["budget"]["state"], "exhausted");
}

#[test]
fn endless_answer_stops_at_the_daily_ceiling() {
    // One service keeps to the limit that it is sent, the other does not.
    for ignores_limit in [false, true] {
        let window = Window::default();
        let play = Play { ignores_limit, window: Some(window.clone()), spoken: ENDLESS, ..Play::default() };
        let (service, server) = billed(&["budget.daily_usd=0.25"], move |_| play.clone());
        let done = watch(&server, "default", "Go on.", &window);
        assert_eq!(done["stop_reason"], "budget", "{done}");
        assert!(done["text"].as_str().unwrap().starts_with(TOKEN), "what was said is kept");
        let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
        assert!(bill > 0.24 && bill <= 0.25 + STEP, "{bill}");
        assert_near(spent, bill, STEP);
        assert!(spent <= 0.25 + STEP, "{spent}");
    }
}

#[test]
fn twenty_sessions_share_one_dollar() {
    let windows = windows();
    let known = windows.clone();
    let (service, server) = billed(&["budget.daily_usd=1"], move |seen| Play {
        window: window_of(&known, seen),
        ..Play::say(200)
    });
    let ends = twenty(&server, &windows);
    assert!(ends.iter().all(|done| done["stop_reason"] == "end"), "{ends:?}");
    let bill = service.usd(INPUT, OUTPUT);
    assert!(bill > 0.3 && bill <= 1.0, "{bill}");
    assert_near(spent(&server), bill, STEP);
}

#[test]
fn twenty_endless_sessions_stop_at_the_ceiling() {
    let windows = windows();
    let known = windows.clone();
    let (service, server) = billed(&["budget.daily_usd=0.5"], move |seen| Play {
        window: window_of(&known, seen),
        ignores_limit: true,
        ..Play::say(ENDLESS)
    });
    let ends = twenty(&server, &windows);
    assert!(ends.iter().all(|done| done["stop_reason"] == "budget"), "{ends:?}");
    let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
    assert!(bill > 0.45 && bill <= 0.5 + STEP, "{bill}");
    assert_near(spent, bill, STEP);
}

#[test]
fn hidden_reasoning_is_reserved_in_advance() {
    const GPT: &str = "budget.pricing.gpt-5={input = 1.0, output = 100.0}";
    let service = Billing::start(Dialect::OpenAi, |seen| {
        let hidden = if asked(seen).contains("Think hard.") { ENDLESS } else { 150 };
        Play { hidden, ..Play::say(20) }
    });
    let given = settings(&service, "gpt-5", &["budget.daily_usd=1", GPT]);
    let server = Server::start(&borrowed(&given));
    let ends = twenty(&server, &windows());
    assert!(ends.iter().all(|done| done["stop_reason"] == "end"), "{ends:?}");
    assert!(service.charges().iter().all(|charge| charge.limit.is_some()), "{:?}", service.charges());
    let mut chat = server.chat("default");
    for n in 0..12 {
        chat.say(&format!("m{n}"), "Think hard.");
        let bill = service.usd(INPUT, OUTPUT);
        assert!(bill <= 1.0 + STEP, "{n}: {bill}");
    }
    let bill = service.usd(INPUT, OUTPUT);
    assert_near(spent(&server), bill, 1e-9);
    assert!(bill > 0.9, "a share of what is left is asked for until little is left: {bill}");
}

#[test]
fn a_fallback_is_booked_under_its_own_name_at_its_own_price() {
    let main = Billing::start(Dialect::OpenAi, |_| Play::refuse("401 Unauthorized"));
    let other = Billing::start(Dialect::Anthropic, |_| Play::say(40));
    let fallback = format!(
        "model.fallbacks=[{{provider = \"anthropic\", model_id = \"claude-other\", api_key = \"sk-other\", host = \
         \"http://{}\"}}]",
        other.address
    );
    let dear = "budget.pricing.claude-other={input = 10.0, output = 2000.0}";
    let settings = settings(&main, "billed", &["budget.daily_usd=1", PRICE, dear, &fallback]);
    let server = Server::start(&borrowed(&settings));
    let done = server.chat("default").say("m1", "hello").pop().unwrap();
    assert_eq!((&done["stop_reason"], &done["model"]), (&json!("end"), &json!("claude-other")));
    let bill = other.usd(10.0, 2000.0);
    assert!(bill > 0.08, "{bill}");
    assert_near(spent(&server), bill, 1e-9);
    let rows = rows(&server);
    let row = rows.iter().find(|row| row["model"] == "claude-other").unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!(
        (&row["provider"], &row["requests"], &row["failed"]),
        (&json!("anthropic"), &json!(1), &json!(0))
    );
    assert_near(row["cost_usd"].as_f64().unwrap(), bill, 1e-9);
    for row in rows.iter().filter(|row| row["model"] == "billed") {
        assert_eq!((&row["provider"], &row["cost_usd"]), (&json!("openai"), &json!(0.0)), "it did nothing");
    }
    // The dear one reaches the ceiling at its own price.
    let mut chat = server.chat("default");
    let ends: Vec<Value> = (0..20).map(|n| chat.say(&format!("n{n}"), "again").pop().unwrap()).collect();
    assert_ne!(ends.last().unwrap()["stop_reason"], "end");
    let bill = other.usd(10.0, 2000.0);
    assert!(bill <= 1.0 + STEP, "{bill}");
    assert_near(spent(&server), bill, 1e-9);
}

#[test]
fn a_model_without_a_price_is_refused_while_there_is_a_ceiling() {
    // OpenAI's form on this machine would be free.
    const ELSEWHERE: &str = "model.provider=anthropic";
    let service = Billing::start(Dialect::Anthropic, |_| Play::say(5));
    let check = |more: &[&str], is_refused: bool| {
        let settings = settings(&service, "unheard-of", &[&[ELSEWHERE], more].concat());
        let server = Server::start(&borrowed(&settings));
        let before = service.charges().len();
        let frames = server.chat("default").say("m1", "hello");
        assert_eq!(service.charges().len() > before, !is_refused, "{more:?}");
        if is_refused {
            let error = of_type(&frames, "error")[0];
            assert_eq!(error["code"], "budget_unpriced");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("`budget.pricing.unheard-of`"), "{message}");
            assert!(message.contains("budget.unpriced"), "{message}");
        } else {
            assert_eq!(frames.last().unwrap()["stop_reason"], "end", "{more:?}");
        }
    };
    check(&["budget.daily_usd=1"], true);
    check(&["budget.daily_usd=1", "budget.unpriced=allow"], false);
    check(&["budget.daily_usd=1", "budget.pricing.unheard-of={input = 1.0, output = 1.0}"], false);
    check(&[], false);

    let home = home();
    let settings = settings(&service, "unheard-of", &[ELSEWHERE, "budget.daily_usd=1"]);
    let checked = run(server_command(home.path(), &borrowed(&settings)).arg("--check"), None);
    let told = format!("{checked:?}");
    assert!(told.contains("budget.pricing.unheard-of") && told.contains("refused"), "{told}");
    let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    let examined = run_cli(home.path(), &[&["doctor"][..], &sets].concat(), None);
    let told = String::from_utf8_lossy(&examined.stdout).into_owned();
    assert!(told.contains("budget.pricing.unheard-of"), "{told}");
    assert_ne!(examined.status.code(), Some(0), "{told}");
}

#[test]
fn model_test_is_billed_like_an_answer() {
    // Reachability is tested with an empty request, which it refuses at no cost.
    let service = Billing::start(Dialect::OpenAi, |seen| match seen.json()["messages"].is_array() {
        true => Play::say(70),
        false => Play::refuse("400 Bad Request"),
    });
    let home = home();
    let run = |command: &[&str], more: &[&str]| {
        let settings = settings(&service, "billed", more);
        let sets: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let output = run_cli(home.path(), &[command, &["--json"], &sets].concat(), None);
        let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        (output.status.code(), told)
    };
    let test = |more: &[&str]| {
        let (code, told) = run(&["model", "test"], more);
        let checks = told["models"][0]["checks"].as_array().unwrap();
        let chat = checks.iter().find(|check| check["ability"] == "chat").unwrap();
        (code, chat["message"].as_str().unwrap().to_owned())
    };
    let (code, said) = test(&["budget.daily_usd=0.1", "model.provider=anthropic"]);
    assert_eq!((code, service.charges().len()), (Some(1), 0), "{said}");
    assert!(said.contains("`budget.pricing.billed`"), "{said}");

    let tight = ["budget.daily_usd=0.1", PRICE];
    let mut tests = 0;
    let said = loop {
        let (code, said) = test(&tight);
        if code != Some(0) {
            break said;
        }
        tests += 1;
        assert!(tests < 50, "the ceiling does not hold");
    };
    assert!(said.contains("Today's budget does not allow another answer"), "{said}");
    let bill = service.usd(INPUT, OUTPUT);
    assert!(tests > 0 && bill > 0.08 && bill <= 0.1 + STEP, "{tests}: {bill}");
    let (_, told) = run(&["usage"], &tight);
    let rows = told["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["kind"], &rows[0]["model"]), (1, &json!("test"), &json!("billed")));
    assert_near(rows[0]["cost_usd"].as_f64().unwrap(), bill, 1e-9);
    assert_eq!(rows[0]["requests"], service.charges().len());
}

#[test]
fn kill_during_an_answer_books_the_bill_and_frees_reservations() {
    // The turn begins again, and its second request gets a short answer.
    let begun = std::sync::atomic::AtomicBool::new(false);
    let (service, server) = billed(&["budget.daily_usd=1"], move |_| {
        let is_first = !begun.swap(true, std::sync::atomic::Ordering::Relaxed);
        Play { hangs: is_first, ..Play::say(if is_first { 1_300 } else { 10 }) }
    });
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "Tell me all."}));
    let mut seen = 0;
    while seen < 1_300 * TOKEN.len() {
        let frame = chat.frame();
        seen += if frame["type"] == "delta" { frame["text"].as_str().unwrap().len() } else { 0 };
    }
    assert!(usage(&server)["budget"]["reserved_usd"].as_f64() > Some(0.13), "{}", usage(&server));
    let bill = service.usd(INPUT, OUTPUT);
    let settings = settings(&service, "billed", &[PRICE, "budget.daily_usd=1"]);
    let server = Server::start_in(server.kill(), &borrowed(&settings));
    let rows = rows(&server);
    let cut = rows.iter().find(|row| row["kind"] == "interrupted").unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!((&cut["provider"], &cut["model"]), (&json!("openai"), &json!("billed")));
    assert_near(cut["cost_usd"].as_f64().unwrap(), bill, STEP);
    assert_eq!(server.chat("default").say("m2", "hello").last().unwrap()["stop_reason"], "end");
    eventually("both are answered", || (service.charges().len() == 3).then_some(()));
    assert_near(spent(&server), service.usd(INPUT, OUTPUT), STEP);
}

#[test]
fn call_that_a_kill_ended_is_in_the_ledger_without_a_ceiling() {
    // The service keeps to its reader's pace: output that comes all at once is noted all at once, and the kill may come first.
    let window = Window::default();
    let begun = std::sync::atomic::AtomicBool::new(false);
    let (service, server) = billed(&[], {
        let window = window.clone();
        move |_| {
            if begun.swap(true, std::sync::atomic::Ordering::Relaxed) {
                return Play::say(10);
            }
            Play { hangs: true, window: Some(window.clone()), ..Play::say(1_300) }
        }
    });
    let mut chat = server.chat("default");
    chat.send_json(&json!({"type": "message", "id": "m1", "text": "Tell me all."}));
    let mut seen = 0;
    while seen < 1_300 * TOKEN.len() {
        let frame = chat.frame();
        if frame["type"] == "delta" {
            let bytes = frame["text"].as_str().unwrap().len();
            window.seen(bytes);
            seen += bytes;
        }
    }
    let bill = service.usd(INPUT, OUTPUT);
    let settings = settings(&service, "billed", &[PRICE]);
    let server = Server::start_in(server.kill(), &borrowed(&settings));
    let rows = rows(&server);
    let cut = rows.iter().find(|row| row["kind"] == "interrupted").unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!(
        (&cut["provider"], &cut["model"], &cut["requests"]),
        (&json!("openai"), &json!("billed"), &json!(1))
    );
    let ratio = cut["cost_usd"].as_f64().unwrap() / bill;
    assert!((0.77..1.3).contains(&ratio), "{ratio} of the bill");
}

#[test]
fn killed_and_cut_calls_of_a_reasoning_model_are_booked_near_their_cost() {
    const GPT: &str = "budget.pricing.gpt-5={input = 1.75, output = 14.0}";
    for ceiling in ["budget.daily_usd=0", "budget.daily_usd=5"] {
        let service = Billing::start(Dialect::OpenAi, |seen| {
            let is_cut = asked(seen).contains("Tell me all.");
            Play { hangs: is_cut, ..Play::say(if is_cut { 200 } else { 10 }) }
        });
        let given = settings(&service, "gpt-5", &[ceiling, GPT]);
        let server = Server::start(&borrowed(&given));
        let mut chat = server.chat("default");
        chat.send_json(&json!({"type": "message", "id": "m1", "text": "Tell me all."}));
        let mut seen = 0;
        while seen < 200 * TOKEN.len() {
            let frame = chat.frame();
            seen += if frame["type"] == "delta" { frame["text"].as_str().unwrap().len() } else { 0 };
        }
        let bill = service.usd(1.75, 14.0);
        // The turn begins again after the restart, and its rows come on top; the cut call has a row of its own.
        let server = Server::start_in(server.kill(), &borrowed(&given));
        let rows = rows(&server);
        let cut = rows.iter().find(|row| row["kind"] == "interrupted").unwrap_or_else(|| panic!("{rows:?}"));
        let ratio = cut["cost_usd"].as_f64().unwrap() / bill;
        assert!((0.77..1.3).contains(&ratio), "{ceiling}: {ratio} of the bill {bill}");
    }
}

#[test]
fn uncounted_request_is_estimated_with_its_tools() {
    let service = Billing::start(Dialect::OpenAi, |_| Play { usage: Some(Value::Null), ..Play::say(5) });
    let given = settings(&service, "billed", &[PRICE]);
    let server = Server::start(&borrowed(&given));
    server.chat("default").say("m1", "hello");
    let real = service.charges()[0].input as f64;
    let booked = rows(&server)[0]["input_tokens"].as_f64().unwrap();
    assert!(real > 3_000.0, "the tools are most of it: {real}");
    assert!((0.7..1.4).contains(&(booked / real)), "{booked} of {real}");
}

#[test]
fn summaries_are_in_the_ledger_and_count() {
    let small = ["budget.daily_usd=5", "model.context_window=8000", "session.keep_recent=2"];
    let (service, server) = billed(&small, |_| Play::say(60));
    let mut chat = server.chat("default");
    let long = "A sentence that takes some room in the window. ".repeat(60);
    let mut folds = 0;
    for turn in 0..40 {
        let frames = chat.say(&format!("m{turn}"), &long);
        assert_eq!(frames.last().unwrap()["stop_reason"], "end");
        folds += of_type(&frames, "folded").len();
        if folds == 2 {
            break;
        }
    }
    assert_eq!(folds, 2, "it is never folded");
    // Background preparation is stopped with the server, and booked.
    let settings = settings(&service, "billed", &[PRICE, small[0]]);
    let home = server.home();
    server.terminate();
    let server = Server::start_in(home, &borrowed(&settings));
    let rows = rows(&server);
    let of_kind = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).collect::<Vec<_>>();
    assert_eq!((of_kind("turn").len(), of_kind("compaction").len()), (1, 1), "{rows:?}");
    let sum = |what: &str| rows.iter().map(|row| row[what].as_u64().unwrap()).sum::<u64>();
    let (requests, failed) = (sum("requests"), sum("failed"));
    assert!(failed <= 1, "only the preparation was stopped: {rows:?}");
    // The stop may have come before the service saw the request of the preparation.
    let arrived = service.charges().len() as u64;
    assert!((requests - failed..=requests).contains(&arrived), "{arrived} arrived: {rows:?}");
    assert_near(spent(&server), service.usd(INPUT, OUTPUT), STEP);
}

#[test]
fn silent_service_is_booked_and_retried_once() {
    let (service, server) = billed(&["budget.daily_usd=1", "model.timeout_seconds=1"], |_| Play {
        hidden: 600,
        hangs: true,
        ..Play::default()
    });
    let frames = server.chat("default").say("m1", "hello");
    assert_eq!(of_type(&frames, "error")[0]["code"], "timeout");
    assert_eq!(service.charges().len(), 2, "silence is repeated once");
    let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
    assert!(spent >= bill && spent <= bill + 2.0 * STEP, "{spent} of {bill}");
    let rows = rows(&server);
    assert_eq!((&rows[0]["requests"], &rows[0]["failed"]), (&json!(2), &json!(2)));
}

#[test]
fn silence_near_the_ceiling_is_booked_and_keeps_the_rest_usable() {
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let (service, server) =
        billed(&["budget.daily_usd=0.3", "model.timeout_seconds=1"], move |_| {
            match asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 | 1 => Play { hidden: 900, hangs: true, ..Play::default() },
                _ => Play::say(70),
            }
        });
    let mut chat = server.chat("default");
    assert_eq!(of_type(&chat.say("m", "hello"), "error")[0]["code"], "timeout");
    let mut answers = 0;
    while chat.say(&format!("m{answers}"), "More.").last().unwrap()["stop_reason"] == "end" {
        answers += 1;
        assert!(answers < 50, "the ceiling does not hold");
    }
    let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
    assert!(answers > 0 && bill <= 0.3 + STEP && spent >= bill - 1e-9, "{answers}: {spent} of {bill}");
    let request = service.charges().last().unwrap().input as f64 * INPUT / 1e6;
    assert!(spent >= 0.3 - MIN_COUNT - 1.5 * request, "the rest pays for no answer: {spent}");
}

#[test]
fn summaries_near_the_ceiling_do_not_pass_it() {
    let small = ["budget.daily_usd=0.4", "model.context_window=8000", "session.keep_recent=2"];
    let (service, server) = billed(&small, |_| Play::say(60));
    let mut chat = server.chat("default");
    let long = "A sentence that takes some room in the window. ".repeat(60);
    let (mut answers, mut folds) = (0, 0);
    loop {
        let frames = chat.say(&format!("m{answers}"), &long);
        folds += of_type(&frames, "folded").len();
        if frames.last().unwrap()["stop_reason"] != "end" {
            assert_eq!(frames.last().unwrap()["stop_reason"], "budget");
            break;
        }
        answers += 1;
        assert!(answers < 100, "the ceiling does not hold");
    }
    assert!(folds > 0, "it is never folded");
    let (bill, spent) = (service.usd(INPUT, OUTPUT), spent(&server));
    assert!(bill <= 0.4 + STEP, "{bill}");
    assert!(bill > 0.4 - STEP, "the rest pays for no answer: {bill}");
    assert_near(spent, bill, STEP);
}

#[test]
fn impossible_counts_and_names_are_reported_and_not_booked() {
    let check = |play: Play, told: &str| {
        let shown = format!("{play:?}");
        let (service, server) = billed(&["budget.daily_usd=1"], move |_| play.clone());
        let mut chat = server.chat("default");
        for turn in 0..2 {
            let done = chat.say(&format!("m{turn}"), "hello").pop().unwrap();
            assert_eq!(done["stop_reason"], "end", "{shown}: the answer came: {done}");
        }
        assert_eq!(service.charges().len(), 2, "{shown}");
        let rows = rows(&server);
        assert_eq!((rows.len(), &rows[0]["model"]), (1, &json!("billed")), "{shown}");
        assert_near(spent(&server), service.usd(INPUT, OUTPUT), STEP);
        let log = server.stderr();
        assert_eq!(log.matches(told).count(), 1, "{shown}: it is told once: {log}");
    };
    let counted = |input: Value, output: Value| Play {
        usage: Some(json!({"prompt_tokens": input, "completion_tokens": output})),
        ..Play::say(30)
    };
    let absurd = "counts more tokens than there can be";
    check(counted(json!(u64::MAX), json!(1)), absurd);
    check(counted(json!(10), json!(9_000_000_000_u64)), absurd);
    check(counted(json!(-5), json!(30)), absurd);
    check(counted(json!(10), json!(-1)), absurd);
    check(counted(json!(1e300), json!(30)), absurd);
    check(counted(json!(10), json!("NaN")), absurd);
    check(Play { named: Some("something-else"), ..Play::say(30) }, "that was not asked for");
}

#[test]
fn usage_page_matches_the_bills_of_the_service() {
    let (service, server) = billed(&["budget.daily_usd=1"], |_| Play::say(25));
    let mut chat = server.chat("default");
    for n in 0..3 {
        chat.say(&format!("m{n}"), "hello");
    }
    let told = usage(&server);
    let sum = |of: fn(&Charge) -> u64| service.charges().iter().map(of).sum::<u64>();
    let row = &told["rows"][0];
    for place in [row, &told["today"], &told["total"]] {
        assert_eq!(place["requests"], 3);
        assert_eq!(place["input_tokens"], sum(|charge| charge.input));
        assert_eq!(place["output_tokens"], sum(|charge| charge.output));
        assert_near(place["cost_usd"].as_f64().unwrap(), service.usd(INPUT, OUTPUT), 1e-9);
    }
    assert_eq!((&row["provider"], &row["model"]), (&json!("openai"), &json!("billed")));
    assert_near(spent(&server), service.usd(INPUT, OUTPUT), 1e-9);
}
