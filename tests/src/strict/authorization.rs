//! An authorization server, and an MCP server that wants its tokens, both as strict as the standards permit: PKCE is checked, a
//! code and a refresh token count once, redirects and resources are compared to the letter.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::stub::{Seen, Stub, failure};

/// What is wrong with an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Nothing.
    None,
    /// Its metadata is that of another issuer.
    OtherIssuer,
    /// It does not say that it knows PKCE.
    NoPkce,
    /// It wants secrets over plain http to another machine.
    PlainToken,
    /// The MCP server's metadata is that of another server.
    OtherResource,
    /// It promises to say who it is, and does not.
    Anonymous,
    /// It says that it is another.
    Impostor,
    /// Its metadata redirects to another host.
    Redirects,
    /// The person refuses.
    Refused,
    /// The MCP server names an authorization server inside the network.
    Inside,
}

/// What a server knows.
#[derive(Default)]
pub struct Records {
    /// Clients by id, with their redirect addresses.
    clients: BTreeMap<String, Vec<String>>,
    /// Codes that were given and not used, with what they are for.
    codes: BTreeMap<String, Code>,
    /// Valid access tokens with their scopes.
    pub access: BTreeMap<String, String>,
    /// Valid refresh tokens with their client and scopes.
    pub refresh: BTreeMap<String, (String, String)>,
    /// Every token that was ever given.
    pub given: Vec<String>,
    /// How often tokens were renewed.
    pub renewals: usize,
    /// The scopes of the last sign-in.
    pub asked_scope: String,
    /// What broke a rule.
    pub breaches: Vec<String>,
    /// How long access tokens live, in seconds.
    pub lifetime: u64,
}

#[derive(Clone)]
struct Code {
    client: String,
    challenge: String,
    redirect: String,
    resource: String,
    scope: String,
}

/// The pair of servers.
pub struct SignIn {
    /// The MCP server.
    pub tools: Stub,
    /// The authorization server.
    pub authority: Stub,
    records: Arc<Mutex<Records>>,
}

/// The secret of the client that is registered by hand, as `by-hand`.
pub const SECRET: &str = "secret/of+the client";

impl SignIn {
    /// Starts both.
    pub fn start(flaw: Flaw) -> Self {
        let records = Arc::new(Mutex::new(Records { lifetime: 3600, ..Records::default() }));
        let (known, at) = (records.clone(), Arc::new(Mutex::new(String::new())));
        let tools_at = at.clone();
        let authority = Stub::answering(move |seen| {
            let mut records = known.lock().unwrap_or_else(PoisonError::into_inner);
            let resource = tools_at.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Authority { flaw, resource, records: &mut records }.answer(seen)
        });
        let (known, issuer) = (records.clone(), format!("http://{}", authority.address));
        let tools = Stub::answering(move |seen| {
            let mut records = known.lock().unwrap_or_else(PoisonError::into_inner);
            tools(flaw, &issuer, &mut records, seen)
        });
        *at.lock().unwrap_or_else(PoisonError::into_inner) = format!("http://{}/mcp", tools.address);
        Self { tools, authority, records }
    }

    /// What they know.
    pub fn records(&self) -> MutexGuard<'_, Records> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The setting that names the MCP server, as `far`.
    pub fn setting(&self) -> String {
        format!("mcp.servers.far.url=\"http://{}/mcp\"", self.tools.address)
    }

    /// Registers a client by hand.
    pub fn register(&self, id: &str, redirect: String) {
        self.records().clients.insert(id.into(), vec![redirect]);
    }
}

/// Reads a query or a form.
pub fn fields(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                let digits = String::from_utf8(digits).unwrap_or_default();
                u8::from_str_radix(&digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap_or_default()
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

struct Authority<'r> {
    flaw: Flaw,
    resource: String,
    records: &'r mut Records,
}

impl Authority<'_> {
    fn answer(&mut self, seen: &Seen) -> Vec<u8> {
        let (method, target) = seen.line.split_once(' ').unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let issuer = format!("http://{}", seen.header("host").unwrap_or_default());
        match (method, path) {
            ("GET", "/.well-known/oauth-authorization-server") => self.metadata(&issuer),
            ("POST", "/register") => self.register(&seen.json()),
            ("GET", "/authorize") => self.authorize(&issuer, &fields(query)),
            ("POST", "/token") => self.token(seen),
            ("POST", "/revoke") => {
                let token = fields(&String::from_utf8_lossy(&seen.body)).remove("token").unwrap_or_default();
                self.records.access.remove(&token);
                self.records.refresh.remove(&token);
                failure("200 OK", "", "")
            }
            _ => failure("404 Not Found", "", "{}"),
        }
    }

    fn metadata(&self, issuer: &str) -> Vec<u8> {
        if self.flaw == Flaw::Redirects {
            return failure("302 Found", "Location: http://192.0.2.1/metadata\r\n", "");
        }
        let mut metadata = json!({
            "issuer": issuer,
            "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"),
            "registration_endpoint": format!("{issuer}/register"),
            "revocation_endpoint": format!("{issuer}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": true,
        });
        match self.flaw {
            Flaw::OtherIssuer => metadata["issuer"] = "https://evil.example".into(),
            Flaw::NoPkce => metadata["code_challenge_methods_supported"] = json!(["plain"]),
            Flaw::PlainToken => metadata["token_endpoint"] = "http://192.0.2.1/token".into(),
            _ => {}
        }
        failure("200 OK", "", &metadata.to_string())
    }

    fn register(&mut self, document: &Value) -> Vec<u8> {
        let redirects: Vec<String> =
            serde_json::from_value(document["redirect_uris"].clone()).unwrap_or_default();
        let is_right = redirects.iter().all(|redirect| redirect.starts_with("http://127.0.0.1:"))
            && redirects.len() == 1
            && document["grant_types"] == json!(["authorization_code", "refresh_token"])
            && document["token_endpoint_auth_method"] == "none";
        if !is_right {
            return self.breach("invalid_client_metadata", &format!("registration {document}"));
        }
        let id = format!("client-{}", self.records.clients.len() + 1);
        self.records.clients.insert(id.clone(), redirects);
        failure(
            "201 Created",
            "",
            &json!({"client_id": id, "token_endpoint_auth_method": "none"}).to_string(),
        )
    }

    fn authorize(&mut self, issuer: &str, asked: &BTreeMap<String, String>) -> Vec<u8> {
        let get = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let redirects = self.records.clients.get(&get("client_id")).cloned().unwrap_or_default();
        let is_right = redirects.contains(&get("redirect_uri"))
            && get("response_type") == "code"
            && get("code_challenge_method") == "S256"
            && get("code_challenge").len() == 43
            && get("state").len() >= 22
            && get("resource") == self.resource;
        if !is_right {
            return self.breach("invalid_request", &format!("authorization {asked:?}"));
        }
        let code = format!("code-{}-canary", self.records.given.len() + self.records.codes.len() + 1);
        self.records.asked_scope = get("scope");
        self.records.codes.insert(
            code.clone(),
            Code {
                client: get("client_id"),
                challenge: get("code_challenge"),
                redirect: get("redirect_uri"),
                resource: get("resource"),
                scope: get("scope"),
            },
        );
        let iss = match self.flaw {
            Flaw::Anonymous => String::new(),
            Flaw::Impostor => format!("&iss={}", encoded("https://evil.example")),
            _ => format!("&iss={}", encoded(issuer)),
        };
        let outcome =
            if self.flaw == Flaw::Refused { "error=access_denied".into() } else { format!("code={code}") };
        let state = encoded(&get("state"));
        let location = format!("Location: {}?{outcome}&state={state}{iss}\r\n", get("redirect_uri"));
        failure("302 Found", &location, "")
    }

    fn token(&mut self, seen: &Seen) -> Vec<u8> {
        let asked = fields(&String::from_utf8_lossy(&seen.body));
        let get = |name: &str| asked.get(name).cloned().unwrap_or_default();
        let Some(client) = proven(seen, &get("client_id")) else {
            return self.breach("invalid_client", "the client is not proven");
        };
        if seen.header("content-type") != Some("application/x-www-form-urlencoded")
            || get("resource") != self.resource
        {
            return self.breach("invalid_target", &format!("token {asked:?}"));
        }
        let scope = match &*get("grant_type") {
            "authorization_code" => {
                let Some(code) = self.records.codes.remove(&get("code")) else {
                    return self.breach("invalid_grant", "a code twice, or none");
                };
                let hashed = URL_SAFE_NO_PAD.encode(digest(&SHA256, get("code_verifier").as_bytes()));
                let is_right = code.challenge == hashed
                    && code.redirect == get("redirect_uri")
                    && code.resource == get("resource")
                    && code.client == client;
                if !is_right {
                    return self.breach("invalid_grant", "the verifier, redirect or client differs");
                }
                code.scope
            }
            "refresh_token" => match self.records.refresh.remove(&get("refresh_token")) {
                Some((owner, scope)) if owner == client => {
                    self.records.renewals += 1;
                    scope
                }
                // It may have been revoked, which is no breach.
                _ => return failure("400 Bad Request", "", "{\"error\":\"invalid_grant\"}"),
            },
            other => return self.breach("unsupported_grant_type", other),
        };
        let number = self.records.given.len();
        let (access, refresh) =
            (format!("access-{number}-canary-of-tokens"), format!("refresh-{number}-canary-of-tokens"));
        self.records.given.extend([access.clone(), refresh.clone()]);
        self.records.access.insert(access.clone(), scope.clone());
        self.records.refresh.insert(refresh.clone(), (client, scope.clone()));
        let answer = json!({"access_token": access, "token_type": "Bearer", "refresh_token": refresh,
            "expires_in": self.records.lifetime, "scope": scope});
        failure("200 OK", "Cache-Control: no-store\r\n", &answer.to_string())
    }

    fn breach(&mut self, code: &str, why: &str) -> Vec<u8> {
        self.records.breaches.push(why.to_owned());
        failure("400 Bad Request", "", &json!({"error": code}).to_string())
    }
}

/// Returns the client that asks, if it proves who it is.
fn proven(seen: &Seen, id: &str) -> Option<String> {
    let Some(basic) = seen.header("authorization").and_then(|value| value.strip_prefix("Basic ")) else {
        return (id != "by-hand").then(|| id.to_owned());
    };
    let pair = String::from_utf8(STANDARD.decode(basic).ok()?).ok()?;
    let (id, secret) = pair.split_once(':')?;
    (decoded(id) == "by-hand" && decoded(secret) == SECRET).then(|| decoded(id))
}

/// The MCP server: `echo` needs the scope `read`, `write` needs `write`.
fn tools(flaw: Flaw, issuer: &str, records: &mut Records, seen: &Seen) -> Vec<u8> {
    let (method, path) = seen.line.split_once(' ').unwrap_or_default();
    let own = format!("http://{}", seen.header("host").unwrap_or_default());
    let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
    if (method, path) == ("GET", "/.well-known/oauth-protected-resource/mcp") {
        let resource =
            if flaw == Flaw::OtherResource { "http://127.0.0.1:1/mcp".into() } else { format!("{own}/mcp") };
        let issuer = if flaw == Flaw::Inside { "https://192.168.7.7:8443" } else { issuer };
        let document = json!({"resource": resource, "authorization_servers": [issuer], "scopes_supported": ["read", "write"]});
        return failure("200 OK", "", &document.to_string());
    }
    if path != "/mcp" {
        return failure("404 Not Found", "", "{}");
    }
    let token = seen.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let Some(scope) = token.and_then(|token| records.access.get(token)) else {
        let header = format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\", scope=\"read\"\r\n");
        return failure("401 Unauthorized", &header, "{}");
    };
    if method != "POST" {
        return failure("405 Method Not Allowed", "", "");
    }
    let message = seen.json();
    if message["id"].is_null() {
        return failure("202 Accepted", "", "");
    }
    let tool = |name: &str| json!({"name": name, "description": name, "inputSchema": {"type": "object"}});
    let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (Some("initialize"), _) => json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "strict", "version": "1"}}),
        (Some("tools/list"), _) => json!({"tools": [tool("echo"), tool("write")]}),
        (Some("tools/call"), Some("write")) if !scope.split(' ').any(|scope| scope == "write") => {
            let header = format!(
                "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"write\", resource_metadata=\"{metadata}\"\r\n"
            );
            return failure("403 Forbidden", &header, "{}");
        }
        (Some("tools/call"), Some(name)) => {
            json!({"content": [{"type": "text", "text": format!("{name} {}", message["params"]["arguments"])}]})
        }
        _ => return failure("400 Bad Request", "", ""),
    };
    failure("200 OK", "", &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}).to_string())
}
