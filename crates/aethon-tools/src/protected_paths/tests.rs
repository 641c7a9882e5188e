//! The tables and the owner's settings, path by path.

use std::path::{Path, PathBuf};

use aethon_core::turn::Trust;

use super::ProtectedPaths;
use crate::options::{Options, PlaceOptions};

fn protected_paths(blocked: &[&str], allowed: &[&str]) -> ProtectedPaths {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let options = Options {
        workspace: "/home/ada/.aethon/workspace".into(),
        user_home: Some("/home/ada".into()),
        places: PlaceOptions::default().with(|places| {
            places.blocked = texts(blocked);
            places.allowed = texts(allowed);
        }),
        ..Options::default()
    };
    ProtectedPaths::new(&options)
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
    let list = protected_paths(&["~/diary", "*.tax", "/srv/keys"], &["~/.ssh", "*.pem", "~/project/.env"]);
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
fn login_files_of_programs_are_closed() {
    let list = protected_paths(&[], &[]);
    for closed in [
        ".rclone.conf",
        ".config/ngrok/ngrok.yml",
        ".config/stripe/config.toml",
        ".smbcredentials",
        ".databrickscfg",
        ".supabase/access-token",
        ".config/pip/pip.conf",
        ".config/filezilla/sitemanager.xml",
        ".local/share/remmina/x.remmina",
        ".local/share/Bitwarden/data.json",
        ".openclaw/openclaw.json",
        ".zeroclaw/config.toml",
        ".config/goose/secrets.yaml",
        ".local/share/opencode/auth.json",
        ".config/Code/User/globalStorage/state.vscdb",
        ".config/Cursor/User/globalStorage/state.vscdb",
        "elsewhere/state.vscdb.backup",
        ".config/wireguard/wg0.conf",
        "Downloads/office.ovpn",
        ".vnc/passwd",
        ".jenkins/secrets/master.key",
        ".gitlab-runner/config.toml",
        ".dbt/profiles.yml",
        ".config/himalaya/config.toml",
        "backup/firefox/cookies.sqlite",
        "backup/firefox/logins.json",
        "chrome/Default/Login Data",
        "infra/prod.tfvars",
        "keys/AuthKey_1.p8",
    ] {
        assert!(list.has(&Path::new("/home/ada").join(closed)), "{closed}");
    }
    for open in ["infra/main.tf", "locales/en/auth.json", "talk.key", "src/cookies.rs", "Cookies.md"] {
        assert!(!list.has(&Path::new("/home/ada").join(open)), "{open}");
    }
}

#[test]
fn startup_places_are_closed_until_the_owner_opens_them() {
    let list = protected_paths(&[], &["~/.bashrc", "~/.config/nvim/lua/notes", "mise.toml", "~/open"]);
    let check = |path: &str, expected: bool| {
        let place = list.start_up_place_of(&Path::new("/home/ada").join(path), Trust::Owner);
        assert_eq!(place.is_some(), expected, "{path}: {place:?}");
    };
    for closed in [
        ".zshrc",
        ".ZSHRC",
        ".profile",
        ".config/autostart/x.desktop",
        ".config/systemd/user/x.service",
        ".config/nvim/init.lua",
        ".local/bin/ls",
        ".local/lib/python3.13/site-packages/usercustomize.py",
        ".cargo/config.toml",
        ".ssh/rc",
        "project/.envrc",
        "project/.vscode/tasks.json",
        "project/.husky/pre-commit",
        "project/.venv/lib/python3.13/site-packages/x.pth",
        "open/.vscode/tasks.json",
        "Library/LaunchAgents/x.plist",
    ] {
        check(closed, true);
    }
    for open in [
        ".bashrc",
        ".config/nvim/lua/notes/a.lua",
        "project/mise.toml",
        "project/.vscode/extensions.json",
        "project/main.py",
        "notes.md",
        ".cargo/registry/x",
        ".aethon/workspace/.vscode/tasks.json",
        ".aethon/workspace/.envrc",
    ] {
        check(open, false);
    }
}

#[test]
fn places_below_each_home_and_moved_places_are_closed() {
    let options = Options {
        user_home: Some("/srv/service".into()),
        places: PlaceOptions::default().with(|places| {
            places.account_home = Some("/home/ada".into());
            places.variables = vec![("XDG_CONFIG_HOME".into(), "/data/config".into())];
        }),
        ..Options::default()
    };
    let list = ProtectedPaths::new(&options);
    for closed in ["/srv/service/.ssh/id", "/home/ada/.ssh/id", "/data/config/gh/hosts.yml"] {
        assert!(list.has(Path::new(closed)), "{closed}");
    }
    for place in ["/srv/service/.bashrc", "/home/ada/.bashrc", "/data/config/autostart/x"] {
        assert!(list.start_up_place_of(Path::new(place), Trust::Owner).is_some(), "{place}");
    }
}

#[test]
fn folder_of_path_below_the_home_is_closed_for_writing() {
    let mut options = Options {
        workspace: "/home/ada/.aethon/workspace".into(),
        user_home: Some("/home/ada".into()),
        ..Options::default()
    };
    options.shell.path = Some("/home/ada/tools/bin:/home/ada:relative:/home/ada/.aethon".into());
    let list = ProtectedPaths::new(&options);
    let closed = |name: &str| list.programs().contains(&Path::new("/home/ada").join(name));
    assert_eq!(["tools/bin", "", ".aethon", ".local/share/pnpm"].map(closed), [true, false, false, true]);
    assert!(list.start_up_place_of(Path::new("/home/ada/tools/bin/ls"), Trust::Owner).is_some());
    // Shells find no programs below.
    assert!(list.start_up_place_of(Path::new("/home/ada/tools/bin/store/x"), Trust::Owner).is_none());
}

#[test]
fn names_with_a_host_or_version_and_moved_places_are_closed() {
    let options = Options {
        workspace: "/home/ada/.aethon/workspace".into(),
        user_home: Some("/home/ada".into()),
        places: PlaceOptions::default().with(|places| {
            places.variables = vec![
                ("ZDOTDIR".into(), "/data/zsh".into()),
                ("XDG_CACHE_HOME".into(), "/data/cache".into()),
                ("PYENV_ROOT".into(), "/data/pyenv".into()),
            ];
            places.allowed = vec!["~/.cache/p10k-mine.zsh".into()];
        }),
        ..Options::default()
    };
    let list = ProtectedPaths::new(&options);
    for closed in [
        "/home/ada/.zcompdump",
        "/home/ada/.zcompdump-host-5.9",
        "/home/ada/.zcompdump-host-5.9.zwc",
        "/home/ada/.zshrc.zwc",
        "/home/ada/.cache/p10k-dump-ada.zsh",
        "/home/ada/.cache/p10k-ada/prompt/x",
        "/data/zsh/.zcompdump-host",
        "/data/cache/p10k-x",
        "/data/pyenv/versions/3/bin/python",
        "/home/ada/miniconda3/bin/python",
        "/home/ada/.opam/default/bin/ocaml",
        "/home/ada/.virtualenvs/work/bin/activate",
        "/home/ada/.local/share/pnpm/node",
        "/home/ada/Documents/Vault/.obsidian/plugins/x/main.js",
    ] {
        assert!(list.start_up_place_of(Path::new(closed), Trust::Owner).is_some(), "{closed}");
    }
    for open in [
        "/home/ada/.cache/p10k-mine.zsh",
        "/home/ada/.cache/p10",
        "/home/ada/project/.zcompdump",
        "/home/ada/.local/share/pnpm/store/x",
        "/home/ada/Documents/Vault/.obsidian/workspace.json",
    ] {
        assert_eq!(list.start_up_place_of(Path::new(open), Trust::Owner), None, "{open}");
    }
}

#[test]
fn workspace_projects_are_closed_to_strangers_until_opened() {
    let list = protected_paths(&[], &["~/.aethon/workspace/mine", ".envrc"]);
    let of = |path: &str, trust: Trust| {
        list.start_up_place_of(&Path::new("/home/ada/.aethon/workspace").join(path), trust).is_some()
    };
    for closed in
        ["p/.vscode/tasks.json", "p/.vscode/x", "p/.git/hooks/x", "p/.husky/x", ".mcp.json", "a/b/.idea/x"]
    {
        assert_eq!(
            [Trust::Owner, Trust::Outside, Trust::Guest].map(|it| of(closed, it)),
            [false, true, true],
            "{closed}"
        );
    }
    for open in ["p/main.rs", "p/.envrc", "mine/.git/hooks/x", "p/git", "p/.gitignore"] {
        assert!(!of(open, Trust::Outside), "{open}");
    }
    let places = |folder: &str, entries: &[&str]| {
        let entries: Vec<String> = entries.iter().map(|&name| name.to_owned()).collect();
        let places = list.places_in_project(&Path::new("/home/ada").join(folder), &entries);
        let below = |place: &PathBuf| place.strip_prefix("/home/ada").unwrap().display().to_string();
        places.iter().map(below).collect::<Vec<_>>()
    };
    assert_eq!(
        places(".aethon/workspace/p", &[".git", ".obsidian"]).join(" "),
        ".aethon/workspace/p/.aethon-closed .aethon/workspace/p/.obsidian/plugins .aethon/workspace/p/.obsidian/community-plugins.json .aethon/workspace/p/.git"
    );
    assert_eq!(places(".aethon/workspace/mine", &[".git"]), [""; 0]);
    assert_eq!(places("p", &[".git"]), ["p/.aethon-closed", "p/.git"]);
}

#[test]
fn a_link_to_what_is_not_there_yet_closes_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap();
    std::fs::create_dir(home.join("dotfiles")).unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, home.join(name)).unwrap();
    link("dotfiles/zprofile", ".zprofile");
    link("missing/folder/zlogin", ".zlogin");
    link("dotfiles/first", ".zshrc");
    std::os::unix::fs::symlink("../second", home.join("dotfiles/first")).unwrap();
    link(".bash_aliases", ".bash_aliases");
    let options = Options {
        workspace: home.join(".aethon/workspace"),
        user_home: Some(home.clone()),
        ..Options::default()
    };
    let list = ProtectedPaths::new(&options);
    for closed in ["dotfiles/zprofile", "missing/folder/zlogin", "second", ".bash_aliases"] {
        assert!(list.start_up_place_of(&home.join(closed), Trust::Owner).is_some(), "{closed}");
    }
    assert!(list.start_up_place_of(&home.join("dotfiles/notes"), Trust::Owner).is_none());
}
