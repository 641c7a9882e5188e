//! Secrets that the owner wrote into the arguments of a program, after an option that says so: `--token VALUE`, `--api-key=VALUE`,
//! `GITHUB_TOKEN=VALUE`, `Authorization: Bearer VALUE`. They are hidden wherever other secrets are.

use aethon_core::secret::Secret;

use crate::schema::Config;

/// How the name of an option ends whose value is a secret.
const NAMES: [&str; 9] =
    ["token", "secret", "password", "passwd", "passphrase", "apikey", "api-key", "api_key", "access-key"];

/// A shorter value is a word such as `stdin`, and hiding it everywhere would hide ordinary text.
const MIN_LEN: usize = 8;

/// Returns the secrets in the arguments of all programs.
pub(crate) fn secrets(config: &Config) -> Vec<Secret> {
    let mcp = config.mcp.servers.values().map(|server| &server.args);
    let all = mcp.chain(config.lsp.servers.values().map(|server| &server.args));
    all.flat_map(|args| found(args)).map(Secret::new).collect()
}

fn found(args: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut previous = "";
    for arg in args {
        if let Some((name, value)) = arg.split_once('=')
            && is_secret(name)
        {
            found.push(value);
        } else if let Some((name, value)) = arg.split_once(':')
            && (is_secret(name) || name.trim().to_ascii_lowercase().ends_with("authorization"))
        {
            // The scheme, such as `Bearer`, is no secret.
            found.extend(value.split_whitespace().next_back());
        } else if previous.starts_with('-') && !arg.starts_with('-') && is_secret(previous) {
            found.push(arg);
        }
        previous = arg;
    }
    // A path leads to a secret, and a reference names one.
    found.retain(|value| value.len() >= MIN_LEN && !value.starts_with(['/', '.', '~', '$']));
    found
}

fn is_secret(name: &str) -> bool {
    let name = name.trim().to_ascii_lowercase();
    NAMES.iter().any(|ending| name.ends_with(ending)) || name.trim_start_matches('-') == "key"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_secret_options_are_secrets() {
        let check = |args: &[&str], expected: &[&str]| {
            let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
            assert_eq!(found(&args), expected, "{args:?}");
        };
        check(&["--token", "s3cret-value"], &["s3cret-value"]);
        check(
            &["-y", "server", "--api-key=s3cret-value", "--key", "another-one"],
            &["s3cret-value", "another-one"],
        );
        check(&["-e", "GITHUB_TOKEN=s3cret-value"], &["s3cret-value"]);
        check(&["--header", "Authorization: Bearer s3cret-value"], &["s3cret-value"]);
        check(&["--header", "X-Api-Key:s3cret-value"], &["s3cret-value"]);
        check(&["-y", "@scope/server-token", "/home/of/somebody"], &[]);
        check(
            &["--token-file", "/run/a-token-file", "--token", "/run/a-token-file", "--token", "--verbose"],
            &[],
        );
        check(&["--token", "stdin", "--max-tokens", "100000000"], &[]);
    }
}
