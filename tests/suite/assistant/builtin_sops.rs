//! The built-in SOPs from end to end with a scripted model: each leaves the promised files, and a killed one continues where it
//! was (docs/sops.md).

use aethon_tests::{Server, eventually};
use serde_json::{Value, json};

/// A built-in SOP: its call, its steps, and what each step leaves in the workspace.
type Script = (&'static str, &'static str, &'static [&'static [&'static str]]);

const SCRIPTS: [Script; 3] = [
    (
        "code-assist",
        "task_description=\"add a greeting\" task_name=greet",
        &[
            &["code-assist/greet/context.md"],
            &[],
            &["code-assist/greet/plan.md"],
            &["code-assist/greet/progress.md", "greet_test.py"],
            &["greet.py"],
            &[],
            &["code-assist/greet/summary.md"],
        ],
    ),
    (
        "pdd",
        "rough_idea=\"a timer for tea\"",
        &[
            &["planning/rough-idea.md"],
            &["planning/requirements-questions.md", "planning/requirements.md"],
            &["planning/research/README.md"],
            &[],
            &["planning/design/detailed-design.md"],
            &["planning/implementation/plan.md"],
            &["planning/summary.md"],
        ],
    ),
    (
        "codebase-summary",
        "focus=tests",
        &[
            &[],
            &["codebase-summary/codebase-info.md"],
            &["codebase-summary/architecture.md"],
            &["codebase-summary/components.md"],
            &["codebase-summary/interfaces.md"],
            &["codebase-summary/data-models.md"],
            &["codebase-summary/workflows.md"],
            &["codebase-summary/review-notes.md"],
            &["codebase-summary/index.md"],
        ],
    ),
];

/// The call of a SOP, and the scripted model's action in each step. In step `slow` it thinks for some seconds after it has begun.
fn message((name, parameters, steps): &Script, slow: Option<usize>) -> String {
    let mut lines = vec![format!("/{name} {parameters}")];
    let step =
        |number: usize, state: &str| format!("!tool sop_step {}", json!({"step": number, "state": state}));
    for (at, artefacts) in steps.iter().enumerate() {
        lines.push(step(at + 1, "begun"));
        if slow == Some(at + 1) {
            lines.extend(["!then".into(), "!sleep 3000".into()]);
        }
        for path in *artefacts {
            let content = format!("# {path}\n\nOf step {}.\n", at + 1);
            lines.push(format!("!tool file_write {}", json!({"path": path, "content": content})));
        }
        lines.extend([step(at + 1, "done"), "!then".into()]);
    }
    lines.push(format!("!say {name} is done"));
    lines.join("\n")
}

fn run_of(server: &Server, name: &str) -> Option<Value> {
    let runs = server.get("/api/sop-runs").json()["runs"].as_array()?.clone();
    runs.into_iter().find(|run| run["sop_name"] == name)
}

fn assert_left(server: &Server, script: &Script) {
    for path in script.2.iter().copied().flatten() {
        let text = std::fs::read_to_string(server.home().path().join("workspace").join(path));
        assert!(text.is_ok_and(|text| text.starts_with(&format!("# {path}"))), "{path} of {}", script.0);
    }
}

#[test]
fn each_builtin_sop_completes_and_leaves_its_files() {
    let server = Server::start(&[]);
    for script in &SCRIPTS {
        let (name, _, steps) = script;
        // The model's script follows the SOP's own text.
        let shown = server.get(&format!("/api/sops/{name}")).json()["content"].as_str().unwrap().to_owned();
        assert_eq!(shown.matches("\n### ").count(), steps.len(), "{name}");
        for artefact in steps.iter().copied().flatten().filter(|path| path.ends_with(".md")) {
            let promised = artefact.rsplit('/').next().unwrap();
            assert!(shown.contains(promised), "{name} promises no {promised}");
        }
        let mut chat = server.socket(&format!("/ws/chat?session={name}"));
        chat.send(&message(script, None));
        assert_eq!(chat.text(), format!("{name} is done"));
        let run =
            eventually("the run is over", || run_of(&server, name).filter(|run| run["state"] != "running"));
        assert_eq!(
            (&run["state"], &run["step"], &run["steps"]),
            (&json!("done"), &json!(steps.len()), &json!(steps.len()))
        );
        assert_left(&server, script);
    }
}

#[test]
fn builtin_sop_killed_in_step_three_resumes_at_step_three() {
    let server = Server::start(&[]);
    let script = &SCRIPTS[0];
    let mut chat = server.socket("/ws/chat?session=kill");
    chat.send(&message(script, Some(3)));
    eventually("the third step", || run_of(&server, script.0).filter(|run| run["step"] == 3));
    let context = server.home().path().join("workspace/code-assist/greet/context.md");
    let before = std::fs::metadata(&context).unwrap().modified().unwrap();
    let server = Server::start_in(server.kill(), &[]);
    let run = eventually("the end of the run", || {
        run_of(&server, script.0).filter(|run| run["state"] != "running")
    });
    assert_eq!((&run["state"], &run["step"]), (&json!("done"), &json!(script.2.len())), "{run}");
    assert_left(&server, script);
    assert_eq!(
        std::fs::metadata(&context).unwrap().modified().unwrap(),
        before,
        "step one was not done again"
    );
    let messages = server.messages("webchat:kill");
    let blocks = messages.iter().flat_map(|message| message["content"].as_array().unwrap());
    let begun = blocks.filter(|block| block["type"] == "tool_call" && block["input"]["state"] == "begun");
    let steps: Vec<u64> = begun.filter_map(|block| block["input"]["step"].as_u64()).collect();
    assert_eq!(steps, [1, 2, 3, 4, 5, 6, 7], "no step was begun twice");
}
