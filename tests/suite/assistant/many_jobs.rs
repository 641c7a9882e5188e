//! A thousand jobs that are due at once, and a person who talks meanwhile (docs/schedule.md).

use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use aethon_tests::socket::spoken;
use aethon_tests::{Server, eventually};
use serde_json::{Value, json};

const JOBS: usize = 1_000;
/// How many run side by side, as docs/schedule.md says.
const SIDE_BY_SIDE: usize = 4;
/// How long all of them may take on a machine that does much else.
const LONG: Duration = Duration::from_secs(150);

/// A time in the form of RFC 3339.
fn rfc3339(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let shifted = (5 * of_year + 2) / 153;
    let (day, month) =
        (of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = years + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_secs()
}

/// How many jobs run, and how many have run.
fn counts(server: &Server) -> (usize, usize) {
    let jobs = server.get("/api/scheduler/jobs?limit=1000").json()["jobs"].as_array().expect("jobs").clone();
    assert_eq!(jobs.len(), JOBS);
    let failed: Vec<&Value> = jobs.iter().filter(|job| !job["last_error"].is_null()).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let with = |status: &str| jobs.iter().filter(|job| job["last_status"] == status).count();
    (with("running"), with("ok"))
}

#[test]
fn person_is_answered_while_a_thousand_jobs_are_due() {
    assert_eq!(rfc3339(951_827_696), "2000-02-29T12:34:56Z");
    // Made while nothing runs by itself, and due when the program starts again.
    let server = Server::start(&["scheduler.enabled=false"]);
    thread::scope(|scope| {
        for part in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for number in (part..JOBS).step_by(4) {
                    let job = json!({
                        "job_id": format!("j{number}"), "run_at": rfc3339(now() + 2), "missed": "run_once",
                        "prompt": format!("!sleep 20\n!say ran {number};"), "recipient": "results",
                    });
                    let made = server.post("/api/scheduler/jobs", &job);
                    assert_eq!(made.status, 201, "{}", made.text());
                }
            });
        }
    });
    let due = now() + 2;
    eventually("the time of the last one", || (now() > due).then_some(()));
    let home = server.home();
    assert_eq!(server.terminate().code(), Some(0));

    let server = Server::start_in(home, &[]);
    let mut chat = server.chat("talk");
    for number in 0..10 {
        let (running, before) = counts(&server);
        assert!(running <= SIDE_BY_SIDE, "{running} run at once");
        let answer = spoken(&chat.say(&format!("m{number}"), &format!("!say answer {number}")));
        assert_eq!(answer, format!("answer {number}"));
        let (running, after) = counts(&server);
        assert!(running <= SIDE_BY_SIDE, "{running} run at once");
        // It waits for none of those that are due: a tenth of them leaves room for a machine that stands still.
        assert!(after - before < JOBS / 10, "{} jobs ran before the answer", after - before);
        assert!(after < JOBS, "the jobs are over before the conversation is");
    }
    let end = Instant::now() + LONG;
    while counts(&server).1 < JOBS {
        assert!(Instant::now() < end, "{:?} of the jobs have run", counts(&server));
        thread::sleep(Duration::from_millis(500));
    }
    // Each ran once: a job's message arrives once.
    let arrived = || -> String { server.said("webchat:results").into_iter().map(|(_, text)| text).collect() };
    while arrived().matches("ran ").count() < JOBS {
        assert!(Instant::now() < end, "{} results have arrived", arrived().matches("ran ").count());
        thread::sleep(Duration::from_millis(500));
    }
    let all = arrived();
    for number in 0..JOBS {
        assert_eq!(all.matches(&format!("ran {number};")).count(), 1, "job {number}");
    }
}
