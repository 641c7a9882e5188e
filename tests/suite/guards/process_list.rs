//! Secrets on a command line: every user of the machine can read the list of processes.

use std::process::Command;
use std::time::Instant;

use aethon_tests::server::server_command;
use aethon_tests::{Request, Server, home, program, run};

const SECRET: &str = "a-token-that-nobody-may-read-0123";

/// The command line of a process, as others see it.
fn command_line(process: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).expect("it runs");
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

#[test]
fn secret_flag_is_hidden_from_the_process_list_and_applied() {
    let home = home();
    let tokens = [format!("dashboard.auth_token={SECRET}"), "agent.loop_limit=7".to_owned()];
    let settings: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let server = Server::start_command(home.clone(), server_command(home.path(), &settings));
    let seen = command_line(server.process());
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(seen.contains("dashboard.auth_token=***") && seen.contains("agent.loop_limit=7"), "{seen}");
    assert_eq!(server.get("/api/status").status, 401);
    let config = server.send(&Request::get("/api/config").bearer(SECRET));
    assert_eq!((config.status, config.json()["agent"]["loop_limit"].as_u64()), (200, Some(7)));
    // Children inherit nothing of it.
    let call = serde_json::json!({"command": "env; ls -l /proc/self/fd; cat /proc/self/cmdline"});
    let request =
        Request::post("/webhook/trigger", &serde_json::json!({"text": format!("!tool shell {call}")}));
    let said = server.send(&request).text();
    assert!(!said.contains(SECRET), "{said}");
}

#[test]
fn likely_secret_of_any_key_is_hidden_from_the_process_list() {
    let home = home();
    let settings = [
        format!("model.apikye={SECRET}"),
        format!("mcp.servers.off={{command=\"true\", enabled=false, args=[\"--token\", \"{SECRET}\"]}}"),
        format!("mcp.servers.off.args=[\"--token\", \"{SECRET}\"]"),
        format!("mcp.servers.other={{url=\"https://a.example/sse?key={SECRET}\", enabled=false}}"),
        format!("channels.email.oauth_command=\"printf {SECRET}\""),
        "agent.loop_limit=7".to_owned(),
    ];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let server = Server::start_command(home.clone(), server_command(home.path(), &settings));
    let seen = command_line(server.process());
    assert!(!seen.contains(SECRET), "{seen}");
    assert!(seen.contains("mcp.servers.off.args=***") && seen.contains("agent.loop_limit=7"), "{seen}");
    let log = server.stderr();
    assert!(log.contains("model.apikye") && !log.contains(SECRET), "{log}");
}

#[test]
fn program_without_a_secret_does_not_restart_itself() {
    let server = Server::start(&[]);
    let seen = command_line(server.process());
    assert!(!seen.contains("--arguments-from"), "{seen}");
}

#[test]
fn restarted_program_keeps_arguments_and_exit_status() {
    let home = home();
    let check = |name: &str, arguments: &[&str], code: i32, words: &str| {
        let mut command: Command = program(name, home.path());
        let output = run(command.args(arguments), None);
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words) && !said.contains(SECRET), "{arguments:?}: {said}");
    };
    let set = format!("webhook.secret={SECRET}");
    let began = Instant::now();
    check("aethon-cli", &["--set", &set, "config", "get", "webhook.secret"], 0, "***");
    check("aethon-cli", &["--set", &set, "config", "get", "agent.loop_limit"], 0, "3");
    check("aethon-cli", &["config", "set", "webhook.secret", SECRET], 0, "webhook.secret is set");
    check("aethon-cli", &["--set", &set, "nonsense"], 2, "nonsense");
    check("aethon-server", &["--set", &set, "--set", "agent.loop_limit=x", "--check"], 2, "agent.loop_limit");
    for nothing in ["--arguments-from=999", "--arguments-from=x"] {
        let mut command = Command::new(program("aethon-server", home.path()).get_program());
        let output = run(command.arg(nothing), None);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("passed on"), "{output:?}");
    }
    assert!(began.elapsed() < aethon_tests::http::TIMEOUT);
    let written = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    assert!(written.contains(SECRET), "{written}");
}

#[test]
fn misplaced_configuration_key_is_not_echoed() {
    const KEY: &str = "sk-proj-4f8b2c9d1eAbCdEfGh";
    for text in [
        format!("[model]\nprovider = \"{KEY}\"\n"),
        format!("[model]\napi = \"{KEY}\"\n"),
        format!("[model]\nhost = \"{KEY}\"\n"),
        format!("[model]\nmax_tokens = \"{KEY}\"\n"),
        format!("[model]\nhost = \"${{{KEY}}}\"\n"),
        format!("[model]\nmodel_id = \"${{{KEY}:-x}}\"\n"),
        format!("[model]\nmodel_id = \"${{credential:{KEY}}}\"\n"),
        "[model]\nmodel_id = \"${sk_proj_4f8b2c9d1eAbCdEfGh}\"\n".to_owned(),
        format!("[approval]\nenabled = \"{KEY}\"\n"),
        format!("[logging]\nlevel = \"{KEY}\"\n"),
        format!("[security]\nsandbox = \"{KEY}\"\nowners = [\"{KEY}\"]\n"),
        format!("[channels.webchat]\nhost = \"{KEY} \"\n"),
        format!("[scheduler.jobs.\"{KEY}\"]\ncron = \"{KEY}\"\n"),
        format!("[scheduler.jobs.x]\ncron = \"{KEY}\"\nprompt = \"x\"\ntimezone = \"{KEY}\"\n"),
        format!("[server]\ntrusted_proxies = [\"{KEY}\"]\n"),
        format!("\"{KEY}\" = 1\n[model]\nprovider = 5\n"),
        format!("[model]\n{KEY} = 1\nprovider = 5\n"),
        format!("[budget]\ndaily_usd = \"{KEY}\"\n"),
    ] {
        let home = home();
        std::fs::write(home.path().join("config.toml"), &text).unwrap();
        for (name, arguments) in
            [("aethon-cli", &["config", "check"][..]), ("aethon-server", &["--check"][..])]
        {
            let output = run(program(name, home.path()).args(arguments), None);
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            assert!(!output.status.success(), "{text}: {said}");
            assert!(!said.contains("4f8b2c9d1e"), "{text}: {said}");
        }
    }
    let home = home();
    let set = run(program("aethon-cli", home.path()).args(["--set", KEY, "config", "check"]), None);
    assert!(!String::from_utf8_lossy(&set.stderr).contains(KEY), "{set:?}");
    let patched = Server::start(&[]).send(
        &Request::new("PATCH", "/api/config")
            .header("Content-Type", "application/json")
            .body(format!("{{\"logging.level\": \"{KEY}\"}}")),
    );
    assert_eq!(patched.status, 422);
    assert!(!patched.text().contains(KEY), "{}", patched.text());
}
