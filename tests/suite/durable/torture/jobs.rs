//! Scheduled jobs: a client makes one every second or two, due in the next seconds. Each has to run once, whenever the program was there
//! next, and its message has to arrive once.

use std::time::{Duration, Instant};

use aethon_tests::time::{rfc3339, since_1970};
use aethon_tests::{Random, Request, Server, eventually};
use serde_json::{Value, json};

use super::TortureRun;
use super::clients::until_answered;

/// How long runs may take that a kill has cut off.
const LONG: Duration = Duration::from_secs(120);
/// One that comes again and again.
pub(super) const EVERY_MINUTE: &str = "scheduler.jobs.minute={cron=\"* * * * *\", prompt=\"!say minute.\", recipient=\"minutes\", missed=\"run_once\"}";

/// Makes jobs until the torture ends. Returns their names.
pub(super) fn maker(stage: &TortureRun, mut random: Random) -> Vec<String> {
    let (mut names, mut number) = (Vec::new(), 0);
    while !stage.is_over() {
        let name = format!("job-{number}");
        let at = since_1970().as_secs() + random.between(1, 4);
        let body = json!({
            "job_id": name, "run_at": rfc3339(at), "prompt": format!("!sleep 40\n!say {name}."),
            "recipient": "jobs", "missed": "run_once",
        });
        let answer = until_answered(stage, &Request::post("/api/scheduler/jobs", &body));
        // 409: an attempt before was cut off after it was stored. 422: by the time of the answer it was in the past.
        assert!([201, 409, 422].contains(&answer.status), "{}: {}", answer.status, answer.text());
        number += 1;
        if answer.status != 422 {
            names.push(name);
        }
        std::thread::sleep(Duration::from_millis(random.between(500, 1500)));
    }
    names
}

/// Each has run once, and nothing is shown as running. Returns how often the one of every minute ran.
pub(super) fn check(server: &Server, names: &[String]) -> usize {
    let deadline = Instant::now() + LONG;
    for name in names {
        loop {
            let runs = runs(server, name);
            let [run] = runs.as_slice() else {
                assert!(runs.is_empty() && Instant::now() < deadline, "{name} has the runs {runs:?}");
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if run["status"] != "running" {
                assert_eq!(run["status"], "ok", "{name}: {run}");
                break;
            }
            assert!(Instant::now() < deadline, "{name} runs for ever: {run}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
    if !names.is_empty() {
        delivered(server, names);
    }
    let every_minute = runs(server, "minute");
    let due_at = |run: &Value| run["due_at"].as_str().map(str::to_owned);
    let first = every_minute.iter().filter(|run| run["attempt"] == 0);
    let mut due: Vec<String> = first.map(|run| due_at(run).expect("nobody asked for a run")).collect();
    let count = due.len();
    due.sort_unstable();
    due.dedup();
    assert_eq!(due.len(), count, "a time came twice: {every_minute:?}");
    count
}

/// Their messages have arrived, each once.
fn delivered(server: &Server, names: &[String]) {
    let last = || server.exported("webchat:jobs").into_iter().map(|(_, text)| text).collect::<Vec<_>>();
    eventually("what the jobs said has arrived", || {
        let said = last();
        let has = |name: &String| said.iter().any(|text| text.trim_end().ends_with(&format!("{name}.")));
        names.iter().rev().all(has).then_some(())
    });
    let said = last();
    for name in names {
        let count = said.iter().filter(|text| text.trim_end().ends_with(&format!("{name}."))).count();
        assert_eq!(count, 1, "what {name} said arrived {count} times");
    }
}

fn runs(server: &Server, name: &str) -> Vec<Value> {
    let answer = server.get(&format!("/api/scheduler/jobs/{name}/runs"));
    assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    answer.json()["runs"].as_array().expect("a list").clone()
}
