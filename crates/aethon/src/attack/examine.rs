//! The whole self-test: its target, its attacks and their order.

use aethon_config::schema::Config;

use super::wire::Target;
use super::{AREA, flood, probes};
use crate::builder::Builder;
use crate::finding::Finding;

/// Attacks the daemon running on this home.
pub async fn examine(builder: Builder) -> Vec<Finding> {
    let prepared = match builder.load() {
        Ok(prepared) => prepared,
        Err(error) => {
            return vec![Finding::broken(AREA, error.to_string(), "correct the configuration first")];
        }
    };
    let Some(base) = prepared.home().running_daemon() else {
        return vec![Finding::broken(
            AREA,
            "no daemon runs on this home, so there is nothing to attack",
            "start `aethon-server`, then run this again",
        )];
    };
    if base.starts_with("unix:") {
        return vec![Finding::ok(
            AREA,
            format!("the daemon serves only on {base}, which only you can reach; there is no port to attack"),
        )];
    }
    let Some(target) = Target::parse(&base) else {
        return vec![Finding::broken(
            AREA,
            format!("the daemon's address {base:?} cannot be read"),
            "restart `aethon-server`",
        )];
    };
    let config = prepared.config();
    let mut findings = vec![credentials(config, &target)];
    findings.extend(probes::all(&target, config).await);
    // Last: after these guesses the attacker's address is throttled for a minute.
    findings.extend(flood::all(&target, config).await);
    findings
}

/// Checks whether the listener asks for any credentials at all.
fn credentials(config: &Config, target: &Target) -> Finding {
    let is_open = config.dashboard.auth_token.is_empty();
    match (is_open, target.is_loopback()) {
        (false, _) => Finding::ok(AREA, "a token is required"),
        (true, true) => Finding::ok(AREA, "no token is set, and only this machine reaches the listener"),
        (true, false) => Finding::broken(
            AREA,
            format!("no token is set, and other machines reach the listener at {}", target.published()),
            "set dashboard.auth_token (`aethon-cli secrets set`), or bind to 127.0.0.1",
        ),
    }
}

#[cfg(test)]
mod tests {
    use aethon_core::secret::Secret;

    use super::*;
    use crate::finding::Health;

    #[test]
    fn the_published_address_decides_whether_a_token_is_needed() {
        let check = |base: &str, token: &str, expected: Health| {
            let mut config = Config::default();
            config.dashboard.auth_token = Secret::new(token);
            let finding = credentials(&config, &Target::parse(base).unwrap());
            assert_eq!(finding.health, expected, "{base} {token:?}: {}", finding.message);
        };
        check("http://127.0.0.1:1", "", Health::Ok);
        check("http://0.0.0.0:1", "", Health::Broken);
        check("http://[::]:1", "", Health::Broken);
        check("http://0.0.0.0:1", "a-long-token", Health::Ok);
    }
}
