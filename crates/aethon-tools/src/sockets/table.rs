//! The table of sockets that are keys: connecting to one is acting with it, as the owner and outside every wall.
//!
//! `RUNTIME/` means each runtime directory of the user (`/run/user/1000`), `~/` for each home. Only the last part has
//! a pattern; `*` matches anything. A directory includes everything in it.

/// Each kind, by the word for `security.allowed_sockets`.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    ("ssh-agent", SSH_AGENT),
    ("gpg-agent", &["~/.gnupg/S.*", "RUNTIME/gnupg"]),
    ("docker", DOCKER),
    ("dbus", DBUS),
    (
        "wayland",
        &["RUNTIME/wayland-*", "RUNTIME/sway-ipc.*", "RUNTIME/hypr", "RUNTIME/niri*", "RUNTIME/wayfire*"],
    ),
    ("x11", &["/tmp/.X11-unix", "/tmp/.ICE-unix", "RUNTIME/ICE*"]),
    ("sound", &["RUNTIME/pipewire-*", "RUNTIME/pulse"]),
    ("terminals", TERMINALS),
];

/// Agents that sign, and stores of passwords.
const SSH_AGENT: &[&str] = &[
    "/tmp/ssh-*",
    "~/.ssh/*.sock",
    "~/.ssh/agent*",
    "~/.1password/agent.sock",
    "~/.bitwarden-ssh-agent.sock",
    "RUNTIME/keyring",
    "RUNTIME/gcr",
    "RUNTIME/ssh-*",
    "RUNTIME/openssh_agent",
    "RUNTIME/yubikey-agent",
    "RUNTIME/rbw",
    "RUNTIME/app/org.keepassxc.KeePassXC",
    "RUNTIME/org.keepassxc.KeePassXC.BrowserServer",
    "RUNTIME/kwallet5.socket",
];

/// Daemons that run containers and virtual machines.
const DOCKER: &[&str] = &[
    "/run/docker.sock",
    "/run/docker",
    "/run/podman",
    "/run/containerd",
    "/run/crio",
    "/run/buildkit",
    "/run/k3s",
    "/run/libvirt",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
    "RUNTIME/docker.sock",
    "RUNTIME/docker",
    "RUNTIME/podman",
    "RUNTIME/containerd*",
    "RUNTIME/buildkit*",
    "RUNTIME/libvirt",
    "~/.docker/run",
    "~/.docker/desktop",
    "~/.colima/default/docker.sock",
    "~/.rd/docker.sock",
    "~/.orbstack/run",
];

/// The buses, with the secret service and the service manager behind them.
const DBUS: &[&str] = &[
    "/run/dbus",
    "/run/systemd/private",
    "/tmp/dbus-*",
    "RUNTIME/bus",
    "RUNTIME/dbus-1",
    "RUNTIME/at-spi",
    "RUNTIME/systemd",
    "RUNTIME/flatpak-info",
    "RUNTIME/.flatpak",
    "RUNTIME/.dbus-proxy",
];

/// Multiplexers, terminals and editors that run any command sent to them.
const TERMINALS: &[&str] = &[
    "/tmp/tmux-*",
    "/tmp/zellij-*",
    "/tmp/kitty*",
    "/run/screen",
    "/run/tmux",
    "~/.screen",
    "RUNTIME/tmux*",
    "RUNTIME/zellij",
    "RUNTIME/wezterm",
    "RUNTIME/kitty*",
    "RUNTIME/emacs",
    "RUNTIME/nvim*",
    "RUNTIME/vscode-ipc-*",
    "RUNTIME/vscode-git-*",
];

/// Variables that name a socket, the kind that it is, and what stands before the path.
pub(super) const VARIABLES: &[(&str, &str, &str)] = &[
    ("SSH_AUTH_SOCK", "ssh-agent", ""),
    ("DOCKER_HOST", "docker", "unix://"),
    ("CONTAINER_HOST", "docker", "unix://"),
    ("DBUS_SESSION_BUS_ADDRESS", "dbus", "unix:path="),
    ("DBUS_SYSTEM_BUS_ADDRESS", "dbus", "unix:path="),
];
