//! Start-up places: files that a program runs or obeys at its next start are not written by a turn, whatever its tool, its
//! sandbox and its origin (docs/reach.md).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aethon_tests::server::{program, server_command};
use aethon_tests::socket::of_type;
use aethon_tests::{Server, Socket, run};
use serde_json::{Value, json};
use tempfile::TempDir;

const EVIL: &str = "planted-by-an-injection";

/// Places below the home, in the order of the table.
const PLACES: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".config/fish/config.fish",
    ".config/fish/conf.d/x.fish",
    ".config/nushell/config.nu",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".config/elvish/rc.elv",
    ".xonshrc",
    ".config/powershell/profile.ps1",
    ".inputrc",
    ".pam_environment",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    ".Xresources",
    ".config/autostart/x.desktop",
    ".config/systemd/user/x.service",
    ".local/share/systemd/user/x.service",
    ".config/environment.d/x.conf",
    ".crontab",
    ".ssh/authorized_keys",
    ".ssh/config",
    ".ssh/rc",
    ".gitconfig",
    ".config/git/config",
    ".config/git/attributes",
    ".git-templates/hooks/pre-commit",
    ".config/Code/User/tasks.json",
    ".config/Code/User/settings.json",
    ".config/Cursor/User/settings.json",
    ".config/VSCodium/User/settings.json",
    ".vscode/extensions/x/package.json",
    ".config/zed/tasks.json",
    ".vimrc",
    ".vim/plugin/x.vim",
    ".config/nvim/init.lua",
    ".emacs.d/init.el",
    ".config/helix/config.toml",
    ".local/lib/python3.13/site-packages/usercustomize.py",
    ".local/lib/python3.13/site-packages/x.pth",
    ".config/pip/pip.conf",
    ".ipython/profile_default/startup/x.py",
    ".cargo/config.toml",
    ".cargo/bin/cargo",
    ".npmrc",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".gradle/init.d/x.gradle",
    ".m2/settings.xml",
    ".gemrc",
    ".irbrc",
    ".Rprofile",
    ".julia/config/startup.jl",
    ".ghci",
    ".gdbinit",
    ".psqlrc",
    ".sqliterc",
    ".local/bin/ls",
    "bin/ls",
    "tools/bin/ls",
    ".config/i3/config",
    ".config/sway/config",
    ".config/hypr/hyprland.conf",
    ".config/plasma-workspace/env/x.sh",
    ".local/share/applications/x.desktop",
    ".local/share/dbus-1/services/x.service",
    ".local/share/gnome-shell/extensions/x/extension.js",
    ".tmux.conf",
    ".screenrc",
    ".config/kitty/kitty.conf",
    ".config/alacritty/alacritty.toml",
    ".config/mpv/scripts/x.lua",
    ".lesskey",
    ".mailcap",
    ".procmailrc",
    ".forward",
    ".muttrc",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".mcp.json",
    ".config/containers/containers.conf",
    ".envrc",
    ".config/mise/config.toml",
    ".zcompdump",
    ".zcompdump-host-5.9",
    ".zshrc.zwc",
    ".cache/p10k-dump-ada.zsh",
    ".cache/p10k-instant-prompt-ada.zsh",
    ".cache/gitstatus/gitstatusd",
    ".cache/starship/init.zsh",
    ".oh-my-zsh/custom/x.zsh",
    ".zprezto/runcoms/zshrc",
    ".local/share/zinit/zinit.git/zinit.zsh",
    ".antidote/antidote.zsh",
    ".local/share/fisher/x.fish",
    ".oh-my-bash/oh-my-bash.sh",
    "miniconda3/bin/python",
    "anaconda3/etc/profile.d/conda.sh",
    "miniforge3/bin/activate",
    ".condarc",
    ".opam/default/bin/ocaml",
    ".virtualenvs/work/bin/activate",
    ".pyenv/versions/3.13/bin/python",
    ".rbenv/versions/3.4/bin/ruby",
    ".nvm/versions/node/v22/bin/node",
    ".asdf/asdf.sh",
    ".sdkman/candidates/java/current/bin/java",
    ".local/share/mise/installs/node/22/bin/node",
    ".rustup/toolchains/stable/bin/rustc",
    ".deno/bin/deno",
    ".bun/bin/bun",
    ".local/share/pnpm/pnpm",
    ".volta/tools/image/node/22/bin/node",
    ".nix-profile/bin/x",
    ".local/state/nix/profiles/profile",
    ".logseq/plugins/x/index.js",
    "Library/LaunchAgents/x.plist",
];

/// What tools of the trade write all the time.
const HARMLESS: &[&str] = &[
    "project/new.txt",
    "project/deep/er/new.txt",
    "project/.git/index.lock",
    ".cache/pip/x",
    ".cache/go-build/00/x",
    ".cargo/registry/cache/x",
    ".cargo/git/db/x",
    ".rust-analyzer/x",
    ".npm/_cacache/x",
    ".gradle/caches/x",
    ".m2/repository/x",
    ".julia/packages/x",
    "go/pkg/mod/x",
    "go/src/x",
    ".local/share/pnpm/store/x",
    ".local/share/uv/tools/x",
    ".local/state/app/x",
    ".config/app/settings",
    "tools/other/x",
    "Documents/letter.md",
    "Downloads/x.zip",
];

/// A person's home with an assistant's home in it, and the built program on it.
struct TestHome {
    server: Server,
    ada: PathBuf,
}

impl TestHome {
    /// With `existing`, every place exists; else only the directories above those of tools that have been used.
    fn new(existing: bool, settings: &[&str]) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let ada = folder.path().canonicalize().unwrap().join("ada");
        let usual = HARMLESS.iter().map(|name| (name, "before"));
        let places = PLACES.iter().filter(|_| existing).map(|name| (name, "mine"));
        for (name, text) in usual.chain(places) {
            let path = ada.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for folder in [".config", ".local/share", ".local/bin", "tools/bin"] {
            fs::create_dir_all(ada.join(folder)).unwrap();
        }
        Self { server: started(&folder, &ada, settings), ada }
    }

    /// Every place that has been written, or made.
    fn planted(&self) -> Vec<&'static str> {
        let is_planted = |name: &&&str| {
            fs::read(self.ada.join(name)).is_ok_and(|text| String::from_utf8_lossy(&text).contains(EVIL))
        };
        PLACES.iter().filter(is_planted).copied().collect()
    }
}

fn started(folder: &Arc<TempDir>, ada: &Path, settings: &[&str]) -> Server {
    let mut command = server_command(&ada.join(".aethon"), settings);
    command.env("HOME", ada).env("PATH", format!("/usr/bin:/bin:{}/tools/bin", ada.display()));
    Server::start_command(folder.clone(), command)
}

fn call(tool: &str, arguments: &Value) -> String {
    format!("!tool {tool} {arguments}")
}

fn in_chat(chat: &mut Socket, id: &str, text: &str) -> Value {
    let frames = chat.say(id, text);
    (*of_type(&frames, "tool").last().expect("a tool frame")).clone()
}

/// A command that tries each place in several ways.
fn attack(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let script = format!(
        "for it in {}; do\n\
         mkdir -p ~/\"$(dirname \"$it\")\"; echo {EVIL} > ~/\"$it\"; echo {EVIL} >> ~/\"$it\"\n\
         echo {EVIL} > mine; cp mine ~/\"$it\"; rm -f ~/\"$it\"; mv mine ~/\"$it\"\n\
         echo {EVIL} > mine; ln mine ~/\"$it\"; ln -s \"$PWD/mine\" ~/\"$it\"\n\
         mkdir -p made; echo {EVIL} > made/\"$(basename \"$it\")\"; mv -T ~/\"$(dirname \"$it\")\" ~/project/moved && mv made ~/\"$(dirname \"$it\")\"\n\
         done 2>/dev/null; echo tried",
        names.join(" ")
    );
    script
}

/// Whether this machine has the walls that stop commands.
fn has_walls(stage: &TestHome) -> bool {
    let mut doctor = program("aethon-cli", &stage.ada.join(".aethon"));
    let told = run(doctor.args(["--set", "model.provider=fake", "doctor", "--json"]), None);
    let told: Value = serde_json::from_slice(&told.stdout).expect("doctor tells JSON");
    let findings = told["findings"].as_array().expect("findings");
    let finding = findings.iter().find(|it| it["area"] == "self-protection").expect("a finding");
    !finding["message"].as_str().unwrap().contains("own files and memory")
}

#[test]
fn no_turn_writes_a_start_up_place_by_file_tools_or_commands() {
    for existing in [true, false] {
        for settings in [&[][..], &["security.sandbox=kernel"]] {
            let stage = TestHome::new(existing, settings);
            let is_sandboxed = !settings.is_empty();
            let workspace = stage.ada.join(".aethon/workspace");
            fs::create_dir_all(workspace.join("work")).unwrap();
            fs::write(workspace.join("work/attack.sh"), attack(PLACES)).unwrap();
            let mut chat = stage.server.chat("default");
            // In a sandbox, one rule refuses them all.
            let step = if is_sandboxed { 6 } else { 1 };
            for (number, name) in PLACES.iter().enumerate().step_by(step) {
                let write = call("file_write", &json!({"path": format!("~/{name}"), "content": EVIL}));
                let tool = in_chat(&mut chat, &format!("w{number}"), &write);
                assert_eq!(tool["state"], "denied", "{name}: {tool}");
                let words = tool["output"].as_str().unwrap();
                assert!(words.contains("security."), "the refusal names a key: {words}");
                if number % 8 == 0 {
                    stage.server.post("/webhook/trigger", &json!({ "text": write }));
                }
            }
            if is_sandboxed || has_walls(&stage) {
                let command = call("shell", &json!({"command": "cd work && bash attack.sh"}));
                let tool = in_chat(&mut chat, "s1", &command);
                assert!(tool["output"].as_str().unwrap().contains("tried"), "{tool}");
                stage.server.post("/webhook/trigger", &json!({ "text": command }));
            }
            let planted = stage.planted();
            assert!(planted.is_empty(), "existing: {existing}, {settings:?}: {planted:?}");
            if existing {
                for name in PLACES {
                    assert_eq!(fs::read_to_string(stage.ada.join(name)).unwrap(), "mine", "{name}");
                }
            }
        }
    }
}

#[test]
fn build_outputs_are_writable_and_start_up_places_readable() {
    let stage = TestHome::new(true, &[]);
    let mut chat = stage.server.chat("default");
    let names: Vec<String> = HARMLESS.iter().map(|name| format!("'{name}'")).collect();
    let command = format!(
        "for it in {}; do echo after > ~/\"$it\" && echo new > ~/\"$it.new\" && mv ~/\"$it.new\" ~/\"$it.moved\" \
         || echo \"refused: $it\"; done; cat ~/.bashrc ~/.config/nvim/init.lua ~/.local/bin/ls",
        names.join(" ")
    );
    let tool = in_chat(&mut chat, "m1", &call("shell", &json!({ "command": command })));
    let text = tool["output"].as_str().unwrap();
    assert!(!text.contains("refused") && text.contains("minemine"), "{text}");
    for name in HARMLESS {
        assert_eq!(fs::read_to_string(stage.ada.join(name)).unwrap(), "after\n", "{name}");
    }
    for (number, name) in
        ["project/by-tool.txt", "Documents/by-tool.md", ".config/app/more"].iter().enumerate()
    {
        let write = call("file_write", &json!({"path": format!("~/{name}"), "content": "fine"}));
        let tool = in_chat(&mut chat, &format!("f{number}"), &write);
        assert_eq!(tool["state"], "ok", "{name}: {tool}");
    }
    let git = "cd ~/project && rm -rf .git && git init -q . && git -c user.name=a -c user.email=a@b add -A && git -c \
               user.name=a -c user.email=a@b commit -qm first && git log --oneline | wc -l";
    let tool = in_chat(&mut chat, "m2", &call("shell", &json!({ "command": git })));
    assert!(tool["output"].as_str().unwrap().ends_with("1\n[exit status 0]"), "{tool}");
}

#[test]
fn start_up_place_opened_by_the_owner_is_listed_by_doctor() {
    let settings = ["security.allowed_paths=[\"~/.bashrc\", \"~/.config/nvim\"]"];
    let stage = TestHome::new(true, &settings);
    let mut chat = stage.server.chat("default");
    for (number, (name, state)) in
        [(".bashrc", "ok"), (".config/nvim/lua/new.lua", "ok"), (".profile", "denied")].iter().enumerate()
    {
        let write = call("file_write", &json!({"path": format!("~/{name}"), "content": "by the owner\n"}));
        let tool = in_chat(&mut chat, &format!("m{number}"), &write);
        assert_eq!(tool["state"], *state, "{name}: {tool}");
    }
    let command = "echo more >> ~/.bashrc && echo more > ~/.config/nvim/init.lua; echo more >> ~/.profile";
    in_chat(&mut chat, "s1", &call("shell", &json!({ "command": command })));
    assert_eq!(fs::read_to_string(stage.ada.join(".bashrc")).unwrap(), "by the owner\nmore\n");
    assert_eq!(fs::read_to_string(stage.ada.join(".config/nvim/init.lua")).unwrap(), "more\n");
    if has_walls(&stage) {
        assert_eq!(fs::read_to_string(stage.ada.join(".profile")).unwrap(), "mine");
    }
    let mut doctor = program("aethon-cli", &stage.ada.join(".aethon"));
    doctor.env("HOME", &stage.ada).args(["--set", settings[0], "doctor"]);
    let told = String::from_utf8_lossy(&run(&mut doctor, None).stdout).into_owned();
    assert!(told.contains("~/.bashrc, ~/.config/nvim"), "{told}");
}

#[test]
fn file_tools_beside_a_sandbox_write_in_the_workspace_only() {
    let stage = TestHome::new(true, &["security.sandbox=kernel"]);
    let workspace = stage.ada.join(".aethon/workspace");
    std::os::unix::fs::symlink(stage.ada.join("project"), workspace.join("link")).unwrap();
    let mut chat = stage.server.chat("default");
    for (number, (name, state)) in [
        ("~/project/x.txt", "denied"),
        ("link/x.txt", "denied"),
        ("link/new.txt", "denied"),
        ("notes/x.txt", "ok"),
    ]
    .iter()
    .enumerate()
    {
        let write = call("file_write", &json!({"path": name, "content": EVIL}));
        let tool = in_chat(&mut chat, &format!("w{number}"), &write);
        assert_eq!(tool["state"], *state, "{name}: {tool}");
        let words = tool["output"].as_str().unwrap();
        assert!(*state == "ok" || words.contains("security.sandbox"), "{words}");
    }
    let read = call("file_read", &json!({"path": "~/project/new.txt"}));
    assert!(in_chat(&mut chat, "r1", &read)["output"].as_str().unwrap().contains("before"));
}

#[test]
fn webhook_turn_cannot_change_the_assistant() {
    for settings in [&[][..], &["security.sandbox=kernel"]] {
        let stage = TestHome::new(false, settings);
        let workspace = stage.ada.join(".aethon/workspace");
        let shaping = [
            "SOUL.md",
            "TOOLS.md",
            "CONTEXT.md",
            "LEARNINGS.md",
            "sops/pdd.sop.md",
            "agents/evil.agent.md",
            "skills/x/SKILL.md",
        ];
        fs::write(workspace.join("SOUL.md"), "mine").unwrap();
        fs::create_dir_all(workspace.join("work")).unwrap();
        let webhook = |text: String| stage.server.post("/webhook/trigger", &json!({ "text": text }));
        for name in shaping {
            webhook(call("file_write", &json!({"path": name, "content": EVIL})));
            if !settings.is_empty() || has_walls(&stage) {
                let command = format!(
                    "mkdir -p $(dirname {name}); echo {EVIL} > {name}; echo ran > work/{}",
                    name.len()
                );
                let answer = webhook(call("shell", &json!({ "command": command })));
                let ran = workspace.join(format!("work/{}", name.len()));
                assert!(ran.exists(), "{name} with {settings:?}: {}", answer.text());
            }
            let text = fs::read_to_string(workspace.join(name)).unwrap_or_default();
            assert!(!text.contains(EVIL), "{name} with {settings:?}");
        }
        webhook(call("file_write", &json!({"path": "notes.md", "content": "harmless"})));
        assert_eq!(fs::read_to_string(workspace.join("notes.md")).unwrap(), "harmless");
        // The owner's own turn does.
        let mut chat = stage.server.chat("default");
        let write = call("file_write", &json!({"path": "sops/mine.sop.md", "content": "# Mine\n"}));
        assert_eq!(in_chat(&mut chat, "m1", &write)["state"], "ok");
    }
}

/// The files obeyed when a project of the workspace is opened or entered.
const OF_PROJECTS: &[&str] = &[
    "app/.git/hooks/pre-commit",
    "app/.git/config",
    "app/.envrc",
    "app/.husky/pre-commit",
    "app/.vscode/tasks.json",
    "app/.vscode/extensions.json",
    "app/.idea/workspace.xml",
    "app/.mcp.json",
    "app/.claude/settings.json",
    "app/mise.toml",
    "app/.venv/bin/activate",
    "app/packages/web/.vscode/tasks.json",
    "vault/.obsidian/plugins/x/main.js",
    ".envrc",
];

/// A command that tries each place in several ways, and then permitted changes.
fn attack_on_projects(names: &[&str]) -> String {
    format!(
        "for it in {}; do\n\
         mkdir -p \"$(dirname \"$it\")\"; echo {EVIL} > \"$it\"; echo {EVIL} >> \"$it\"\n\
         echo {EVIL} > work/mine; cp work/mine \"$it\"; rm -f \"$it\"; mv work/mine \"$it\"\n\
         echo {EVIL} > work/mine; ln work/mine \"$it\"; ln -s \"$PWD/work/mine\" \"$it\"\n\
         mkdir -p work/made; echo {EVIL} > work/made/\"$(basename \"$it\")\"\n\
         mv -T \"$(dirname \"$it\")\" work/away && mv work/made \"$(dirname \"$it\")\"\n\
         done 2>/dev/null\n\
         mv app work/app 2>/dev/null; mv app/.git work/git 2>/dev/null\n\
         echo fine > app/src/new.rs; echo fine > app/main.rs; echo fine > work/fine\n\
         echo {EVIL} > ~/project/.git/hooks/x; echo {EVIL} > ~/project/.envrc; echo tried",
        names.join(" ")
    )
}

#[test]
fn webhook_turn_cannot_change_project_configuration_and_owner_can() {
    for (existing, settings) in [
        (true, &[][..]),
        (false, &[]),
        (true, &["security.sandbox=kernel"]),
        (false, &["security.sandbox=kernel"]),
    ] {
        let stage = TestHome::new(false, settings);
        let workspace = stage.ada.join(".aethon/workspace");
        let usual = [
            "app/.git/HEAD",
            "app/main.rs",
            "app/src/main.rs",
            "app/packages/web/.vscode/x",
            "vault/.obsidian/x",
            "work/x",
        ];
        let places = OF_PROJECTS.iter().filter(|_| existing);
        for name in usual.iter().chain(places) {
            let path = workspace.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "mine").unwrap();
        }
        fs::create_dir_all(stage.ada.join("project/.git/hooks")).unwrap();
        let webhook = |text: String| stage.server.post("/webhook/trigger", &json!({ "text": text })).text();
        for name in OF_PROJECTS {
            webhook(call("file_write", &json!({"path": name, "content": EVIL})));
        }
        let walled = !settings.is_empty() || has_walls(&stage);
        if walled {
            fs::write(workspace.join("work/attack.sh"), attack_on_projects(OF_PROJECTS)).unwrap();
            let told = webhook(call("shell", &json!({"command": "bash work/attack.sh"})));
            assert!(told.contains("tried"), "{told}");
            for name in ["app/src/new.rs", "app/main.rs", "work/fine"] {
                assert_eq!(fs::read_to_string(workspace.join(name)).unwrap(), "fine\n", "{name}: {told}");
            }
        }
        for name in OF_PROJECTS {
            let text = fs::read_to_string(workspace.join(name)).unwrap_or_default();
            assert_eq!(text, if existing { "mine" } else { "" }, "{name}, {settings:?}");
        }
        for name in ["project/.git/hooks/x", "project/.envrc"] {
            assert!(!walled || !stage.ada.join(name).exists(), "{name}, {settings:?}");
        }
        // The owner works on projects as before.
        let mut chat = stage.server.chat("default");
        let command = "cd app && echo mine > .envrc && mkdir -p .husky .git/hooks && echo mine > .husky/x && echo mine > .git/hooks/x";
        let tool = in_chat(&mut chat, "m1", &call("shell", &json!({ "command": command })));
        assert!(tool["output"].as_str().unwrap().contains("exit status 0"), "{tool}");
        let write = call("file_write", &json!({"path": "app/.vscode/settings.json", "content": "{}"}));
        assert_eq!(in_chat(&mut chat, "m2", &write)["state"], "ok");
    }
}

#[test]
fn owner_opens_a_project_folder_to_turns_of_strangers() {
    for settings in [&[][..], &["security.sandbox=kernel"]] {
        let opened = "security.allowed_paths=[\"~/.aethon/workspace/app\"]";
        let stage = TestHome::new(false, &[settings, &[opened]].concat());
        let workspace = stage.ada.join(".aethon/workspace");
        for name in ["app/.git/hooks", "closed/.git/hooks"] {
            fs::create_dir_all(workspace.join(name)).unwrap();
        }
        let command = "echo x > app/.git/hooks/x; echo x > app/.envrc; echo x > closed/.git/hooks/x; echo x > closed/.envrc";
        stage.server.post("/webhook/trigger", &json!({"text": call("shell", &json!({"command": command}))}));
        let there = |name: &str| workspace.join(name).exists();
        assert!(there("app/.git/hooks/x") && there("app/.envrc"), "{settings:?}");
        let is_closed = !there("closed/.git/hooks/x") && !there("closed/.envrc");
        assert!(is_closed || settings.is_empty() && !has_walls(&stage), "{settings:?}");
    }
}

#[test]
fn copies_of_the_home_are_closed_and_its_neighbours_open() {
    let stage = TestHome::new(false, &[]);
    let mut chat = stage.server.chat("default");
    let copies = [
        ".aethon.bak",
        ".aethon-backup",
        ".aethon.old",
        "aethon-backup-2026",
        "Documents/copy",
        "project/a/b/copy",
    ];
    for (number, copy) in copies.iter().enumerate() {
        let home = stage.ada.join(copy);
        fs::create_dir_all(home.join("credentials")).unwrap();
        for name in ["aethon.db", "config.toml", "credentials/x"] {
            fs::write(home.join(name), EVIL).unwrap();
        }
        let read = call("file_read", &json!({"path": format!("~/{copy}/config.toml")}));
        let tool = in_chat(&mut chat, &format!("r{number}"), &read);
        assert_eq!(tool["state"], "denied", "{copy}: {tool}");
        // For commands they are looked for near the top of the home.
        if copy.matches('/').count() < 2 && has_walls(&stage) {
            let command = call("shell", &json!({"command": format!("cat ~/{copy}/config.toml")}));
            let tool = in_chat(&mut chat, &format!("s{number}"), &command);
            assert!(!tool["output"].as_str().unwrap().contains(EVIL), "{copy}: {tool}");
        }
    }
    let search = call("file_search", &json!({"path": "~", "pattern": EVIL, "all": true}));
    let tool = in_chat(&mut chat, "f1", &search);
    assert!(tool["output"].as_str().unwrap().contains("nothing was found"), "{tool}");
    for (number, name) in [".aethon.mjs", "aethonhome.txt", ".aethon-notes"].iter().enumerate() {
        fs::write(stage.ada.join(name), "open").unwrap();
        let command = call("shell", &json!({"command": format!("cat ~/{name}")}));
        let tool = in_chat(&mut chat, &format!("n{number}"), &command);
        assert!(tool["output"].as_str().unwrap().starts_with("open"), "{name}: {tool}");
    }
}
