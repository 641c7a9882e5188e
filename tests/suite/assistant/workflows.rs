//! SOPs and scheduled jobs from end to end (docs/sops.md, docs/schedule.md).

use aethon_tests::server::run_cli;
use aethon_tests::{Request, Server, eventually};
use serde_json::{Value, json};

const NOTES: &str = "# Notes\n\n## Overview\n\nWrites notes.\n\n## Parameters\n\n- **topic** (required): About what\n\n\
    ## Steps\n\n### 1. Look\n\nLook around.\n\n### 2. Think\n\nThink.\n\n### 3. Write\n\nWrite.\n";

fn put(server: &Server, target: &str, body: &Value) -> aethon_tests::Response {
    let request = Request::new("PUT", target).header("Content-Type", "application/json");
    server.send(&request.body(body.to_string()))
}

fn delete(server: &Server, target: &str) -> aethon_tests::Response {
    server.send(&Request::new("DELETE", target))
}

fn runs(server: &Server) -> Vec<Value> {
    server.get("/api/sop-runs").json()["runs"].as_array().unwrap().clone()
}

#[test]
fn sops_are_listed_written_and_run_by_name_from_every_surface() {
    let server = Server::start(&[]);
    let listed = server.get("/api/sops").json();
    let names: Vec<&str> =
        listed["sops"].as_array().unwrap().iter().map(|sop| sop["name"].as_str().unwrap()).collect();
    assert_eq!((names, &listed["enabled"]), (vec!["code-assist", "codebase-summary", "pdd"], &json!(true)));
    assert_eq!(listed["sops"][2]["parameters"][0]["name"], "rough_idea");

    let faulty = put(&server, "/api/sops/notes", &json!({"content": "# Notes\n"}));
    assert_eq!(faulty.status, 422);
    assert_eq!(faulty.json()["errors"][0]["field"], "content");
    assert_eq!(put(&server, "/api/sops/notes", &json!({"content": ""})).status, 422);
    assert_eq!(put(&server, "/api/sops/Bad", &json!({"content": NOTES})).status, 422);
    let secret = NOTES.replace("Look around.", "password=Hunter2Hunter2xyz");
    assert_eq!(put(&server, "/api/sops/notes", &json!({"content": secret})).problem(), "secret_detected");
    let saved = put(&server, "/api/sops/notes", &json!({"content": NOTES}));
    assert_eq!((saved.status, &saved.json()["type"]), (200, &json!("custom")));
    let shown = server.get("/api/sops/notes").json();
    assert_eq!((&shown["content"], &shown["description"]), (&json!(NOTES), &json!("Writes notes.")));
    assert_eq!(delete(&server, "/api/sops/pdd").status, 409);
    assert_eq!(delete(&server, "/api/sops/none").status, 404);

    // A file that is put there counts at once; a broken one is named and stops nothing.
    let folder = server.home().path().join("workspace/sops");
    std::fs::write(folder.join("extra.sop.md"), NOTES).unwrap();
    std::fs::write(folder.join("broken.sop.md"), "nothing").unwrap();
    let listed = server.get("/api/sops").json();
    assert_eq!((&listed["count"], listed["broken"].as_array().unwrap().len()), (&json!(5), 1));
    assert_eq!(delete(&server, "/api/sops/extra").status, 204);

    // Missing parameters are requested without a model call; the answer continues the run.
    let mut chat = server.socket("/ws/chat?session=notes");
    chat.send("/notes");
    let asked = chat.text();
    assert!(asked.contains("`topic`"), "{asked}");
    assert_eq!(server.get("/api/usage").json()["rows"], json!([]));
    chat.send("!say about tea");
    assert_eq!(chat.text(), "about tea");
    eventually("the run is over", || (runs(&server)[0]["state"] == "done").then_some(()));
    assert_eq!(runs(&server)[0]["steps"], 3);

    let hook = |body: &Value| server.post("/webhook/trigger", body);
    let answer = hook(&json!({"sop_name": "notes", "text": "!say by hook"}));
    assert_eq!((answer.status, &answer.json()["response"]), (200, &json!("by hook")));
    assert_eq!(hook(&json!({"sop_name": "none", "text": "x"})).problem(), "unknown_sop");
    let two = NOTES.replace("## Steps", "- **to** (required): Whom\n\n## Steps");
    assert_eq!(put(&server, "/api/sops/two", &json!({"content": two})).status, 200);
    assert_eq!(hook(&json!({"sop_name": "two", "text": "tea"})).status, 422);
    assert_eq!(runs(&server).len(), 2);

    let cli = run_cli(server.home().path(), &["sop", "run", "notes", "!say by terminal"], None);
    assert!(cli.status.success() && !cli.stdout.is_empty(), "{cli:?}");
    let bad = folder.join("broken.sop.md");
    let cli = run_cli(server.home().path(), &["sop", "check", bad.to_str().unwrap()], None);
    let printed = String::from_utf8_lossy(&cli.stdout).into_owned();
    assert!(
        printed.starts_with(&format!("{}:1: ", bad.display())) && cli.status.code() == Some(1),
        "{printed}"
    );
    // A text in the public form, as an editor of Windows saves it; what has no meaning is a remark.
    let public = "# Public\n\n## Overview\n\nIs shared.\n\n## Parameters\n\n- **topic** (required): What\n\n\
        **Constraints for parameter acquisition:**\n- You MUST ask for all of them\n\n## Steps ##\n\n### 1. Do\n\n\
        **Constraints:**\n- You MUST do it\n\n## Best Practices\n";
    let windows = format!("\u{feff}{}", public.replace('\n', "\r\n"));
    let good = folder.join("public.sop.md");
    std::fs::write(&good, &windows).unwrap();
    let cli = run_cli(server.home().path(), &["sop", "check", good.to_str().unwrap()], None);
    let printed = String::from_utf8_lossy(&cli.stdout).into_owned();
    assert!(
        printed.starts_with(&format!("{}:21: remark: ", good.display())) && cli.status.code() == Some(0),
        "{printed}"
    );
    let checked = server.post("/api/sops/check", &json!({"content": windows})).json();
    assert_eq!((&checked["ok"], &checked["problems"]), (&json!(true), &json!([])));
    assert_eq!(checked["remarks"][0]["line"], 21);
    let shown = server.get("/api/sops/public").json();
    assert_eq!((&shown["title"], shown["parameters"].as_array().unwrap().len()), (&json!("Public"), 1));
    assert!(!run_cli(server.home().path(), &["sop", "run", "none", "x"], None).status.success());
}

#[test]
fn sop_run_killed_in_step_three_resumes_at_step_three() {
    let server = Server::start(&[]);
    assert_eq!(put(&server, "/api/sops/notes", &json!({"content": NOTES})).status, 200);
    let step =
        |step: u32, state: &str| format!("!tool sop_step {{\"step\": {step}, \"state\": \"{state}\"}}");
    let text = [
        "/notes topic=tea".to_owned(),
        step(1, "begun"),
        step(1, "done"),
        "!then".into(),
        step(2, "begun"),
        step(2, "done"),
        "!then".into(),
        step(3, "begun"),
        "!then".into(),
        "!sleep 3000".into(),
        step(3, "done"),
        "!then".into(),
        "!say all written".into(),
    ];
    // The plain socket gives its messages no id; the run does.
    let mut chat = server.socket("/ws/chat?session=notes");
    chat.send(&text.join("\n"));
    eventually("the third step", || {
        let run = runs(&server).pop()?;
        (run["step"] == 3).then_some(())
    });
    let server = Server::start_in(server.kill(), &[]);
    let run = eventually("the end of the run", || {
        let run = runs(&server).pop()?;
        (run["state"] != "running").then_some(run)
    });
    assert_eq!((&run["state"], &run["step"]), (&json!("done"), &json!(3)), "{run}");
    let messages = server.messages("webchat:notes");
    let calls = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    let begun = calls.filter(|block| block["type"] == "tool_call" && block["input"]["state"] == "begun");
    let steps: Vec<&Value> = begun.map(|block| &block["input"]["step"]).collect();
    assert_eq!(steps, [1, 2, 3], "no step was begun twice");
    assert_eq!(server.said("webchat:notes").last().unwrap().1, "all written");
}

#[test]
fn jobs_from_every_surface_run_and_deliver() {
    let server = Server::start(&[
        "scheduler.jobs.nightly={cron=\"0 3 * * *\", prompt=\"!say night\", timezone=\"UTC\"}",
    ]);
    let add = |body: &Value| server.post("/api/scheduler/jobs", body);
    let made = add(
        &json!({"job_id": "tea", "cron": "0 9 * * 1-5", "prompt": "!say tea time", "timezone": "Europe/Berlin",
        "recipient": "kitchen"}),
    );
    assert_eq!(made.status, 201);
    let job = made.json();
    for (field, expected) in [
        ("job_id", json!("tea")),
        ("cron", json!("0 9 * * 1-5")),
        ("timezone", json!("Europe/Berlin")),
        ("sop_name", Value::Null),
        ("prompt", json!("!say tea time")),
        ("channel", json!("webchat")),
        ("recipient", json!("kitchen")),
        ("last_run", Value::Null),
        ("last_status", Value::Null),
        ("last_error", Value::Null),
        ("enabled", json!(true)),
    ] {
        assert_eq!(job[field], expected, "{field}");
    }
    assert!(job["next_run"].as_str().unwrap().ends_with(":00:00.000Z"));
    assert_eq!(add(&json!({"job_id": "tea", "cron": "@daily", "prompt": "x"})).status, 409);
    for (body, field) in [
        (json!({"cron": "0 0 30 2 *", "prompt": "x"}), "cron"),
        (json!({"prompt": "x"}), "cron"),
        (json!({"cron": "@daily", "sop_name": "none"}), "sop_name"),
        (json!({"cron": "@daily", "prompt": "x", "channel": "none"}), "channel"),
        (json!({"cron": "@daily", "prompt": "x", "timezone": "Mars"}), "timezone"),
        (json!({"cron": "@daily", "prompt": "x", "retries": -1}), "retries"),
    ] {
        let answer = add(&body);
        assert_eq!((answer.status, &answer.json()["errors"][0]["field"]), (422, &json!(field)), "{body}");
    }
    let listed = server.get("/api/scheduler").json();
    assert_eq!((&listed["enabled"], &listed["jobs"][0]["job_id"]), (&json!(true), &json!("nightly")));
    assert_eq!(server.get("/api/scheduler/jobs").json()["jobs"].as_array().unwrap().len(), 2);
    assert_eq!(delete(&server, "/api/scheduler/jobs/nightly").status, 409, "it stands in the configuration");

    let run = server.send(&Request::new("POST", "/api/scheduler/jobs/tea/run"));
    assert_eq!(run.status, 201);
    let ended = eventually("the end of the run", || {
        let runs = server.get("/api/scheduler/jobs/tea/runs").json();
        (runs["runs"][0]["status"] != "running").then(|| runs["runs"][0].clone())
    });
    assert_eq!((&ended["status"], &ended["error"]), (&json!("ok"), &Value::Null));
    assert_eq!(ended["run_id"], run.json()["run_id"]);
    eventually("the delivery", || {
        let said = server.get("/api/sessions/webchat:kitchen");
        (said.status == 200 && said.text().contains("tea time")).then_some(())
    });
    assert_eq!(delete(&server, "/api/scheduler/jobs/tea").status, 204);
    assert_eq!(delete(&server, "/api/scheduler/jobs/tea").status, 404);
}

#[test]
fn job_gets_another_task_time_and_recipient_and_stays_the_same_job() {
    let server = Server::start(&["scheduler.jobs.nightly={cron=\"0 3 * * *\", prompt=\"!say night\"}"]);
    let add = json!({"job_id": "tea", "cron": "0 9 * * 1-5", "prompt": "!say tea", "timezone": "Europe/Berlin",
        "recipient": "kitchen", "retries": 2});
    let made = server.post("/api/scheduler/jobs", &add).json();
    let change = |body: &Value| put(&server, "/api/scheduler/jobs/tea", body);
    let changed = change(&json!({"prompt": "!say coffee"}));
    assert_eq!(changed.status, 200, "{}", changed.text());
    assert!(changed.header("etag").is_some());
    let mut expected = made.clone();
    expected["prompt"] = json!("!say coffee");
    assert_eq!(changed.json(), expected, "what is left out stays, the next run as well");

    let emptied = change(&json!({"recipient": null, "retries": 0, "cron": "30 10 * * *"})).json();
    assert_eq!((&emptied["recipient"], &emptied["retries"]), (&Value::Null, &json!(0)));
    assert_eq!((&emptied["cron"], &emptied["timezone"]), (&json!("30 10 * * *"), &json!("Europe/Berlin")));
    assert_ne!(emptied["next_run"], made["next_run"]);
    let once = change(&json!({"run_at": "2999-12-24T18:00:00Z"})).json();
    assert_eq!((&once["cron"], &once["next_run"]), (&Value::Null, &json!("2999-12-24T18:00:00.000Z")));
    assert_eq!(once["missed"], "run_once", "the usual treatment of what runs once");
    let sop = change(&json!({"cron": "@daily", "sop_name": "codebase-summary", "prompt": null})).json();
    assert_eq!((&sop["sop_name"], &sop["prompt"]), (&json!("codebase-summary"), &Value::Null));
    assert_eq!((&sop["cron"], &sop["run_at"]), (&json!("@daily"), &Value::Null));
    for (body, field) in [
        (json!({"sop_name": null, "prompt": ""}), "prompt"),
        (json!({"cron": null}), "cron"),
        (json!({"cron": "@daily", "run_at": "2999-12-24T18:00:00Z"}), "run_at"),
        (json!({"channel": "none"}), "channel"),
        (json!({"timezone": 7}), "timezone"),
        (json!({"job_id": "other"}), "job_id"),
    ] {
        let answer = change(&body);
        assert_eq!((answer.status, &answer.json()["errors"][0]["field"]), (422, &json!(field)), "{body}");
    }
    assert_eq!(server.get("/api/scheduler/jobs/tea").json(), sop, "what was refused changed nothing");
    assert_eq!(put(&server, "/api/scheduler/jobs/none", &json!({"prompt": "x"})).status, 404);
    assert_eq!(put(&server, "/api/scheduler/jobs/nightly", &json!({"prompt": "x"})).status, 409);

    let pause = Request::new("PATCH", "/api/scheduler/jobs/tea").header("Content-Type", "application/json");
    assert_eq!(server.send(&pause.body(json!({"enabled": false}).to_string())).status, 200);
    let paused = change(&json!({"cron": "0 6 * * *"})).json();
    assert_eq!((&paused["enabled"], &paused["next_run"]), (&json!(false), &Value::Null), "a pause stays");
}

#[test]
fn the_assistant_and_the_terminal_make_and_run_jobs() {
    let server = Server::start(&[]);
    let soon = "!tool schedule_task {\"run_at\": \"2999-01-01T00:00:00Z\", \"prompt\": \"!say late\", \"job_id\": \"far\"}";
    let answer =
        server.post("/webhook/trigger", &json!({"text": format!("{soon}\n!tool list_scheduled_jobs {{}}")}));
    assert!(answer.text().contains("The job far is scheduled"), "{}", answer.text());
    let cli = |arguments: &[&str]| run_cli(server.home().path(), arguments, None);
    let table = cli(&["jobs", "list"]);
    assert!(String::from_utf8_lossy(&table.stdout).contains("far  once at 2999"), "{table:?}");
    let failing =
        cli(&["jobs", "add", "--id", "fail", "--cron", "@yearly", "--prompt", "!error auth 9", "--json"]);
    assert!(failing.status.success(), "{failing:?}");
    let ran = cli(&["jobs", "run", "fail"]);
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let listed = server.get("/api/scheduler").json();
    let fail = listed["jobs"].as_array().unwrap().iter().find(|job| job["job_id"] == "fail").unwrap();
    assert_eq!(fail["last_status"], "error");
    assert!(!fail["last_error"].as_str().unwrap().is_empty());
    let runs = cli(&["jobs", "runs", "fail"]);
    let shown = String::from_utf8_lossy(&runs.stdout).into_owned();
    assert!(runs.status.success() && shown.lines().count() == 1 && shown.contains("error"), "{runs:?}");
    assert!(!cli(&["jobs", "runs", "none"]).status.success());
    assert!(cli(&["jobs", "rm", "far", "--yes"]).status.success());
}

#[test]
fn job_runs_its_sop_and_reports_a_missing_one() {
    let server = Server::start(&[]);
    assert_eq!(put(&server, "/api/sops/notes", &json!({"content": NOTES})).status, 200);
    let mut events = server.socket("/ws/dashboard");
    events.send(r#"{"channel":"subscribe","topics":["scheduler"]}"#);
    let body = json!({"job_id": "jot", "cron": "@yearly", "sop_name": "notes", "prompt": "!say jotted"});
    assert_eq!(server.post("/api/scheduler/jobs", &body).status, 201);
    let run = || {
        let begun = server.send(&Request::new("POST", "/api/scheduler/jobs/jot/run"));
        assert_eq!(begun.status, 201, "{}", begun.text());
        eventually("the end of the run", || {
            let run = server.get("/api/scheduler/jobs/jot/runs").json()["runs"][0].clone();
            (run["status"] != "running").then_some(run)
        })
    };
    let ended = run();
    assert_eq!((&ended["status"], &ended["error"]), (&json!("ok"), &Value::Null));
    let sop_run = runs(&server).remove(0);
    assert_eq!((&sop_run["sop_name"], &sop_run["state"]), (&json!("notes"), &json!("done")), "{sop_run}");
    assert!(sop_run["session_id"].as_str().unwrap().starts_with("schedule:jot:"), "{sop_run}");
    let replies = || server.said("webchat:default").into_iter().map(|(_, text)| text).collect::<String>();
    eventually("the result in the chat", || replies().contains("jotted").then_some(()));

    // Who watches the schedule has seen all of it.
    let mut changes = Vec::new();
    while changes.last().is_none_or(|change| change != "run_ended") {
        let event: Value = serde_json::from_str(&events.text()).unwrap();
        assert_eq!((&event["channel"], &event["data"]["job_id"]), (&json!("scheduler"), &json!("jot")));
        changes.push(event["data"]["change"].clone());
        if changes.last().is_some_and(|change| change == "run_ended") {
            assert_eq!(event["data"]["run"]["run_id"], ended["run_id"]);
        }
    }
    assert_eq!(changes, ["added", "run_started", "run_ended"]);

    assert_eq!(delete(&server, "/api/sops/notes").status, 204);
    let failed = run();
    assert_eq!(failed["status"], "error");
    let job = server.get("/api/scheduler").json()["jobs"][0].clone();
    let why = job["last_error"].as_str().unwrap();
    assert_eq!((&job["last_status"], why), (&json!("error"), "there is no SOP named notes"));
    eventually("it is told where its results go", || {
        replies().contains("The job `jot` could not run: there is no SOP named notes").then_some(())
    });
    assert_eq!(runs(&server).len(), 1, "nothing was run");
}

#[test]
fn faulty_job_is_explained_to_the_assistant() {
    let server = Server::start(&[]);
    let mut chat = server.socket("/ws/chat?session=default");
    for (job, expected) in [
        (json!({"cron": "61 * * * *", "prompt": "x"}), "cron "),
        (json!({"cron": "0 0 30 2 *", "prompt": "x"}), "cron "),
        (json!({"run_at": "soon", "prompt": "x"}), "run_at "),
        (json!({"run_at": "2001-01-01T00:00:00Z", "prompt": "x"}), "run_at "),
        (json!({"prompt": "x"}), "cron "),
        (json!({"cron": "@daily"}), "prompt "),
        (json!({"cron": "@daily", "sop_name": "none"}), "sop_name "),
        (json!({"cron": "@daily", "prompt": "x", "channel": "telepathy"}), "channel "),
        (json!({"cron": "@daily", "prompt": "x", "timezone": "Mars/Base"}), "timezone "),
        (json!({"cron": "@daily", "prompt": "x", "missed": "maybe"}), "missed "),
        (json!({"cron": 5, "prompt": "x"}), "cron"),
    ] {
        chat.send(&format!("!tool schedule_task {job}"));
        let answer = chat.text();
        assert!(answer.contains(expected) && !answer.contains("is scheduled"), "{job}: {answer}");
    }
    assert_eq!(server.get("/api/scheduler").json()["jobs"], json!([]));
}

#[test]
fn terminal_lists_sops_and_resumes_a_run() {
    let server = Server::start(&["model.max_retries=0"]);
    assert_eq!(put(&server, "/api/sops/notes", &json!({"content": NOTES})).status, 200);
    let cli = |arguments: &[&str]| run_cli(server.home().path(), arguments, None);
    let said = |arguments: &[&str]| {
        let output = cli(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let list = said(&["sop", "list"]);
    assert!(list.contains("/notes topic=...  (custom)\n    Writes notes."), "{list}");
    assert!(list.contains("/pdd rough_idea=...  (builtin)"), "{list}");
    assert_eq!(said(&["sop", "show", "notes"]).trim_end(), NOTES.trim_end());
    let unknown = cli(&["sop", "show", "none"]);
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no SOP \"none\""), "{unknown:?}");
    assert_eq!(said(&["sop", "runs"]), "no runs yet\n");

    let mut chat = server.socket("/ws/chat?session=notes");
    chat.send("/notes topic=tea\n!error auth 1");
    let run = eventually("the run has failed", || runs(&server).pop().filter(|run| run["state"] == "failed"));
    let id = run["run_id"].as_str().unwrap();
    let table = said(&["sop", "runs"]);
    assert!(table.contains(&format!("{id}  failed   step 0/3  notes  webchat:notes")), "{table}");
    assert!(said(&["sop", "resume", id]).contains("continues"));
    eventually("the run is over", || (runs(&server)[0]["state"] == "done").then_some(()));
    let again = cli(&["sop", "resume", id]);
    assert!(!again.status.success(), "{again:?}");
    assert!(String::from_utf8_lossy(&again.stderr).contains("the run is done"), "{again:?}");

    // The same by the API.
    let resume = |id: &str| server.send(&Request::new("POST", &format!("/api/sop-runs/{id}/resume")));
    assert_eq!((resume(id).status, resume(id).problem()), (409, "not_resumable".into()));
    assert_eq!(resume("none").status, 404);
    chat.send("/notes topic=coffee\n!error auth 1");
    let run =
        eventually("the next has failed", || runs(&server).into_iter().find(|run| run["state"] == "failed"));
    let id = run["run_id"].as_str().unwrap();
    let answer = resume(id);
    assert_eq!((answer.status, &answer.json()["run_id"]), (200, &json!(id)));
    eventually("it is over as well", || runs(&server).iter().all(|run| run["state"] == "done").then_some(()));
}

#[test]
fn job_list_is_paged_and_the_terminal_follows_pages() {
    let server = Server::start(&[]);
    for number in 0..5 {
        let job = json!({"job_id": format!("job-{number}"), "cron": "0 7 * * *", "prompt": "x"});
        assert_eq!(server.post("/api/scheduler/jobs", &job).status, 201);
    }
    let (mut names, mut path) = (Vec::new(), "/api/scheduler?limit=2".to_owned());
    loop {
        let page = server.get(&path).json();
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.len() <= 2 && page["count"] == 5, "{page}");
        names.extend(jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/api/scheduler?limit=2&cursor={cursor}");
    }
    assert_eq!(names, ["job-0", "job-1", "job-2", "job-3", "job-4"]);
    assert_eq!(server.get("/api/scheduler?limit=0").status, 422);
    let listed =
        run_cli(server.home().path(), &["--set", "model.provider=fake", "jobs", "list", "--json"], None);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["jobs"].as_array().map(Vec::len), Some(5), "{listed}");
}
