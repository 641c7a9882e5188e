//! Builds the language servers from `[lsp]`.

use std::sync::Arc;
use std::time::Duration;

use aethon_core::sandbox::Sandbox;
use aethon_tools::{ConfinedPrograms, LanguageServer, LanguageServers, LspOptions};

use crate::prepared::Prepared;

/// The default servers, by file extension.
const USUAL: [(&str, &str, &[&str], &[&str]); 5] = [
    ("rust", "rust-analyzer", &[], &["rs"]),
    ("python", "pyright-langserver", &["--stdio"], &["py", "pyi"]),
    (
        "typescript",
        "typescript-language-server",
        &["--stdio"],
        &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"],
    ),
    ("go", "gopls", &[], &["go"]),
    ("c", "clangd", &[], &["c", "h", "cc", "cpp", "cxx", "hpp", "hh"]),
];

/// The configured language servers. Some execute project files such as build scripts, which the model can write; so there are
/// none if commands need approval and no sandbox contains them, nor in an assistant that another one started.
pub(crate) fn servers(prepared: &Prepared) -> Option<Arc<LanguageServers>> {
    let config = &prepared.config.lsp;
    let may_run = super::verification::may_detect(&prepared.config) && !prepared.flags.is_nested;
    if !config.enabled || !may_run {
        return None;
    }
    let own = config.servers.iter().map(|(name, server)| LanguageServer {
        name: name.clone(),
        command: server.command.clone(),
        args: server.args.clone(),
        environment: server.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        extensions: server.extensions.iter().map(|it| it.trim_start_matches('.').to_lowercase()).collect(),
    });
    let usual = USUAL.iter().map(|(name, command, args, extensions)| LanguageServer {
        name: (*name).to_owned(),
        command: (*command).to_owned(),
        args: args.iter().map(|arg| (*arg).to_owned()).collect(),
        environment: Vec::new(),
        extensions: extensions.iter().map(|ending| (*ending).to_owned()).collect(),
    });
    let named = |server: &LanguageServer| config.servers.contains_key(&server.name);
    let servers = own.chain(usual.filter(|server| !named(server))).collect();
    let options = LspOptions {
        timeout: Duration::from_secs(config.timeout_seconds),
        servers,
        workspace_only: prepared.config.security.sandbox == Sandbox::Docker,
    };
    let tools = super::tool_options::options(prepared);
    let programs = Arc::new(ConfinedPrograms::new(&tools, &prepared.flags.locale));
    Some(Arc::new(LanguageServers::new(options, programs, &tools)))
}
