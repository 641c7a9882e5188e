//! Vectors in a few bits each, so that the nearest of a hundred thousand are found in some milliseconds without keeping
//! them all in memory: the sign of each number against the average, and of differences of numbers where a vector is short.
//! The nearest by bits are then compared as they are.
//!
//! The bits follow the table: what was added since the last look is read, and what was removed is not found any more when
//! it is looked up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::params;

use crate::db::Sql;
use crate::error::Error;
use crate::vectors::numbers;

/// How many bits a vector has at least, as far as it is long enough.
const LEAST_BITS: usize = 768;

/// How many differences are taken of a short vector at most.
const MOST_ROUNDS: usize = 8;

/// How many vectors the average is made of.
const AVERAGED: usize = 1_024;

/// How many vectors are read at a time.
const STEP: i64 = 1_024;

/// How many sets of bits are kept: one for each scope and model that is in use.
const MOST_SETS: usize = 12;

/// The bits of all vectors. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Sketches(Arc<Mutex<Sets>>);

/// The sets by scope and model.
type Sets = HashMap<(String, String), Arc<Set>>;

/// The bits of the vectors of one scope and model.
#[derive(Debug, Clone, Default)]
pub(super) struct Set {
    /// The average vector, as it was when the first bits were made.
    centre: Vec<f32>,
    /// Of how many vectors it was made.
    averaged: usize,
    /// The memories.
    ids: Vec<i64>,
    /// So many words of bits for each.
    bits: Vec<u64>,
    /// The newest row that is in it.
    through: i64,
}

/// A vector that is near by its bits.
pub(super) struct Near {
    pub(super) id: i64,
    /// By how many deviations it is nearer than the average vector.
    pub(super) deviations: f64,
}

impl Sketches {
    /// The set of a scope and model, with everything that is in the table.
    pub(super) fn current(&self, sql: &Sql<'_>, scope: &str, model: &str) -> Result<Arc<Set>, Error> {
        let key = (scope.to_owned(), model.to_owned());
        // Two readers that bring the same set up to date do it twice; neither waits for the other.
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let set = known.clone().unwrap_or_default().up_to_date(sql, scope, model)?;
        if known.is_none_or(|known| !Arc::ptr_eq(&known, &set)) {
            let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if sets.len() >= MOST_SETS && !sets.contains_key(&key) {
                sets.clear();
            }
            sets.insert(key, set.clone());
        }
        Ok(set)
    }
}

impl Set {
    /// This set if nothing was added to the table, else one with what was.
    fn up_to_date(self: Arc<Self>, sql: &Sql<'_>, scope: &str, model: &str) -> Result<Arc<Self>, Error> {
        const NEWER: &str = "SELECT memory_vectors.id, memory_id, vector FROM memory_vectors
            JOIN memories ON memories.id = memory_id
            WHERE model = ?1 AND memory_vectors.id > ?2 AND scope = ?3 ORDER BY memory_vectors.id LIMIT ?4";
        let mut set = self;
        loop {
            let rows = sql.all(NEWER, params![model, set.through, scope, STEP], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, numbers(row.get_ref(2)?.as_blob()?)))
            })?;
            let Some((through, ..)) = rows.last() else { return Ok(set) };
            let through = *through;
            let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < STEP);
            let rows: Vec<(i64, Vec<f32>)> =
                rows.into_iter().filter_map(|(_, id, vector)| Some((id, vector?))).collect();
            let grown = Arc::make_mut(&mut set);
            if grown.should_begin_again(rows.len()) {
                // The average was made of too few.
                grown.begin_again(sql, scope, model)?;
            } else {
                grown.take(&rows);
                grown.through = through;
            }
            if is_last {
                return Ok(set);
            }
        }
    }

    /// Whether there are so many more vectors that the average of the first ones may be far off.
    fn should_begin_again(&self, more: usize) -> bool {
        self.averaged > 0 && self.averaged < AVERAGED && self.ids.len() + more > self.averaged * 4
    }

    /// Reads everything, with an average of more.
    fn begin_again(&mut self, sql: &Sql<'_>, scope: &str, model: &str) -> Result<(), Error> {
        let fresh = Arc::new(Self::default()).up_to_date(sql, scope, model)?;
        *self = Arc::unwrap_or_clone(fresh);
        Ok(())
    }

    fn take(&mut self, rows: &[(i64, Vec<f32>)]) {
        if self.centre.is_empty() {
            let Some((_, first)) = rows.first() else { return };
            let mut centre = vec![0.0_f32; first.len()];
            let alike: Vec<&Vec<f32>> =
                rows.iter().map(|(_, vector)| vector).filter(|vector| vector.len() == centre.len()).collect();
            for vector in &alike {
                centre.iter_mut().zip(vector.iter()).for_each(|(sum, number)| *sum += number);
            }
            centre.iter_mut().for_each(|sum| *sum /= alike.len() as f32);
            self.averaged = alike.len();
            self.centre = centre;
        }
        for (id, vector) in rows.iter().filter(|(_, vector)| vector.len() == self.centre.len()) {
            self.ids.push(*id);
            let bits = self.bits_of(vector);
            self.bits.extend(bits);
        }
    }

    /// How many vectors there are, those that were replaced since included.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The bits of a vector of the same length as all.
    fn bits_of(&self, vector: &[f32]) -> Vec<u64> {
        let centred: Vec<f32> =
            vector.iter().zip(&self.centre).map(|(number, average)| number - average).collect();
        let length = centred.len();
        let rounds = LEAST_BITS.div_ceil(length.max(1)).clamp(1, MOST_ROUNDS);
        let mut words = vec![0_u64; (rounds * length).div_ceil(64)];
        for round in 0..rounds {
            for (at, number) in centred.iter().enumerate() {
                let against = if round == 0 { 0.0 } else { centred[(at + round) % length] };
                let place = round * length + at;
                words[place / 64] |= u64::from(*number > against) << (place % 64);
            }
        }
        words
    }

    /// The nearest by their bits, the nearest first: at least `most` of them, if there are so many.
    pub(super) fn nearest(&self, vector: &[f32], most: usize) -> Vec<Near> {
        if vector.len() != self.centre.len() || self.ids.is_empty() {
            return Vec::new();
        }
        let wanted = self.bits_of(vector);
        let distance = |bits: &[u64]| -> u32 {
            bits.iter().zip(&wanted).map(|(one, other)| (one ^ other).count_ones()).sum()
        };
        let distances: Vec<u32> = self.bits.chunks_exact(wanted.len()).map(distance).collect();
        let count = distances.len() as f64;
        let mean = distances.iter().map(|&distance| f64::from(distance)).sum::<f64>() / count;
        let spread =
            distances.iter().map(|&distance| (f64::from(distance) - mean).powi(2)).sum::<f64>() / count;
        let deviation = spread.sqrt().max(f64::MIN_POSITIVE);
        let mut order: Vec<usize> = (0..distances.len()).collect();
        if order.len() > most {
            order.select_nth_unstable_by_key(most, |&at| distances[at]);
            order.truncate(most);
        }
        order.sort_unstable_by_key(|&at| distances[at]);
        let near =
            |at: usize| Near { id: self.ids[at], deviations: (mean - f64::from(distances[at])) / deviation };
        order.into_iter().map(near).collect()
    }
}
