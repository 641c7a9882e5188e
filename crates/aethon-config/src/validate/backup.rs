//! Checks `[backup]`. Whether the recipient is one is checked by the facade, which knows the format.

use aethon_core::jiff::tz::TimeZone;

use super::entries::cron;
use crate::path::KeyPath;
use crate::remark::Remarks;
use crate::schema::Config;

pub(super) fn check(config: &Config, remarks: &mut Remarks) {
    let backup = &config.backup;
    let key = |name: &str| KeyPath::of(["backup", name]);
    if !backup.schedule.trim().is_empty() {
        cron(key("schedule"), &backup.schedule, &TimeZone::system(), remarks);
    }
    if backup.with_secrets && backup.recipient.trim().is_empty() {
        remarks.problem(
            key("with_secrets"),
            "true without backup.recipient",
            "false, or a recipient: a backup with secrets is always encrypted",
        );
    }
}
