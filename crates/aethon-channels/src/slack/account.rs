//! The account of the app.

use serde_json::Value;

use crate::talk::Failure;

/// The identity of the app.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) user: String,
    pub(super) team: String,
    pub(super) shown: String,
}

impl Account {
    /// Parses the result of `auth.test`.
    pub(super) fn read(told: &Value) -> Result<Self, Failure> {
        let text = |key: &str| told[key].as_str().unwrap_or_default().to_owned();
        let (user, name, team) = (text("user_id"), text("user"), text("team"));
        // A person's token would read and write as that person.
        if told["bot_id"].as_str().is_none_or(str::is_empty) || user.is_empty() {
            return Err(Failure::Token(
                "the token is none of a bot; set channels.slack.bot_token to the one that begins with xoxb-"
                    .into(),
            ));
        }
        Ok(Self { user, team: text("team_id"), shown: format!("@{name} in {team}") })
    }
}
