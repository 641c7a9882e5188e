//! What the doors write into the audit, and into the log beside it: who signed in, who came with a wrong token, what was
//! removed.

use std::net::IpAddr;
use std::sync::Arc;

use aethon_core::audit::{AuditAction, AuditEntry, AuditTrail};
use aethon_core::clock::Clock;
use http::Method;
use percent_encoding::percent_decode_str;

use crate::app::{App, FromApp};
use crate::limits::Strike;
use crate::request::Request;

/// Where doors note what they see.
#[derive(Clone)]
pub(crate) struct Trail {
    rows: AuditTrail,
    clock: Arc<dyn Clock>,
}

impl FromApp for Trail {
    fn from_app(app: &App) -> Self {
        Self { rows: app.deps.activity.trail.clone(), clock: app.deps.runtime.clock.clone() }
    }
}

impl Trail {
    /// A browser signed in, or out.
    pub(crate) fn signed(&self, outcome: &'static str, address: IpAddr) {
        self.note(AuditAction::SignIn, "dashboard", outcome, address);
    }

    /// Somebody came with a wrong token. Not each of them: who guesses must not fill the audit.
    pub(crate) fn wrong_token(&self, strike: Strike, address: IpAddr) {
        match strike {
            Strike::First => self.note(AuditAction::Access, "token", "wrong", address),
            Strike::Last => self.note(AuditAction::Access, "token", "too_many", address),
            Strike::Further => {}
        }
    }

    /// What a request asked for was removed.
    pub(crate) fn removed(&self, removal: Removal) {
        self.note(AuditAction::Deletion, &removal.subject, "done", removal.address);
    }

    /// Somebody was let in to a messenger, or is about to be.
    pub(crate) fn paired(&self, subject: &str, outcome: &'static str, address: IpAddr) {
        self.note(AuditAction::Pairing, subject, outcome, address);
    }

    fn note(&self, action: AuditAction, subject: &str, outcome: &'static str, address: IpAddr) {
        let is_kept = self
            .rows
            .note(AuditEntry::new(self.clock.now(), action, subject, outcome).by(address.to_string()));
        tracing::info!(action = action.as_str(), subject, outcome, %address, is_kept, "audit");
    }
}

/// A request that takes something away.
pub(crate) struct Removal {
    subject: String,
    address: IpAddr,
}

impl Removal {
    /// What a request to a gated address removes; `None` when it removes nothing.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (method, path) = (&request.head.method, request.head.uri.path());
        let is_removal = *method == Method::DELETE || (*method == Method::POST && path.ends_with("/reset"));
        is_removal.then(|| Self {
            subject: percent_decode_str(path.trim_start_matches("/api/")).decode_utf8_lossy().into_owned(),
            address: request.client.address,
        })
    }
}
