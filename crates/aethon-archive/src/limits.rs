//! Limits on the size of an archive, packed and unpacked.

/// The limits within which an archive is written and read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of entries.
    pub max_entries: u64,
    /// Maximum unpacked size of the whole archive.
    pub max_bytes: u64,
    /// Maximum unpacked size of an archive that takes no space itself.
    pub free_bytes: u64,
    /// How many unpacked bytes each packed one may add to that.
    pub max_ratio: u64,
    /// Maximum length of a name.
    pub max_name: usize,
}

impl Limits {
    /// The limits of backups. [`crate::ArchiveWriter`] keeps to half of the ratio, whatever it is given.
    pub const BACKUP: Self = Self {
        max_entries: 1_000_000,
        max_bytes: u64::MAX,
        free_bytes: 1 << 30,
        max_ratio: 200,
        max_name: 4096,
    };

    /// The limits of recordings. The former writer packed an entry to no less than a 200th, and those below 64 KiB as far as
    /// they went, which with their headers is a 360th.
    pub const RECORDING: Self = Self {
        max_entries: 5_000,
        max_bytes: 256 << 20,
        free_bytes: 64 << 10,
        max_ratio: 400,
        max_name: 255,
    };

    /// Returns whether the archive looks like a bomb.
    pub(crate) fn is_too_dense(&self, unpacked: u64, packed: u64) -> bool {
        unpacked > self.free_bytes.saturating_add(packed.saturating_mul(self.max_ratio))
    }

    /// Returns whether an entry of this size must be stored unpacked, so that the archive stays far from being refused.
    pub(crate) fn must_store(&self, unpacked: u64, packed: u64, size: u64) -> bool {
        let cautious = Self { max_ratio: self.max_ratio / 2, free_bytes: self.free_bytes / 2, ..*self };
        cautious.is_too_dense(unpacked.saturating_add(size), packed)
    }
}

#[cfg(test)]
#[test]
fn a_written_archive_is_never_refused_as_a_bomb() {
    let limits = Limits::BACKUP;
    // Files of zeros, which pack to a thousandth, of all sizes.
    let (mut unpacked, mut packed) = (0_u64, 0_u64);
    for size in (0..40).cycle().take(400).map(|shift| 1_u64 << shift) {
        packed += if limits.must_store(unpacked, packed, size) { size } else { size / 1_000 };
        unpacked += size;
        assert!(!limits.is_too_dense(unpacked, packed), "{unpacked} from {packed}");
    }
    assert!(limits.is_too_dense(10 << 30, 1 << 20));
}
