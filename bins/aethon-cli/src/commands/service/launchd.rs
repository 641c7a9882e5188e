//! The agent of macOS's launchd.

use super::unit::{MARK, Unit};

/// The name of the agent.
pub(super) const LABEL: &str = "org.aethon.server";

/// Returns the text of the property list.
pub(super) fn text(unit: &Unit) -> String {
    let words = std::iter::once(unit.program.display().to_string()).chain(unit.arguments.iter().cloned());
    let words: String = words.map(|word| format!("    <string>{}</string>\n", escaped(&word))).collect();
    let log = escaped(&unit.home.join("logs/launchd.log").display().to_string());
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!-- {MARK}, which replaces it when it runs again. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
{words}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>KeepAlive</key>
  <dict>
    <key>Crashed</key>
    <true/>
  </dict>
  <key>ExitTimeOut</key>
  <integer>{stop}</integer>
  <key>Umask</key>
  <integer>63</integer>
  <key>ProcessType</key>
  <string>Interactive</string>
  <key>StandardErrorPath</key>
  <string>{log}</string>
</dict>
</plist>
"#,
        stop = unit.stop_seconds,
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_starts_this_program() {
        let unit = Unit {
            program: "/opt/a&b/aethon-server".into(),
            arguments: vec!["--home".into(), "/Users/a/<own>".into()],
            home: "/Users/a/.aethon".into(),
            stop_seconds: 43,
        };
        let text = text(&unit);
        let words = "<string>/opt/a&amp;b/aethon-server</string>\n    <string>--home</string>\n    <string>/Users/a/&lt;own&gt;</string>";
        assert!(text.contains(words) && text.contains(MARK), "{text}");
        assert!(text.contains("<string>/Users/a/.aethon/logs/launchd.log</string>"), "{text}");
    }
}
