//! Environment variables by which people move the places of a home elsewhere. The places are closed there, too.

use std::path::{Path, PathBuf};

/// Each variable, and the place below the home that it moves.
const MOVED: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("GNUPGHOME", ".gnupg"),
    ("PASSWORD_STORE_DIR", ".password-store"),
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("IPYTHONDIR", ".ipython"),
    ("JUPYTER_CONFIG_DIR", ".jupyter"),
    ("NPM_CONFIG_USERCONFIG", ".npmrc"),
    ("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
    ("PYTHONSTARTUP", ".pythonstartup"),
    ("PYTHONUSERBASE", ".local"),
    ("ZDOTDIR", ""),
    ("BASH_ENV", ".bashrc"),
    ("ENV", ".shrc"),
    ("INPUTRC", ".inputrc"),
    ("GIT_CONFIG_GLOBAL", ".gitconfig"),
    ("NETRC", ".netrc"),
    ("PGPASSFILE", ".pgpass"),
    ("KUBECONFIG", ".kube"),
    ("DOCKER_CONFIG", ".docker"),
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws"),
    ("AWS_CONFIG_FILE", ".aws"),
    ("AZURE_CONFIG_DIR", ".azure"),
    ("CLOUDSDK_CONFIG", ".config/gcloud"),
    ("GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud"),
    ("GH_CONFIG_DIR", ".config/gh"),
    ("RCLONE_CONFIG", ".config/rclone"),
    ("TF_CLI_CONFIG_FILE", ".terraformrc"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("HISTFILE", ".bash_history"),
    ("ZSH", ".oh-my-zsh"),
    ("OSH", ".oh-my-bash"),
    ("ZSH_COMPDUMP", ".zcompdump"),
    ("ZPLUG_HOME", ".zplug"),
    ("ZIM_HOME", ".zim"),
    ("PYENV_ROOT", ".pyenv"),
    ("WORKON_HOME", ".virtualenvs"),
    ("CONDARC", ".condarc"),
    ("MAMBA_ROOT_PREFIX", "micromamba"),
    ("RBENV_ROOT", ".rbenv"),
    ("NVM_DIR", ".nvm"),
    ("FNM_DIR", ".local/share/fnm"),
    ("VOLTA_HOME", ".volta"),
    ("PNPM_HOME", ".local/share/pnpm"),
    ("BUN_INSTALL", ".bun"),
    ("DENO_INSTALL", ".deno"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("MISE_CONFIG_DIR", ".config/mise"),
    ("SDKMAN_DIR", ".sdkman"),
    ("OPAMROOT", ".opam"),
    ("GOPATH", "go"),
    ("GEM_HOME", ".gem"),
];

/// Names of the variables that move places.
pub fn place_variables() -> impl Iterator<Item = &'static str> {
    MOVED.iter().map(|(name, _)| *name)
}

/// Returns where these variables move a place of a home.
pub(super) fn moved<'v>(
    variables: &'v [(String, String)],
    place: &'v str,
) -> impl Iterator<Item = PathBuf> + 'v {
    MOVED.iter().filter_map(move |(name, moved)| {
        let (_, value) = variables.iter().find(|(known, value)| known == name && !value.is_empty())?;
        let rest = Path::new(place).strip_prefix(moved).ok()?;
        // A list, as of `KUBECONFIG`, is left to the list of its names.
        let target = Path::new(value);
        // The whole home is moved for shells only, whose files begin with a dot and lie directly in it.
        let is_meant = !moved.is_empty() || place.starts_with(".z") && !place.contains('/');
        let target = if rest.as_os_str().is_empty() { target.to_path_buf() } else { target.join(rest) };
        (is_meant && target.is_absolute()).then_some(target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_move_with_the_variables_that_programs_obey() {
        let variables = [
            ("XDG_CONFIG_HOME", "/srv/config"),
            ("GNUPGHOME", "/srv/keys"),
            ("ZDOTDIR", "/srv/zsh"),
            ("CARGO_HOME", ""),
            ("PGPASSFILE", "relative"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for (place, expected) in [
            (".config/gh", Some("/srv/config/gh")),
            (".gnupg", Some("/srv/keys")),
            (".zshrc", Some("/srv/zsh/.zshrc")),
            (".zsh/x", None),
            (".ssh", None),
            (".cargo/bin", None),
            (".pgpass", None),
        ] {
            let found: Vec<PathBuf> = moved(&variables, place).collect();
            assert_eq!(found, expected.map(PathBuf::from).into_iter().collect::<Vec<_>>(), "{place}");
        }
    }
}
