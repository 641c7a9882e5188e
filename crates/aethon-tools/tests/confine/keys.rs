//! Keys that commands must not get: those that the kernel keeps, and those in folders that a stranger makes projects.

use std::fs;

use aethon_core::turn::Trust;

use super::{Stage, run_as, stands};

#[tokio::test]
async fn the_keys_that_the_kernel_keeps_are_closed_to_commands() {
    let stage = Stage::new();
    let has_python = stage.run("python3 --version").await.contains("[exit status 0]");
    if !stands("files", |it| it.files, "files") || !has_python {
        return;
    }
    let attempt = "import ctypes, platform\n\
        calls = {'x86_64': (248, 249, 250), 'aarch64': (217, 218, 219)}[platform.machine()]\n\
        c = ctypes.CDLL(None, use_errno=True)\n\
        # Of the session: add a key, ask for one, and the number of the keyring.\n\
        tries = ((b'user', b'aethon-x', b'y', 1, -3), (b'user', b'aethon-x', None, -3, 0), (0, -3, 1, 0, 0))\n\
        print([(c.syscall(call, *args), ctypes.get_errno()) for call, args in zip(calls, tries)])\n";
    fs::write(stage.path(".aethon/workspace/keys.py"), attempt).unwrap();
    let text = stage.run("python3 keys.py").await;
    assert!(text.contains("[(-1, 1), (-1, 1), (-1, 1)]"), "{text}");
}

#[tokio::test]
async fn a_stranger_opens_no_key_by_making_its_folder_a_project() {
    if !stands("files", |it| it.files, "files") {
        return;
    }
    let stage = Stage::new();
    fs::create_dir_all(stage.path("stuff")).unwrap();
    for (name, text) in [("stuff/server.pem", "canary-key"), ("stuff/Makefile", "all:")] {
        fs::write(stage.path(name), text).unwrap();
    }
    let attempt = format!("cat {}", stage.path("stuff/server.pem").display());
    let text = run_as(&stage, Trust::Outside, &attempt).await;
    assert!(!text.contains("canary-key") && text.contains("denied"), "{text}");
    assert!(
        run_as(&stage, Trust::Owner, &attempt).await.contains("canary-key"),
        "the owner works on projects"
    );
}
