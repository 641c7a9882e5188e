//! Damaged configuration files: each loads or is rejected with its problems, and no message shows a secret.

use std::path::Path;

use aethon_core::fuzz_targets;

use crate::load::load_text;
use crate::mask::dump;
use crate::sources::Sources;

const FILES: [&str; 3] = [
    "[model]\nprovider = \"openai\"\nmodel_id = \"gpt-5\"\napi_key = \"sk-veryverysecretvalue\"\nmax_tokens = 4096\n",
    "[server]\nport = 8000\nhost = \"127.0.0.1\"\n[budget]\ndaily_usd = 2.5\n[security]\nblocked_commands = [\"rm -rf /\"]\n",
    "[channels.telegram]\nenabled = true\nbot_token = \"env:TELEGRAM\"\n[scheduler.jobs.news]\ncron = \"0 8 * * *\"\nprompt = \"x\"\n",
];

fuzz_targets! {
    fuzz_configuration: FILES => |input| {
        let text = String::from_utf8_lossy(input).into_owned();
        // A fragment of the secret in another place does not count as the secret.
        let is_kept = text.matches("sk-very").count() == 1 && text.contains("\napi_key = \"sk-veryverysecretvalue\"\n");
        let sources = Sources { home: "/nonexistent".into(), ..Sources::default() };
        match load_text(Path::new("/nonexistent/config.toml"), text, &sources) {
            Ok(loaded) => {
                let shown = serde_json::to_string(&dump(&loaded.config)).unwrap();
                assert!(!is_kept || !shown.contains("sk-very"), "{shown}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    };
}
