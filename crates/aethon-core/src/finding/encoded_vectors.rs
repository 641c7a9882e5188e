//! How vectors are stored: as their numbers, four bytes each.

/// Bytes per number.
const WIDTH: usize = size_of::<f32>();

/// Encodes a vector for storage.
pub fn bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Decodes a stored vector; `None` if the bytes are not one.
pub fn numbers(bytes: &[u8]) -> Option<Vec<f32>> {
    let (numbers, rest) = bytes.as_chunks::<WIDTH>();
    let vector: Vec<f32> = numbers.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
    (rest.is_empty() && !vector.is_empty() && vector.iter().all(|number| number.is_finite()))
        .then_some(vector)
}
