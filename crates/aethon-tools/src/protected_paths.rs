//! Places where people keep credentials and secrets: keys, tokens, password stores, wallets, browser profiles,
//! histories.
//!
//! The list is data, one table, so that it is easy to read and a new place is one line. The owner adds to it with
//! `security.blocked_paths` and removes from it with `security.allowed_paths`. It is used twice: by the blocklist of
//! the file tools, and by the kernel walls around commands.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::options::Options;

/// Places relative to the person's home directory. A directory includes everything below it.
const HOME_PATHS: &[&str] = &[
    // Keys and sign-in credentials
    ".ssh",
    ".gnupg",
    ".pki",
    ".netrc",
    "_netrc",
    ".authinfo",
    ".authinfo.gpg",
    ".git-credentials",
    ".config/git/credentials",
    ".config/git-credential-manager",
    ".gcm",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/tea",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".config/msmtp",
    ".msmtprc",
    ".mbsyncrc",
    ".config/sops",
    ".config/age",
    // Clouds and deployment tools
    ".aws",
    ".azure",
    ".config/azure",
    ".config/gcloud",
    ".boto",
    ".s3cfg",
    ".config/rclone",
    ".config/doctl",
    ".config/heroku",
    ".config/fly",
    ".fly",
    ".config/vercel",
    ".vercel",
    ".local/share/com.vercel.cli",
    ".config/netlify",
    ".netlify",
    ".wrangler",
    ".config/.wrangler",
    ".railway",
    ".config/hcloud",
    ".config/linode-cli",
    ".config/scw",
    ".oci",
    ".vault-token",
    ".terraformrc",
    ".terraform.d",
    ".pulumi",
    ".kube",
    ".docker",
    ".config/containers/auth.json",
    ".config/helm",
    // Package registries
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".gem/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet/NuGet.Config",
    // Assistants and models
    ".claude",
    ".claude.json",
    ".codex",
    ".gemini",
    ".config/openai",
    ".config/anthropic",
    ".config/github-copilot",
    ".copilot",
    ".cursor",
    ".continue",
    ".aider.conf.yml",
    ".huggingface",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".kaggle",
    ".config/kaggle",
    // Password stores
    ".password-store",
    ".local/share/password-store",
    ".local/share/gopass",
    ".config/gopass",
    ".config/keepassxc",
    ".keepassx",
    ".config/KeePass",
    ".local/share/keyrings",
    ".gnome2/keyrings",
    ".local/share/kwalletd",
    ".kde/share/apps/kwallet",
    ".kde4/share/apps/kwallet",
    ".config/op",
    ".op",
    ".config/1Password",
    ".config/Bitwarden",
    ".config/Bitwarden CLI",
    ".config/rbw",
    ".local/share/rbw",
    ".config/Enpass",
    ".config/Dashlane",
    ".config/Authy Desktop",
    "snap/bitwarden",
    "snap/1password",
    "snap/keepassxc",
    ".var/app/com.bitwarden.desktop",
    ".var/app/com.onepassword.OnePassword",
    ".var/app/org.keepassxc.KeePassXC",
    // Wallets
    ".bitcoin",
    ".litecoin",
    ".dogecoin",
    ".dashcore",
    ".zcash",
    ".monero",
    "Monero",
    ".bitmonero",
    ".ethereum",
    ".foundry/keystores",
    ".config/solana",
    ".electrum",
    ".electrum-ltc",
    ".config/Exodus",
    ".config/atomic",
    ".config/Ledger Live",
    ".config/@trezor",
    ".sparrow",
    ".walletwasabi",
    ".cardano",
    ".near-credentials",
    // Browsers and mail, also as snap and flatpak
    ".mozilla",
    ".config/mozilla",
    ".librewolf",
    ".waterfox",
    ".thunderbird",
    ".config/google-chrome",
    ".config/google-chrome-beta",
    ".config/google-chrome-unstable",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/microsoft-edge-beta",
    ".config/microsoft-edge-dev",
    ".config/vivaldi",
    ".config/vivaldi-snapshot",
    ".config/opera",
    ".config/opera-beta",
    ".config/epiphany",
    ".local/share/epiphany",
    ".config/falkon",
    ".config/qutebrowser",
    ".local/share/qutebrowser",
    "snap/firefox",
    "snap/thunderbird",
    "snap/chromium",
    "snap/brave",
    "snap/opera",
    "snap/microsoft-edge",
    "snap/vivaldi",
    ".var/app/org.mozilla.firefox",
    ".var/app/org.mozilla.Thunderbird",
    ".var/app/io.gitlab.librewolf-community",
    ".var/app/com.google.Chrome",
    ".var/app/org.chromium.Chromium",
    ".var/app/com.brave.Browser",
    ".var/app/com.microsoft.Edge",
    ".var/app/com.vivaldi.Vivaldi",
    ".var/app/com.opera.Opera",
    // Messengers
    ".config/Signal",
    ".config/Slack",
    ".config/discord",
    ".local/share/TelegramDesktop",
    ".var/app/org.signal.Signal",
    ".var/app/org.telegram.desktop",
    // Histories and editor state
    ".bash_history",
    ".zsh_history",
    ".zhistory",
    ".history",
    ".sh_history",
    ".config/fish/fish_history",
    ".local/share/fish/fish_history",
    ".local/share/nushell/history.txt",
    ".config/nushell/history.txt",
    ".local/share/atuin",
    ".lesshst",
    ".viminfo",
    // The same on macOS
    "Library/Keychains",
    "Library/Cookies",
    "Library/Safari",
    "Library/Messages",
    "Library/Application Support/Firefox",
    "Library/Application Support/Google/Chrome",
    "Library/Application Support/Chromium",
    "Library/Application Support/BraveSoftware",
    "Library/Application Support/Microsoft Edge",
    "Library/Application Support/Vivaldi",
    "Library/Application Support/com.operasoftware.Opera",
    "Library/Application Support/1Password",
    "Library/Application Support/Bitwarden",
    "Library/Application Support/KeePassXC",
    "Library/Application Support/Bitcoin",
    "Library/Application Support/Exodus",
    "Library/Application Support/Signal",
    "Library/Group Containers/2BUA8C4S2C.com.1password",
    "Library/Containers/com.apple.Safari",
    "Library/Containers/com.bitwarden.desktop",
];

/// Names that mark a file as secret anywhere outside the workspace; `*` matches anything.
const NAMES: &[&str] = &[
    ".env*",
    "*.pem",
    "*.ppk",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdb",
    "*.kdbx",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_xmss*",
    "*.agekey",
    "wallet.dat",
];

/// The table combined with the owner's settings.
#[derive(Debug)]
pub(crate) struct ProtectedPaths {
    home: Option<PathBuf>,
    workspace: PathBuf,
    paths: Vec<PathBuf>,
    blocked: Vec<PathRule>,
    allowed: Vec<PathRule>,
}

/// An entry from the owner's settings: a place with everything below it, or a name in any directory.
#[derive(Debug)]
enum PathRule {
    Path(PathBuf),
    Name(String),
}

impl PathRule {
    /// Parses an entry: `~/...` is below the home directory, `/...` is absolute; anything else is a name.
    fn parse(text: &str, home: Option<&Path>) -> Option<Self> {
        let text = text.trim();
        let below = |rest: &str| home.map(|home| Self::Path(home.join(rest)));
        match text.strip_prefix('~') {
            Some("") => below(""),
            Some(rest) if rest.starts_with('/') => below(rest.trim_matches('/')),
            _ if text.starts_with('/') => Some(Self::Path(PathBuf::from(text))),
            _ if text.is_empty() => None,
            _ => Some(Self::Name(text.to_owned())),
        }
    }
}

impl ProtectedPaths {
    /// Builds the list for this home directory, which must be a real path.
    pub(crate) fn new(home: Option<&Path>, options: &Options) -> Self {
        let entries = |texts: &[String]| {
            texts.iter().filter_map(|text| PathRule::parse(text, home)).collect::<Vec<_>>()
        };
        let workspace = options.workspace.canonicalize().unwrap_or_else(|_| options.workspace.clone());
        let mut list = Self {
            home: home.map(Path::to_path_buf),
            workspace,
            paths: Vec::new(),
            blocked: entries(&options.blocked_paths),
            allowed: entries(&options.allowed_paths),
        };
        let owners = list.blocked.iter().filter_map(|entry| match entry {
            PathRule::Path(place) => Some(place.clone()),
            PathRule::Name(_) => None,
        });
        let table = home.iter().flat_map(|home| HOME_PATHS.iter().map(|name| home.join(name)));
        let open = |place: &PathBuf| {
            let is_within =
                |entry: &PathRule| matches!(entry, PathRule::Path(allowed) if is_within(place, allowed));
            list.allowed.iter().any(is_within)
        };
        let paths: Vec<PathBuf> = table.chain(owners).filter(|place| !open(place)).collect();
        list.paths = paths;
        list
    }

    /// Returns the closed places, whether they exist or not.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Returns the places that the owner has opened.
    pub(crate) fn allowed(&self) -> impl Iterator<Item = &Path> {
        self.allowed.iter().filter_map(|entry| match entry {
            PathRule::Path(place) => Some(place.as_path()),
            PathRule::Name(_) => None,
        })
    }

    /// Returns whether a path is closed by its name. A place that the owner allows is open with everything in it; a
    /// name that the owner allows no longer marks a file as secret, but does not open a closed place.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let (mut is_open, mut is_open_name) = (false, false);
        // The person did not choose the names above the home directory.
        let below = self.home.as_deref().and_then(|home| path.strip_prefix(home).ok()).unwrap_or(path);
        for entry in &self.allowed {
            match entry {
                PathRule::Path(place) => is_open |= is_within(path, place),
                PathRule::Name(pattern) => is_open_name |= has_name_like(below, pattern),
            }
        }
        if is_open {
            return false;
        }
        let is_blocked = |entry: &PathRule| match entry {
            PathRule::Path(place) => is_within(path, place),
            PathRule::Name(pattern) => has_name_like(below, pattern),
        };
        if self.paths.iter().any(|place| is_within(path, place)) || self.blocked.iter().any(is_blocked) {
            return true;
        }
        // An empty workspace path would contain everything.
        let has_workspace = !self.workspace.as_os_str().is_empty();
        let is_open = is_open_name || has_workspace && is_within(path, &self.workspace);
        !is_open && (self.is_history(path) || NAMES.iter().any(|pattern| has_name_like(below, pattern)))
    }

    /// Returns whether it is a history of a shell or another program: `.python_history`, `.psql_history` and so on.
    fn is_history(&self, path: &Path) -> bool {
        let in_home = self.home.as_deref().is_some_and(|home| path.parent() == Some(home));
        in_home && [".*_history", ".*_hist"].iter().any(|pattern| is_like(file_name(path), pattern))
    }
}

/// Returns whether a path is the place or below it, ignoring case: even on a case-sensitive disk the other spelling is
/// hardly ever something worth reading.
pub(crate) fn is_within(path: &Path, place: &Path) -> bool {
    let mut parts = path.components();
    place
        .components()
        .all(|wanted| parts.next().is_some_and(|part| is_same_name(part.as_os_str(), wanted.as_os_str())))
}

/// Returns whether two names may be the same on a case-insensitive disk. Names that are not UTF-8 are compared as
/// bytes.
fn is_same_name(one: &OsStr, other: &OsStr) -> bool {
    if one.is_ascii() && other.is_ascii() {
        return one.eq_ignore_ascii_case(other);
    }
    match (one.to_str(), other.to_str()) {
        (Some(one), Some(other)) => folded(one) == folded(other),
        _ => one == other,
    }
}

/// Folds the case of a name. Goes through upper case, as file systems do, so that `ſ` equals `s` and the kelvin sign
/// equals `k`. Does not unify composed and decomposed accents: where they are the same name, the file is recognized by
/// what the path resolves to, and on Linux they are two names.
pub(crate) fn folded(name: &str) -> String {
    name.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

/// Returns whether the file, or a directory above it, has a name that matches the pattern.
fn has_name_like(path: &Path, pattern: &str) -> bool {
    path.components().any(|part| part.as_os_str().to_str().is_some_and(|name| is_like(name, pattern)))
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Matches a name against a pattern, ignoring case. Each `*` takes its first match, which makes it linear per `*`.
fn is_like(name: &str, pattern: &str) -> bool {
    let (name, pattern) = (folded(name), folded(pattern));
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected_paths(blocked: &[&str], allowed: &[&str]) -> ProtectedPaths {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let options = Options {
            workspace: "/home/ada/.aethon/workspace".into(),
            blocked_paths: texts(blocked),
            allowed_paths: texts(allowed),
            ..Options::default()
        };
        ProtectedPaths::new(Some(Path::new("/home/ada")), &options)
    }

    #[test]
    fn places_and_names_are_closed_in_any_case_and_open_in_the_workspace() {
        let list = protected_paths(&[], &[]);
        let check = |path: &str, expected: bool| assert_eq!(list.has(Path::new(path)), expected, "{path}");
        for closed in [
            ".env",
            ".ENV",
            "project/.env.local",
            "project/.envrc",
            ".claude/x.json",
            ".codex/auth.json",
            ".config/gh/hosts.yml",
            ".huggingface/token",
            ".docker/config.json",
            ".kube/config",
            ".NETRC",
            ".password-store/bank.gpg",
            "secrets/main.kdbx",
            "snap/firefox/common/x",
            ".var/app/org.mozilla.firefox/cookies.sqlite",
            "keys/server.PEM",
            "backup/id_rsa",
            "backup/id_ed25519_work",
            ".bitcoin/wallet",
            "old/wallet.dat",
            ".python_history",
            ".config/Bitwarden CLI/data.json",
            "Library/Application Support/Google/Chrome/Default/Cookies",
        ] {
            check(&format!("/home/ada/{closed}"), true);
        }
        for open in [
            "notes.md",
            "environment.md",
            "project/env.txt",
            "project/id_mapping.py",
            "pem.txt",
            ".config/ghost",
            "src/wallet.rs",
            ".sshrc",
            ".aethon/workspace/.env",
            ".aethon/workspace/keys/server.pem",
            "history.md",
        ] {
            check(&format!("/home/ada/{open}"), false);
        }
    }

    #[test]
    fn the_owner_adds_and_takes_away() {
        let list =
            protected_paths(&["~/diary", "*.tax", "/srv/keys"], &["~/.ssh", "*.pem", "~/project/.env"]);
        let check = |path: &str, expected: bool| assert_eq!(list.has(Path::new(path)), expected, "{path}");
        check("/home/ada/diary/may.md", true);
        check("/home/ada/2025.TAX", true);
        check("/home/ada/.aethon/workspace/2025.tax", true);
        check("/srv/keys/a", true);
        check("/home/ada/.ssh/config", false);
        check("/home/ada/server.pem", false);
        check("/home/ada/project/.env", false);
        check("/home/ada/other/.env", true);
        assert!(!list.paths().contains(&PathBuf::from("/home/ada/.ssh")));
        assert!(list.paths().contains(&PathBuf::from("/home/ada/diary")));
    }

    #[test]
    fn a_pattern_matches_as_a_shell_s_would() {
        let check = |name: &str, pattern: &str, expected: bool| {
            assert_eq!(is_like(name, pattern), expected, "{name} {pattern}");
        };
        check("a.pem", "*.pem", true);
        check("a.pem.txt", "*.pem", false);
        check("pem", "*.pem", false);
        check("axbxc", "a*b*c", true);
        check("ab", "a*b*c", false);
        check("aba", "ab*ba", false);
        check("same", "same", true);
        check("samer", "same", false);
    }
}
