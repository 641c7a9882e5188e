//! Single requests that must be refused.

use std::io;
use std::time::Duration;

use aethon_config::schema::Config;
use tokio::time::timeout;

use super::AREA;
use super::wire::{NO_HEADERS, RawAnswer, Target};
use crate::finding::Finding;

/// A site that no configuration allows.
const SITE: &str = "rebind.attacker.example";

/// How soon a request is answered that needs nothing more.
const PROMPTLY: Duration = Duration::from_secs(5);

/// The shortest secret that is looked for in answers.
const MIN_SECRET: usize = 12;

/// Routes that show something of the owner's.
const GATED: [&str; 9] = [
    "/api/backups",
    "/api/config/origins",
    "/api/sessions",
    "/api/memory",
    "/api/approvals",
    "/api/audit",
    "/api/logs",
    "/api/recordings",
    "/openapi.json",
];

/// Runs all probes, one after another so as not to overload a personal machine.
pub(super) async fn all(target: &Target, config: &Config) -> Vec<Finding> {
    let attacker = Attacker { target: *target, config };
    vec![
        attacker.rebinding().await,
        attacker.foreign_post().await,
        attacker.cross_site_post().await,
        attacker.form_post().await,
        attacker.foreign_socket().await,
        attacker.without_token().await,
        attacker.old_cookies().await,
        attacker.side_doors().await,
        attacker.out_of_the_folder().await,
        attacker.unsigned_webhook().await,
        attacker.unsigned_body().await,
        attacker.loosening().await,
        attacker.references().await,
        attacker.shown_secrets().await,
        attacker.smuggling().await,
        attacker.oversized().await,
        attacker.headers().await,
    ]
}

struct Attacker<'c> {
    target: Target,
    config: &'c Config,
}

impl Attacker<'_> {
    fn has_token(&self) -> bool {
        !self.config.dashboard.auth_token.is_empty()
    }

    /// Adds the owner's headers to these, for attacks through the owner's browser, which sends its credentials.
    fn with_owner(&self, headers: &[&str]) -> Vec<String> {
        let token = self.config.dashboard.auth_token.expose().trim();
        let owner = (!token.is_empty()).then(|| format!("Authorization: Bearer {token}"));
        headers.iter().map(|header| (*header).to_owned()).chain(owner).collect()
    }

    /// Requests each path and returns the answers.
    async fn each(&self, paths: &[&str]) -> Vec<io::Result<RawAnswer>> {
        let mut answers = Vec::new();
        for path in paths {
            answers.push(self.target.ask(&format!("GET {path}"), &NO_HEADERS).await);
        }
        answers
    }

    async fn rebinding(&self) -> Finding {
        let port = self.target.published().port();
        let mut answers = Vec::new();
        for host in [
            SITE.to_owned(),
            format!("{SITE}:{port}"),
            format!("127.0.0.1.{SITE}"),
            format!("localhost.{SITE}"),
            "0x7f.1".to_owned(),
        ] {
            let host = format!("Host: {host}");
            answers.push(self.target.ask_exactly("GET /api/status", &[&host], "").await);
            let empty = [&host, "Content-Type: application/json", "Content-Length: 2"];
            answers.push(self.target.ask_exactly("POST /api/memory/search", &empty, "{}").await);
        }
        let expected: &[u16] = if self.has_token() { &[401, 421] } else { &[421] };
        let fix = "remove the name from channels.webchat.allowed_hosts, or set dashboard.auth_token";
        judge_all("a name of another site that points here (DNS rebinding)", &answers, expected, fix)
    }

    async fn foreign_post(&self) -> Finding {
        let headers = self.with_owner(&[&format!("Origin: https://{SITE}"), "Content-Length: 0"]);
        let answer = self.target.ask("POST /api/sessions/webchat%3Aattack/stop", &headers).await;
        judge("a post that a page of another site sends", &answer, &[403], CROSS)
    }

    async fn cross_site_post(&self) -> Finding {
        let headers = self.with_owner(&["Sec-Fetch-Site: cross-site", "Content-Length: 0"]);
        let answer = self.target.ask("POST /api/sessions/webchat%3Aattack/stop", &headers).await;
        judge("a post that a browser marks as cross-site", &answer, &[403], CROSS)
    }

    async fn form_post(&self) -> Finding {
        let own = format!("Host: {}", self.target);
        let headers = self.with_owner(&[&own, "Content-Type: text/plain", "Content-Length: 2"]);
        let answer = self.target.ask_exactly("POST /api/memory/search", &headers, "{}").await;
        judge("a form that pretends to be JSON", &answer, &[404, 415], CROSS)
    }

    async fn foreign_socket(&self) -> Finding {
        let headers = self.with_owner(&[
            &format!("Host: {}", self.target),
            &format!("Origin: https://{SITE}"),
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ]);
        let head: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
        let answer = self.target.send(format!("GET /ws/chat HTTP/1.1\r\n{head}\r\n").as_bytes()).await;
        let what = "a socket that a page of another site opens";
        match &answer {
            Ok(answer) if answer.status == 101 && is_refused(answer) => {
                held(what, "closed at once with 1008")
            }
            _ => judge(what, &answer, &[403, 421], CROSS),
        }
    }

    async fn without_token(&self) -> Finding {
        if !self.has_token() {
            return Finding::ok(AREA, "no token is set, so requests without one are the owner's");
        }
        // A wrong token counts as a guess, so it is tried on few.
        let guessed = ["/api/status", "/api/config", "/dashboard", "/metrics", "/nothing-of-the-kind"];
        let paths = [&guessed[..], &GATED].concat();
        let fix = "update Aethon: a route answers without the token";
        let mut answers = self.each(&paths).await;
        for path in guessed {
            answers.push(self.target.ask(&format!("GET {path}"), &["Authorization: Bearer wrong"]).await);
        }
        judge_all("requests without the token, or with a wrong one", &answers, &[401, 429], fix)
    }

    /// Shows cookies such as a browser keeps: one that has expired, and ones that are signed with another key. The real key is
    /// the daemon's alone.
    async fn old_cookies(&self) -> Finding {
        if !self.has_token() {
            return Finding::ok(AREA, "no token is set, so there is no sign-in");
        }
        let signed = "0".repeat(64);
        let mut answers = Vec::new();
        for cookie in
            [format!("0123456789abcdef.1.{signed}"), format!("0123456789abcdef.99999999999.{signed}")]
        {
            for path in ["/api/status", "/api/backups", "/dashboard"] {
                let header = format!("Cookie: aethon_dash={cookie}");
                answers.push(self.target.ask(&format!("GET {path}"), &[&header]).await);
            }
        }
        let fix = "update Aethon: an expired or forged sign-in opens";
        judge_all("a sign-in that has expired or was forged", &answers, &[401, 429], fix)
    }

    async fn side_doors(&self) -> Finding {
        let paths = [
            "//api/status",
            "/api//status",
            "/%61pi/status",
            "/API/status",
            "/api/status/.",
            "/health/../api/status",
            "/dashboard/static/../../api/status",
            "/webhook%2f..%2fapi/status",
            "/webhook/%2e%2e/api/status",
        ];
        let answers = self.each(&paths).await;
        let fix = "update Aethon: another way of writing an address gets past the token";
        judge_all("addresses written in other ways", &answers, &[400, 401, 404, 405, 429], fix)
    }

    async fn out_of_the_folder(&self) -> Finding {
        let paths = [
            "/dashboard/static/../../../../etc/passwd",
            "/dashboard/static/..%2f..%2f..%2fetc%2fpasswd",
            "/dashboard/static/%2e%2e/%2e%2e/config.toml",
            "/dashboard/static/..%5c..%5cconfig.toml",
            "/dashboard/static//etc/passwd",
        ];
        let answers = self.each(&paths).await;
        judge_all("files outside the folder of the pages", &answers, &[400, 401, 404, 429], "update Aethon")
    }

    async fn unsigned_webhook(&self) -> Finding {
        let own = format!("Host: {}", self.target);
        let headers = [own.as_str(), "Content-Type: application/json", "Content-Length: 2"];
        let answer = self.target.ask_exactly("POST /webhook/trigger", &headers, "{}").await;
        let what = "a webhook without a signature";
        if !self.config.webhook.secret.is_empty() {
            return judge(what, &answer, &[403, 404], "update Aethon: an unsigned webhook is taken");
        }
        if self.target.is_loopback() {
            return Finding::ok(
                AREA,
                "no webhook.secret is set: programs of this machine may post webhooks, others may not",
            );
        }
        judge(what, &answer, &[404], "set webhook.secret")
    }

    /// Announces a large body without a signature and sends none of it. A server that waits for it first holds data of strangers.
    async fn unsigned_body(&self) -> Finding {
        let what = "a large webhook body that has no signature";
        if self.config.webhook.secret.is_empty() {
            return Finding::ok(
                AREA,
                "no webhook.secret is set, so no body waits for a signature to be judged",
            );
        }
        let headers = ["Content-Type: application/json", "Content-Length: 1000000"];
        let answer = timeout(PROMPTLY, self.target.ask("POST /webhook/attack", &headers)).await;
        let fix = "update Aethon: it waits for bodies before it checks their signature";
        match answer {
            Ok(answer) => judge(what, &answer, &[403, 404, 413], fix),
            Err(_) => {
                Finding::broken(AREA, format!("came through: {what} (the rest of it is waited for)"), fix)
            }
        }
    }

    /// Tries changes whose values refer to variables and credentials. Their values would show in the answer.
    async fn references(&self) -> Finding {
        let own = format!("Host: {}", self.target);
        let confirm = format!("X-Aethon-Confirm: {}", self.config.dashboard.auth_token.expose().trim());
        let mut answers = Vec::new();
        for (key, value) in [
            ("model.model_id", "\"${PATH}\""),
            ("model.model_id", "\"${credential:attack}\""),
            ("model.model_id", "\"a ${ATTACK:-b}\""),
            ("channels.webchat.allowed_hosts", "[\"${PATH}.example\"]"),
            ("model.extra", "{\"deep\": [\"${PATH}\"]}"),
        ] {
            let body = format!("{{\"{key}\": {value}}}");
            let length = format!("Content-Length: {}", body.len());
            let headers = [own.as_str(), "Content-Type: application/json", &length];
            let mut headers = self.with_owner(&headers);
            headers.extend(self.has_token().then(|| confirm.clone()));
            answers.push(self.target.ask_exactly("PATCH /api/config?dry_run=true", &headers, &body).await);
        }
        let fix = "update Aethon: the API resolves references to secrets";
        judge_all("references to secrets in values of a change", &answers, &[403, 404, 422], fix)
    }

    /// Searches the API's answers to the owner for secrets of the configuration.
    async fn shown_secrets(&self) -> Finding {
        let what = "the secrets of the configuration in what the API shows";
        let secrets = self.config.secrets();
        // A short one may be a word that stands there anyway.
        let secrets: Vec<&str> = secrets.into_iter().map(|secret| secret.expose().trim()).collect();
        let secrets: Vec<&str> = secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET).collect();
        if secrets.is_empty() {
            return Finding::ok(AREA, "the configuration has no secret that the API could show");
        }
        let headers = self.with_owner(&[]);
        for path in
            ["/api/config", "/api/config/origins", "/api/features", "/api/status", "/api/logs", "/api/audit"]
        {
            match self.target.ask(&format!("GET {path}"), &headers).await {
                Ok(answer) if secrets.iter().any(|secret| answer.has(secret)) => {
                    let message = format!("came through: {what} ({path})");
                    return Finding::broken(AREA, message, "update Aethon: a secret is shown");
                }
                Ok(_) => {}
                Err(error) => {
                    let message = format!("could not be tried: {what} ({error})");
                    return Finding::broken(AREA, message, "check whether `aethon-server` still answers");
                }
            }
        }
        held(what, "none is shown")
    }

    /// Tries a change that would admit a foreign site. A dry run is refused like the change itself.
    async fn loosening(&self) -> Finding {
        let body = format!("{{\"channels.webchat.allowed_origins\": [\"https://{SITE}\"]}}");
        let own = format!("Host: {}", self.target);
        let length = format!("Content-Length: {}", body.len());
        let headers = self.with_owner(&[&own, "Content-Type: application/json", &length]);
        let answer = self.target.ask_exactly("PATCH /api/config?dry_run=true", &headers, &body).await;
        let what = "a change that loosens protection, without the token shown again";
        judge(what, &answer, &[403, 404, 422], "update Aethon: a signed-in page can switch protections off")
    }

    async fn smuggling(&self) -> Finding {
        let own = format!("Host: {}", self.target);
        let both = [own.as_str(), "Content-Length: 4", "Transfer-Encoding: chunked"];
        let hosts = [own.as_str(), "Host: other.example"];
        let answers = [
            self.target.ask_exactly("GET /health", &hosts, "").await,
            self.target
                .ask_exactly("POST /webhook/trigger", &both, "0\r\n\r\nGET /api/status HTTP/1.1\r\n\r\n")
                .await,
        ];
        judge_all(
            "requests that two servers would parse differently (smuggling)",
            &answers,
            &[0, 400, 403, 404, 415],
            "update Aethon",
        )
    }

    async fn oversized(&self) -> Finding {
        let length = self.with_owner(&["Content-Length: 1099511627776", "Content-Type: application/json"]);
        let long = format!("X-Long: {}", "a".repeat(1 << 20));
        let answers = [
            self.target.ask("POST /api/memory/search", &length).await,
            self.target.ask("GET /health", &[&long]).await,
        ];
        judge_all("oversized bodies and headers", &answers, &[0, 400, 404, 413, 431], "update Aethon")
    }

    async fn headers(&self) -> Finding {
        let what = "the page forbids foreign code, framing and content sniffing";
        let answer = self.target.ask("GET /", &NO_HEADERS).await;
        let Ok(answer) = &answer else { return judge(what, &answer, &[200], "start `aethon-server` again") };
        let has_all = [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "frame-ancestors 'none'",
        ]
        .iter()
        .all(|header| answer.has(header));
        if has_all && !answer.has("unsafe-") {
            return held(what, "its headers say so");
        }
        Finding::broken(AREA, format!("not so: {what}"), "a proxy in front may have taken headers away")
    }
}

const CROSS: &str = "remove the site from channels.webchat.allowed_origins";

/// Returns whether a WebSocket was closed at once for a policy violation: a close frame, its length, and code 1008.
fn is_refused(answer: &RawAnswer) -> bool {
    answer.bytes.windows(4).any(|frame| matches!(frame, [0x88, _, 0x03, 0xf0]))
}

pub(super) fn held(what: &str, how: impl std::fmt::Display) -> Finding {
    Finding::ok(AREA, format!("held: {what} ({how})"))
}

/// Reports whether an attack was answered with one of these statuses; 0 is a closed connection.
pub(super) fn judge(what: &str, answer: &io::Result<RawAnswer>, expected: &[u16], fix: &str) -> Finding {
    judge_all(what, std::slice::from_ref(answer), expected, fix)
}

fn judge_all(what: &str, answers: &[io::Result<RawAnswer>], expected: &[u16], fix: &str) -> Finding {
    let mut statuses = Vec::new();
    for answer in answers {
        match answer {
            Ok(answer) if expected.contains(&answer.status) => statuses.push(answer.status),
            Ok(answer) => {
                let message = format!("came through: {what} (status {})", answer.status);
                return Finding::broken(AREA, message, fix);
            }
            Err(error) => {
                let message = format!("could not be tried: {what} ({error})");
                return Finding::broken(AREA, message, "check whether `aethon-server` still answers");
            }
        }
    }
    statuses.sort_unstable();
    statuses.dedup();
    let words: Vec<String> = statuses
        .iter()
        .map(|status| if *status == 0 { "closed".to_owned() } else { status.to_string() })
        .collect();
    held(what, words.join(", "))
}
