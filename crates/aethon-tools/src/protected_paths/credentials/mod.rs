//! The table of places where people keep credentials and secrets: keys, tokens, password stores, wallets, browser profiles,
//! histories. Data only: a new place is one line, in the list of its kind.
//!
//! Places are relative to a home directory. A directory includes everything below it.

mod programs;
mod services;

use programs::{BROWSERS, EDITORS, HISTORIES, MAC, MAIL, MESSENGERS, PASSWORDS, REMOTE, WALLETS};
use services::{ASSISTANTS, CLOUDS, KEYS, REGISTRIES, SERVERS};

/// Every list of places.
pub(super) const PLACES: [&[&str]; 14] = [
    KEYS, SERVERS, CLOUDS, REGISTRIES, ASSISTANTS, EDITORS, PASSWORDS, WALLETS, BROWSERS, MAIL, MESSENGERS,
    REMOTE, HISTORIES, MAC,
];

/// Names that mark a file as secret in any directory outside the workspace; `*` matches anything.
pub(super) const NAMES: &[&str] = &[
    // Settings of a deployment
    ".env*",
    "*.tfvars",
    "*.tfstate",
    "*.tfstate.backup",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    "secrets.json",
    ".htpasswd",
    "*.kubeconfig",
    "kubeconfig",
    "client_secret*.json",
    "service_account*.json",
    "service-account*.json",
    "application_default_credentials.json",
    // Private keys and their stores
    "*.pem",
    "*.ppk",
    "*.p8",
    "*.p12",
    "*.pfx",
    "*.pkcs12",
    "*.jks",
    "*.keystore",
    "*.agekey",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_xmss*",
    "secring.gpg",
    // Password databases and exports
    "*.kdb",
    "*.kdbx",
    "*.psafe3",
    "*.1pux",
    "*.agilekeychain",
    "*.opvault",
    "*.keychain",
    "*.keychain-db",
    "wallet.dat",
    // Private networks
    "*.ovpn",
    "*.nmconnection",
    // Login files of one program, wherever they were copied
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".pgpass",
    ".pypirc",
    ".dockercfg",
    ".smbcredentials*",
    ".vault-token",
    // Cookies and logins of browsers and editors
    "cookies.sqlite*",
    "cookies.txt",
    "key3.db",
    "key4.db",
    "logins.json",
    "signons.sqlite",
    "Login Data*",
    "state.vscdb*",
];
