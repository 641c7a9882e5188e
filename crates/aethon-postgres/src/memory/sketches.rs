//! Bit sketches of vectors, so that the nearest of a hundred thousand are found in milliseconds without keeping the
//! vectors in memory. A bit is the sign of a number relative to the average; short vectors add signs of differences
//! between numbers. The nearest by sketch are then compared exactly.
//!
//! Sketches follow the table: each use first reads the rows added since the last one. Removed vectors stay in the
//! sketch, and are dropped when the search looks them up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aethon_core::finding::vector_numbers as numbers;

use crate::db::{Sql, params};
use crate::error::Error;

/// Minimum number of bits per vector, if it is long enough.
const MIN_BITS: usize = 768;

/// Maximum number of signs taken per number of a short vector.
const MAX_ROUNDS: usize = 8;

/// Number of vectors that the average is computed from.
const AVERAGED: usize = 1_024;

/// Vectors read per query.
const STEP: i64 = 1_024;

/// Maximum number of cached sets: one for each scope and model in use.
const MAX_SETS: usize = 12;

/// Cached sketches of all vectors. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Sketches(Arc<Mutex<Sets>>);

/// Sets by scope and model.
type Sets = HashMap<(String, String), Arc<SketchSet>>;

/// Sketches of the vectors of one scope and model.
#[derive(Debug, Clone, Default)]
pub(super) struct SketchSet {
    /// The average vector at the time of the first sketches.
    centre: Vec<f32>,
    /// Number of vectors that went into the average.
    averaged: usize,
    /// Memory ids, in the order of the sketches.
    ids: Vec<i64>,
    /// The sketches, one after the other, a fixed number of words each.
    bits: Vec<u64>,
    /// The newest table row that is included.
    through: i64,
}

/// A vector that is near by its sketch.
pub(super) struct SketchHit {
    pub(super) id: i64,
    /// By how many standard deviations it is nearer than average.
    pub(super) deviations: f64,
}

impl Sketches {
    /// Returns the set of a scope and model, including everything in the table.
    pub(super) fn current(&self, sql: &Sql<'_>, scope: &str, model: &str) -> Result<Arc<SketchSet>, Error> {
        let key = (scope.to_owned(), model.to_owned());
        // Two readers may update the same set at once; doing it twice beats waiting.
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let set = known.clone().unwrap_or_default().up_to_date(sql, scope, model)?;
        if known.is_none_or(|known| !Arc::ptr_eq(&known, &set)) {
            let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if sets.len() >= MAX_SETS && !sets.contains_key(&key) {
                sets.clear();
            }
            sets.insert(key, set.clone());
        }
        Ok(set)
    }
}

impl SketchSet {
    /// Returns this set if the table has nothing new, or else a copy that includes the new rows.
    fn up_to_date(self: Arc<Self>, sql: &Sql<'_>, scope: &str, model: &str) -> Result<Arc<Self>, Error> {
        const NEWER: &str = "SELECT memory_vectors.id, memory_id, vector FROM memory_vectors
            JOIN memories ON memories.id = memory_id
            WHERE model = $1 AND memory_vectors.id > $2 AND scope = $3 ORDER BY memory_vectors.id LIMIT $4";
        let mut set = self;
        loop {
            let rows = sql.all(NEWER, params![model, set.through, scope, STEP], |row| {
                Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, numbers(row.bytes(2)?)))
            })?;
            let Some((through, ..)) = rows.last() else { return Ok(set) };
            let through = *through;
            let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < STEP);
            let rows: Vec<(i64, Vec<f32>)> =
                rows.into_iter().filter_map(|(_, id, vector)| Some((id, vector?))).collect();
            let grown = Arc::make_mut(&mut set);
            if grown.should_begin_again(rows.len()) {
                // The average was computed from too few vectors.
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

    /// Returns whether so many vectors were added that the average of the first ones may be far off.
    fn should_begin_again(&self, more: usize) -> bool {
        self.averaged > 0 && self.averaged < AVERAGED && self.ids.len() + more > self.averaged * 4
    }

    /// Rebuilds the set with an average over more vectors.
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

    /// Returns the number of vectors, including those replaced since.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the sketch of a vector, which must have the length of the centre.
    fn bits_of(&self, vector: &[f32]) -> Vec<u64> {
        let centred: Vec<f32> =
            vector.iter().zip(&self.centre).map(|(number, average)| number - average).collect();
        let length = centred.len();
        let rounds = MIN_BITS.div_ceil(length.max(1)).clamp(1, MAX_ROUNDS);
        let mut words = vec![0_u64; (rounds * length).div_ceil(64)];
        for round in 0..rounds {
            for (at, number) in centred.iter().enumerate() {
                let against = if round == 0 { 0.0 } else { centred[(at + round) % length] };
                let position = round * length + at;
                words[position / 64] |= u64::from(*number > against) << (position % 64);
            }
        }
        words
    }

    /// Returns the nearest vectors by sketch, nearest first: at most `most` of them.
    pub(super) fn nearest(&self, vector: &[f32], most: usize) -> Vec<SketchHit> {
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
        let near = |at: usize| SketchHit {
            id: self.ids[at],
            deviations: (mean - f64::from(distances[at])) / deviation,
        };
        order.into_iter().map(near).collect()
    }
}
