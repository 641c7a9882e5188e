//! The HTTP side's entries in the audit log and the program log: sign-ins, wrong tokens and removals.

use std::net::IpAddr;
use std::sync::Arc;

use aethon_core::audit::{AuditAction, AuditEntry, AuditTrail};
use aethon_core::clock::Clock;
use http::Method;
use percent_encoding::percent_decode_str;

use crate::app::{App, FromApp};
use crate::limits::Strike;
use crate::request::Request;
use crate::unix_peer;

/// Writes the HTTP side's entries to the audit log and the log.
#[derive(Clone)]
pub(crate) struct AuditNotes {
    rows: AuditTrail,
    clock: Arc<dyn Clock>,
}

impl FromApp for AuditNotes {
    fn from_app(app: &App) -> Self {
        Self { rows: app.deps.activity.trail.clone(), clock: app.deps.runtime.clock.clone() }
    }
}

impl AuditNotes {
    /// Records that a browser signed in or out.
    pub(crate) fn signed(&self, outcome: &'static str, address: IpAddr) {
        self.note(AuditAction::SignIn, "dashboard", outcome, address);
    }

    /// Records a wrong token. Not every one, since a guesser must not fill the audit log.
    pub(crate) fn wrong_token(&self, strike: Strike, address: IpAddr) {
        match strike {
            Strike::First => self.note(AuditAction::Access, "token", "wrong", address),
            Strike::Last => self.note(AuditAction::Access, "token", "too_many", address),
            Strike::Further => {}
        }
    }

    /// Records that a request removed something.
    pub(crate) fn removed(&self, removal: Removal) {
        self.note(AuditAction::Deletion, &removal.subject, "done", removal.address);
    }

    /// Records that someone was admitted to a messenger, or was given a code for it.
    pub(crate) fn paired(&self, subject: &str, outcome: &'static str, address: IpAddr) {
        self.note(AuditAction::Pairing, subject, outcome, address);
    }

    /// Records that a change of these keys of the configuration was refused, because it was not confirmed.
    pub(crate) fn unconfirmed(&self, keys: &[String], outcome: &'static str, address: IpAddr) {
        self.note(AuditAction::Config, &keys.join(", "), outcome, address);
    }

    fn note(&self, action: AuditAction, subject: &str, outcome: &'static str, address: IpAddr) {
        let address = unix_peer::shown(address);
        let row = AuditEntry::new(self.clock.now(), action, subject, outcome).by(address.as_str());
        let is_kept = self.rows.note(row);
        tracing::info!(action = action.as_str(), subject, outcome, address, is_kept, "audit");
    }
}

/// A removal that a request asks for.
pub(crate) struct Removal {
    subject: String,
    address: IpAddr,
}

impl Removal {
    /// Returns the removal that a request to a gated address asks for, if any.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (method, path) = (&request.head.method, request.head.uri.path());
        let is_removal = *method == Method::DELETE || (*method == Method::POST && path.ends_with("/reset"));
        is_removal.then(|| Self {
            subject: percent_decode_str(path.trim_start_matches("/api/")).decode_utf8_lossy().into_owned(),
            address: request.client.address,
        })
    }
}
