//! Signing in to remote MCP servers (`aethon-cli mcp login`, docs/mcp.md), against a strict authorization server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use aethon_tests::strict::authorization::{Flaw, SECRET, SignIn, fields};
use aethon_tests::{Request, Response, Server, eventually, home, program, run_cli};

use super::{ask, wait_for_notice};

/// A running `aethon-cli mcp login far`.
struct Login {
    child: Child,
    output: BufReader<ChildStdout>,
    /// The address that it prints.
    address: String,
}

impl Login {
    /// Starts it; the error is what it said instead of an address.
    fn start(home: &Path, settings: &[&str]) -> Result<Self, String> {
        let mut command = program("aethon-cli", home);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command.args(["mcp", "login", "far"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut login = Self { child, output, address: String::new() };
        loop {
            let mut line = String::new();
            if login.output.read_line(&mut line).expect("it writes") == 0 {
                let mut said = String::new();
                login.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                assert!(!login.child.wait().unwrap().success(), "{said}");
                return Err(said);
            }
            if line.starts_with("http://") {
                line.trim().clone_into(&mut login.address);
                return Ok(login);
            }
        }
    }

    /// Opens an address as a browser does, without following where it leads.
    fn open(address: &str) -> Response {
        let rest = address.strip_prefix("http://").unwrap();
        let (host, path) = rest.split_once('/').unwrap();
        Request::get(&format!("/{path}")).send(host.parse::<SocketAddr>().unwrap())
    }

    /// The address at which the person's browser ends.
    fn consent(&self) -> String {
        let answer = Self::open(&self.address);
        answer.header("location").unwrap_or_else(|| panic!("{}", answer.text())).to_owned()
    }

    fn end(mut self) -> (bool, String) {
        let mut said = String::new();
        self.output.read_to_string(&mut said).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().success(), said)
    }
}

impl Drop for Login {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sign_in(home: &Path, settings: &[&str]) {
    let login = Login::start(home, settings).unwrap();
    let page = Login::open(&login.consent());
    assert_eq!(page.status, 200, "{}", page.text());
    let (is_done, said) = login.end();
    assert!(is_done && said.contains("signed in to far"), "{said}");
}

/// Fails if a file of the home, other than the credential itself, holds one of the tokens.
fn assert_tokens_are_nowhere(folder: &Path, given: &[String]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_tokens_are_nowhere(&path, given);
        } else if !path.ends_with("credentials/mcp.far.oauth") && path.is_file() {
            let content = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            assert!(given.iter().all(|token| !content.contains(token)), "{}", path.display());
        }
    }
}

#[test]
fn person_signs_in_while_the_server_runs_and_tokens_are_renewed() {
    let stage = SignIn::start(Flaw::None);
    let setting = stage.setting();
    let server = Server::start(&[&setting]);
    wait_for_notice(&server, "far: needs sign-in: run aethon-cli mcp login far");
    let doctor = run_cli(server.home().path(), &["--set", &setting, "doctor"], None);
    let report = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(report.contains("needs sign-in: run aethon-cli mcp login far"), "{report}");

    sign_in(server.home().path(), &[&setting]);
    wait_for_notice(&server, "far: connected, 2 tools");
    assert!(ask(&server, "!tool far__echo {\"word\": \"signed\"}").contains("signed"));
    let credential = server.home().path().join("credentials/mcp.far.oauth");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&credential).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(stage.records().asked_scope, "read");

    // The access token is refused, and renewed without anybody noticing; the refresh token counts once.
    for round in 1..=3 {
        stage.records().access.clear();
        let word = format!("round{round}");
        assert!(ask(&server, &format!("!tool far__echo {{\"word\": \"{word}\"}}")).contains(&word));
        assert_eq!(stage.records().renewals, round);
    }

    // What the sign-in does not permit is asked for the next time.
    let refused = ask(&server, "!tool far__write {}");
    assert!(refused.contains("needs more scope (write)") && refused.contains("mcp login far"), "{refused}");
    sign_in(server.home().path(), &[&setting]);
    assert_eq!(stage.records().asked_scope, "read write");
    assert!(
        eventually("the new scope counts", || {
            Some(ask(&server, "!tool far__write {\"a\": 1}")).filter(|answer| answer.contains("write {"))
        })
        .contains("write")
    );

    // Once everything is revoked, a person is asked for.
    {
        let mut records = stage.records();
        records.access.clear();
        records.refresh.clear();
    }
    ask(&server, "!tool far__echo {}");
    wait_for_notice(&server, "far: needs sign-in");
    assert_eq!(stage.records().breaches, Vec::<String>::new());
    let (home, given) = (server.home(), stage.records().given.clone());
    assert_eq!(server.terminate().code(), Some(0));
    assert_tokens_are_nowhere(home.path(), &given);
    let codes = ["code-1-canary".to_owned(), "code-2-canary".to_owned()];
    assert_tokens_are_nowhere(home.path(), &codes);
}

#[test]
fn token_is_renewed_before_it_ends_and_by_one_program_at_a_time() {
    let stage = SignIn::start(Flaw::None);
    stage.records().lifetime = 30;
    let (setting, home) = (stage.setting(), home());
    sign_in(home.path(), &[&setting]);
    stage.records().lifetime = 3600;
    // Each renews the token when it connects; a refresh token that comes twice is refused.
    let programs: Vec<_> = (0..3)
        .map(|_| {
            let (home, setting) = (home.clone(), setting.clone());
            std::thread::spawn(move || run_cli(home.path(), &["--set", &setting, "doctor"], None))
        })
        .collect();
    for program in programs {
        let report = String::from_utf8_lossy(&program.join().unwrap().stdout).into_owned();
        assert!(report.contains("far: connected, 2 tools"), "{report}");
    }
    assert_eq!(stage.records().renewals, 1);
    assert_eq!(stage.records().breaches, Vec::<String>::new());
}

#[test]
fn pasted_address_completes_a_sign_in_and_other_addresses_do_not() {
    let stage = SignIn::start(Flaw::None);
    let (setting, home) = (stage.setting(), home());
    let mut login = Login::start(home.path(), &[&setting]).unwrap();
    let end = login.consent();
    let forged = end.replace("state=", "state=x");
    assert_eq!(Login::open(&forged).status, 400);
    let mut input = login.child.stdin.take().unwrap();
    writeln!(input, "hello\n{forged}\n  {end}  ").unwrap();
    let (is_done, said) = login.end();
    assert!(is_done, "{said}");
    assert!(said.contains("not the address") && said.contains("another sign-in"), "{said}");
    assert!(home.path().join("credentials/mcp.far.oauth").exists());

    let out = run_cli(home.path(), &["--set", &setting, "mcp", "logout", "far"], None);
    assert!(out.status.success());
    assert!(!home.path().join("credentials/mcp.far.oauth").exists());
    assert!(stage.records().access.is_empty() && stage.records().refresh.is_empty(), "they are revoked");
    let again = run_cli(home.path(), &["--set", &setting, "mcp", "logout", "far"], None);
    assert_eq!(again.status.code(), Some(1));
}

#[test]
fn client_that_was_registered_by_hand_proves_itself_with_its_secret() {
    let stage = SignIn::start(Flaw::None);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    stage.register("by-hand", format!("http://127.0.0.1:{port}/mcp/callback"));
    let oauth = format!(
        "mcp.servers.far.oauth={{ client_id = \"by-hand\", client_secret = {SECRET:?}, redirect_port = {port}, scopes = [\"write\"], \
         issuer = \"http://{}\" }}",
        stage.authority.address
    );
    let home = home();
    sign_in(home.path(), &[&stage.setting(), &oauth]);
    assert_eq!(stage.records().asked_scope, "write");
    assert_eq!(stage.records().breaches, Vec::<String>::new());

    let issuer = "mcp.servers.far.oauth.issuer=\"https://other.example\"";
    let Err(said) = Login::start(home.path(), &[&stage.setting(), &oauth, issuer]) else {
        panic!("it is trusted")
    };
    assert!(said.contains("oauth.issuer"), "{said}");
}

#[test]
fn sign_in_that_is_not_safe_is_refused() {
    for (flaw, words) in [
        (Flaw::OtherIssuer, "another issuer"),
        (Flaw::NoPkce, "PKCE"),
        (Flaw::PlainToken, "plain http"),
        (Flaw::OtherResource, "another server"),
        (Flaw::Redirects, "redirect"),
        (Flaw::Inside, "192.168.7.7"),
    ] {
        let (stage, home) = (SignIn::start(flaw), home());
        let Err(said) = Login::start(home.path(), &[&stage.setting()]) else { panic!("{flaw:?} is taken") };
        assert!(said.contains(words), "{flaw:?}: {said}");
        assert!(!home.path().join("credentials/mcp.far.oauth").exists(), "{flaw:?}");
    }
    for (flaw, words) in
        [(Flaw::Anonymous, "`iss`"), (Flaw::Impostor, "`iss`"), (Flaw::Refused, "access_denied")]
    {
        let (stage, home) = (SignIn::start(flaw), home());
        let login = Login::start(home.path(), &[&stage.setting()]).unwrap();
        Login::open(&login.consent());
        let (is_done, said) = login.end();
        assert!(!is_done && said.contains(words), "{flaw:?}: {said}");
        assert!(stage.records().given.is_empty(), "{flaw:?}: the code was sent nowhere");
    }
}

#[test]
fn tokens_go_to_their_server_only() {
    let (stage, other) = (SignIn::start(Flaw::None), SignIn::start(Flaw::None));
    let home = home();
    sign_in(home.path(), &[&stage.setting()]);
    // The same name at another address gets none of them.
    let server = Server::start_in(home, &[&other.setting()]);
    wait_for_notice(&server, "far: needs sign-in");
    let seen = other.tools.requests();
    assert!(!seen.is_empty() && seen.iter().all(|seen| seen.header("authorization").is_none()));
}

#[test]
fn sign_in_at_a_server_without_one_is_refused_in_words() {
    let home = home();
    for (setting, name, words) in [
        ("mcp.servers.far.url=\"https://a.example/mcp\"", "near", "far"),
        ("mcp.servers.far.command=\"x\"", "far", "is a program"),
        (
            "mcp.servers.far={ url = \"https://a.example\", headers = { authorization = \"Bearer x\" } }",
            "far",
            "Authorization",
        ),
    ] {
        let out = run_cli(home.path(), &["--set", setting, "mcp", "login", name], None);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    }
    let query = fields("a=b%20c&d=e+f");
    assert_eq!((query["a"].as_str(), query["d"].as_str()), ("b c", "e f"));
}
