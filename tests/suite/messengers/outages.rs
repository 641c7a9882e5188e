//! Outages of each messenger while deliveries wait (docs/channels.md): none is given up, none arrives twice beyond what the platform
//! cannot tell, and all arrive soon after the end.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aethon_tests::cable::Cable;
use aethon_tests::discord::Discord;
use aethon_tests::gateways::{Gateway, Kind};
use aethon_tests::mail::MailHost;
use aethon_tests::matrix::Matrix;
use aethon_tests::stub::{self, Seen};
use aethon_tests::telegram::Telegram;
use aethon_tests::{Server, Stub, eventually, home};
use serde_json::{Value, json};

/// How long the deliveries may take after the end of an outage.
const BUDGET: Duration = Duration::from_secs(60);

/// A messenger behind cables.
struct Platform {
    name: &'static str,
    settings: Vec<String>,
    cables: Vec<Cable>,
    recipient: fn(usize) -> String,
    texts: Box<dyn Fn() -> Vec<String>>,
    /// How often a message may arrive.
    most: usize,
}

/// Leads the settings' ports through cables.
fn cabled(settings: Vec<String>, ports: &[u16]) -> (Vec<String>, Vec<Cable>) {
    let mut settings = settings;
    let cables: Vec<Cable> = ports.iter().map(|port| Cable::to(([127, 0, 0, 1], *port).into())).collect();
    for (port, cable) in ports.iter().zip(&cables) {
        let through = cable.address.port().to_string();
        for setting in &mut settings {
            *setting = setting.replace(&port.to_string(), &through);
        }
    }
    (settings, cables)
}

fn telegram() -> Platform {
    let telegram = Telegram::start();
    let (settings, cables) = cabled(telegram.settings(), &[telegram.address.port()]);
    let texts = move || telegram.posted().iter().map(|posted| posted.text().to_owned()).collect();
    let recipient = |number: usize| (1000 + number).to_string();
    Platform { name: "telegram", settings, cables, recipient, texts: Box::new(texts), most: 2 }
}

fn discord(count: usize) -> Platform {
    let discord = Discord::start();
    let (settings, cables) = cabled(discord.settings(), &[discord.address.port()]);
    let channels = move |number: usize| (1000 + number).to_string();
    let texts = move || {
        let posted = (0..count).flat_map(|number| discord.posted(&channels(number)));
        posted.map(|posted| posted.text().to_owned()).collect()
    };
    Platform { name: "discord", settings, cables, recipient: channels, texts: Box::new(texts), most: 1 }
}

fn matrix(count: usize) -> Platform {
    let matrix = Matrix::start();
    let (settings, cables) = cabled(matrix.settings(), &[matrix.address.port()]);
    let rooms = move |number: usize| format!("!room{number}:hs");
    (0..count).for_each(|number| matrix.room(&rooms(number), "@ada:hs"));
    let texts = move || {
        let posted = (0..count).flat_map(|number| matrix.posted(&rooms(number)));
        posted.map(|posted| posted.text().to_owned()).collect()
    };
    Platform { name: "matrix", settings, cables, recipient: rooms, texts: Box::new(texts), most: 1 }
}

fn slack() -> Platform {
    let slack = Gateway::start(Kind::Slack);
    let (settings, cables) = cabled(slack.settings(), &[slack.address.port()]);
    let texts = move || slack.chat().iter().map(|posted| posted.text().to_owned()).collect();
    let recipient = |number: usize| format!("D{}", 1000 + number);
    Platform { name: "slack", settings, cables, recipient, texts: Box::new(texts), most: 1 }
}

fn email() -> Platform {
    let host = MailHost::start();
    let (settings, cables) = cabled(host.settings(), &[host.imap.port(), host.smtp.port()]);
    let recipient = |number: usize| format!("p{}@x.example", 1000 + number);
    // Mails that are repeated have the same id, by which their readers know them.
    Platform { name: "email", settings, cables, recipient, texts: Box::new(move || host.letters()), most: 2 }
}

fn whatsapp() -> Platform {
    let texts: Arc<Mutex<Vec<String>>> = Arc::default();
    let shared = texts.clone();
    let stub = Stub::answering(move |seen: &Seen| {
        if seen.line.starts_with("GET ") {
            return stub::ok("application/json", r#"{"display_phone_number":"+1 555 0100"}"#);
        }
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let mut texts = shared.lock().unwrap();
        texts.push(body["text"]["body"].as_str().unwrap_or_default().to_owned());
        let id = format!("wamid.{}", texts.len());
        stub::ok("application/json", &json!({"messages": [{"id": id}]}).to_string())
    });
    let settings = [
        "channels.whatsapp.enabled=true".to_owned(),
        format!("channels.whatsapp.api_base=http://{}", stub.address),
        "channels.whatsapp.phone_number_id=11".into(),
        "channels.whatsapp.token=t".into(),
        "channels.whatsapp.secret=s".into(),
    ];
    let (settings, cables) = cabled(settings.to_vec(), &[stub.address.port()]);
    let texts = move || {
        let _alive = &stub;
        texts.lock().unwrap().clone()
    };
    let recipient = |number: usize| format!("49151{}", 100_000 + number);
    Platform { name: "whatsapp", settings, cables, recipient, texts: Box::new(texts), most: 2 }
}

fn state(server: &Server, name: &str) -> String {
    let channels = server.get("/api/channels").json();
    let row =
        channels["channels"].as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone();
    row["state"].as_str().unwrap().to_owned()
}

fn listed(server: &Server, state: &str) -> Vec<Value> {
    server.get(&format!("/api/outbox?state={state}")).json()["deliveries"].as_array().unwrap().clone()
}

/// Sends messages to as many chats, and cuts the messenger off for this time while they are on their way.
fn outage(platform: &Platform, count: usize, lasting: Duration) {
    let settings: Vec<&str> = platform.settings.iter().map(String::as_str).collect();
    let server = Server::start_in(home(), &settings);
    eventually("the channel runs", || (state(&server, platform.name) == "running").then_some(()));
    let word = |number: usize| format!("message {number} of many");
    let send = |number: usize| {
        let send = json!({"channel": platform.name, "recipient": (platform.recipient)(number), "text": word(number)});
        let answer = server.post("/webhook/trigger", &json!({"text": format!("!tool send_message {send}")}));
        assert_eq!(answer.status, 200, "{}", answer.text());
    };
    let cut = |is_cut| platform.cables.iter().for_each(|cable| cable.cut(is_cut));
    (0..count / 5).for_each(send);
    cut(true);
    let began = Instant::now();
    (count / 5..count).for_each(send);
    while began.elapsed() < lasting {
        std::thread::sleep(Duration::from_millis(100));
    }
    let lasted = began.elapsed();
    cut(false);
    let ended = Instant::now();
    let arrived = || -> BTreeMap<usize, usize> {
        let texts = (platform.texts)();
        let counted = |number| texts.iter().filter(|text| text.contains(&word(number))).count();
        (0..count).map(|number| (number, counted(number))).filter(|(_, count)| *count > 0).collect()
    };
    while arrived().len() < count && ended.elapsed() < BUDGET {
        std::thread::sleep(Duration::from_millis(100));
    }
    let (took, all) = (ended.elapsed(), arrived());
    let failed = listed(&server, "failed");
    assert!(failed.is_empty(), "{}: {} were given up, such as {}", platform.name, failed.len(), failed[0]);
    assert_eq!(
        all.len(),
        count,
        "{}: {took:?} after the end {:?}",
        platform.name,
        listed(&server, "waiting").first()
    );
    assert!(all.values().all(|count| *count <= platform.most), "{}: too often: {all:?}", platform.name);
    eventually("nothing waits", || listed(&server, "waiting").is_empty().then_some(()));
    eventually("it is well again", || (state(&server, platform.name) == "running").then_some(()));
    let doubled = all.values().filter(|count| **count > 1).count();
    eprintln!(
        "{}: {count} deliveries, cut off for {lasted:.0?}: all arrived within {took:.1?} of the end, {doubled} twice, 0 given up",
        platform.name
    );
}

/// One round for each messenger, all at the same time: a long outage is mostly waiting.
fn outages(count: usize, lasting: Duration) {
    let platforms: [fn(usize) -> Platform; 6] =
        [|_| telegram(), discord, matrix, |_| slack(), |_| whatsapp(), |_| email()];
    std::thread::scope(|scope| {
        let rounds = platforms.map(|platform| scope.spawn(move || outage(&platform(count), count, lasting)));
        for round in rounds {
            round.join().expect("no delivery is lost");
        }
    });
}

#[test]
fn outage_costs_no_delivery_of_any_messenger() {
    outages(20, Duration::from_secs(3));
}

/// `cargo xtask outages` runs this.
#[test]
#[ignore = "a chore that runs for minutes: cargo xtask outages"]
fn long_outage_costs_no_delivery_of_any_messenger() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |number| number.parse().unwrap());
    let seconds = number("AETHON_OUTAGE_SECONDS", 30);
    outages(number("AETHON_OUTAGE_DELIVERIES", 500) as usize, Duration::from_secs(seconds));
}
