//! Finds memories by their vectors.
//!
//! The cosine between related texts differs from model to model. So a memory counts as near if it stands out from the
//! others; its absolute likeness decides only if there are hardly any others.

use std::collections::{HashMap, HashSet};

use aethon_core::finding::vector_numbers as numbers;
use aethon_core::memory::{MemoryEntry, Purpose, QueryVector};

use super::entries::find_many;
use super::sketches::{SketchHit, Sketches};
use crate::db::{Sql, params};
use crate::error::Error;

/// Candidates by sketch whose exact vectors are compared.
const CANDIDATES: usize = 512;

/// Maximum number of ranked hits.
const RANKED: usize = 64;

/// With fewer vectors there is nothing to stand out from.
const A_FEW: usize = 16;

/// A memory found by meaning.
pub(super) struct MeaningHit {
    pub(super) entry: MemoryEntry,
    /// Cosine similarity to the question.
    pub(super) likeness: f64,
    /// By how many standard deviations it is nearer than average; `None` if there are too few vectors to say.
    deviations: Option<f64>,
}

impl MeaningHit {
    /// Returns whether it is near enough for the purpose.
    pub(super) fn is_near(&self, purpose: Purpose) -> bool {
        let (least_deviations, least_likeness) = match purpose {
            Purpose::Look | Purpose::Ask => (1.5, 0.3),
            Purpose::Recall => (3.0, 0.75),
        };
        self.deviations.map_or(self.likeness >= least_likeness, |deviations| deviations >= least_deviations)
    }
}

/// Finds the nearest memories, nearest first.
pub(super) fn find(
    sql: &Sql<'_>,
    sketches: &Sketches,
    scope: &str,
    category: Option<&str>,
    question: &QueryVector,
) -> Result<Vec<MeaningHit>, Error> {
    const VECTORS: &str = "SELECT memory_id, vector FROM memory_vectors WHERE model = $2
        AND memory_id IN (SELECT value::bigint FROM json_array_elements_text($1::text::json))";
    let set = sketches.current(sql, scope, &question.model)?;
    let norm = Norm::of(&question.numbers);
    let mut seen = HashSet::new();
    let mut ranked: Vec<(f64, SketchHit)> = Vec::new();
    let nearest = set.nearest(&question.numbers, CANDIDATES).into_iter().filter(|near| seen.insert(near.id));
    let nearest: Vec<SketchHit> = nearest.collect();
    let ids: Vec<i64> = nearest.iter().map(|near| near.id).collect();
    let vectors = sql.all(VECTORS, params![serde_json::json!(ids).to_string(), question.model], |row| {
        Ok((row.get::<i64>(0)?, numbers(row.bytes(1)?)))
    })?;
    let mut vectors: HashMap<i64, _> = vectors.into_iter().collect();
    for near in nearest {
        // The memory was removed, or its vector now comes from another model.
        let Some(vector) = vectors.remove(&near.id).flatten() else { continue };
        if vector.len() == question.numbers.len() {
            ranked.push((norm.cosine(&question.numbers, &vector), near));
        }
    }
    ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
    let exact = Distribution::of(ranked.iter().map(|(likeness, _)| *likeness));
    let mut hits = Vec::new();
    let ids: Vec<i64> = ranked.iter().map(|(_, near)| near.id).collect();
    let mut entries = find_many(sql, scope, &ids)?;
    for (likeness, near) in ranked {
        let Some(entry) = entries.remove(&near.id) else { continue };
        if category.is_some_and(|category| entry.category != category) {
            continue;
        }
        let deviations = match set.len() {
            few if few < A_FEW => None,
            // All of them were compared exactly.
            some if some <= CANDIDATES => Some(exact.deviations(likeness)),
            _ => Some(near.deviations),
        };
        hits.push(MeaningHit { entry, likeness, deviations });
        if hits.len() == RANKED {
            break;
        }
    }
    Ok(hits)
}

/// Norm (length) of the question's vector, computed once for all comparisons.
struct Norm(f64);

impl Norm {
    fn of(vector: &[f32]) -> Self {
        Self(dot(vector, vector).sqrt())
    }

    fn cosine(&self, question: &[f32], vector: &[f32]) -> f64 {
        let lengths = self.0 * dot(vector, vector).sqrt();
        if lengths > 0.0 { dot(question, vector) / lengths } else { 0.0 }
    }
}

fn dot(one: &[f32], other: &[f32]) -> f64 {
    one.iter().zip(other).map(|(one, other)| f64::from(one * other)).sum()
}

/// Mean and standard deviation.
struct Distribution {
    mean: f64,
    deviation: f64,
}

impl Distribution {
    fn of(numbers: impl Iterator<Item = f64> + Clone) -> Self {
        let count = numbers.clone().count().max(1) as f64;
        let mean = numbers.clone().sum::<f64>() / count;
        let spread = numbers.map(|number| (number - mean).powi(2)).sum::<f64>() / count;
        Self { mean, deviation: spread.sqrt().max(f64::MIN_POSITIVE) }
    }

    fn deviations(&self, number: f64) -> f64 {
        (number - self.mean) / self.deviation
    }
}
