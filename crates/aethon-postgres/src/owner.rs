//! This program as an owner of turns, and the leases of others that it observes.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::db::{Sql, params};
use crate::error::Error;

/// By which clock leases are over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LeaseClock {
    /// That of the program.
    #[default]
    Own,
    /// That of the server, which is the same for all machines.
    Server,
}

/// This program, as its turns know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner {
    pub(crate) id: i64,
    pub(crate) is_daemon: bool,
    /// How long it counts as alive after a sign of life, in milliseconds.
    pub(crate) lease: i64,
}

/// What others see of this program, and the clock of its leases.
#[derive(Debug, Clone, Default)]
pub(crate) struct About {
    pub(crate) instance: String,
    pub(crate) version: String,
    pub(crate) clock: LeaseClock,
}

impl About {
    /// The time by which leases count, in milliseconds; `now` is that of this program.
    pub(crate) fn lease_now(&self, sql: &Sql<'_>, now: i64) -> Result<i64, Error> {
        match self.clock {
            LeaseClock::Own => Ok(now),
            LeaseClock::Server => server_now(sql),
        }
    }
}

/// Returns the time by the clock of the server, in milliseconds.
pub(crate) fn server_now(sql: &Sql<'_>) -> Result<i64, Error> {
    const NOW: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    sql.one(NOW, [], |row| row.get(0))
}

impl Owner {
    /// Makes up a new one.
    pub(crate) fn fresh(is_daemon: bool, lease: Duration) -> Self {
        // The last digits of an id are the drawn ones.
        let drawn = aethon_core::ids::unique();
        let digits = drawn.bytes().rev().filter_map(|digit| char::from(digit).to_digit(16));
        let id = digits.take(15).fold(0, |id, digit| id * 16 + i64::from(digit));
        Self { id, is_daemon, lease: i64::try_from(lease.as_millis()).unwrap_or(i64::MAX) }
    }

    /// Notes a sign of life; with `least` only when so much of the lease, in milliseconds, is not left any more.
    pub(crate) fn sign(self, sql: &Sql<'_>, about: &About, now: i64, least: i64) -> Result<(), Error> {
        const SIGN: &str =
            "INSERT INTO owners (owner, is_daemon, instance, lease_until, version, started_at, seen_at)
            VALUES ($1, $2, $5, $3, $6, $7, $7)
            ON CONFLICT (owner) DO UPDATE SET lease_until = $3, seen_at = $7
            WHERE owners.lease_until < $4 OR owners.lease_until > $3";
        let until = now.saturating_add(self.lease);
        let least = now.saturating_add(least);
        let About { instance, version, .. } = about;
        sql.execute(SIGN, params![self.id, self.is_daemon, until, least, instance, version, now])?;
        Ok(())
    }

    /// The sign of life that comes with a turn.
    pub(crate) fn sign_if_due(self, sql: &Sql<'_>, about: &About, now: i64) -> Result<(), Error> {
        self.sign(sql, about, now, self.lease / 2)
    }
}

/// Leases that reach too far ahead, and since when each is known to be unchanged.
#[derive(Debug, Default)]
pub(crate) struct SuspiciousLeases(HashMap<(i64, i64), Instant>);

impl SuspiciousLeases {
    /// Takes the leases that are too far ahead now, as owner and end. Returns those that have not changed for so long.
    pub(crate) fn unchanged_for(&mut self, ahead: Vec<(i64, i64)>, length: Duration) -> Vec<(i64, i64)> {
        let now = Instant::now();
        self.0 = ahead.iter().map(|lease| (*lease, self.0.get(lease).copied().unwrap_or(now))).collect();
        ahead
            .into_iter()
            .filter(|lease| self.0.get(lease).is_some_and(|since| since.elapsed() >= length))
            .collect()
    }
}
