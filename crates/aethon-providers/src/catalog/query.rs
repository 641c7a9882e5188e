//! Finds the row of a model among many.

use aethon_core::provider::Provider;

use super::{name, vendor};

/// The model to look up.
pub(super) struct Query {
    sellers: Vec<&'static str>,
    own: Vec<(String, bool)>,
    canonical: Vec<String>,
}

/// How well a row matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fit {
    /// The smallest is the best.
    rank: usize,
    /// Whether the row's price does not apply, because another vendor serves the model or it was fine-tuned.
    pub(super) is_other_price: bool,
}

/// The rank from which on a row belongs to another vendor.
const DISTANT: usize = 1000;

impl Fit {
    /// Returns whether the row belongs to another vendor, which knows the model itself but not this seller's terms.
    pub(super) fn is_distant(self) -> bool {
        self.rank >= DISTANT
    }
}

impl Query {
    pub(super) fn of(provider: Provider, model: &str, host: &str) -> Self {
        let mut canonical = vec![name::canonical(model)];
        if provider == Provider::Ollama {
            canonical.extend(name::untagged(model).map(name::canonical));
        }
        let mut own = name::own_names(model);
        if vendor::is_router(host) {
            // It writes `claude-sonnet-4.5` where the vendor writes `claude-sonnet-4-5`.
            let dashed = own.iter().filter(|(name, _)| name.contains('.'));
            let dashed: Vec<_> =
                dashed.map(|(name, has_price)| (name.replace('.', "-"), *has_price)).collect();
            own.extend(dashed);
        }
        Self { sellers: vendor::sellers(provider, model, host), own, canonical }
    }

    /// Returns how well a row of the vendor's own list matches. A row without a vendor is one of the owner's for
    /// every provider.
    pub(super) fn fit(&self, vendor: Option<&str>, row: &str) -> Option<Fit> {
        let seller = match vendor {
            Some(vendor) => self.sellers.iter().position(|seller| *seller == vendor)?,
            None => 0,
        };
        let at = self.own.iter().position(|(own, _)| own.eq_ignore_ascii_case(row))?;
        Some(Fit { rank: at * 4 + seller, is_other_price: !self.own[at].1 })
    }

    /// Returns how well a row of any list matches, for use when no vendor's own row does.
    pub(super) fn distant_fit(&self, row: &str) -> Option<Fit> {
        // The first word of a canonical name is in every name that leads to it, so this excludes most rows cheaply.
        let row = row.to_ascii_lowercase();
        let is_akin = |canonical: &String| row.contains(canonical.split('-').next().unwrap_or_default());
        if !self.canonical.iter().any(is_akin) {
            return None;
        }
        let row = name::canonical(&row);
        let at = self.canonical.iter().position(|canonical| *canonical == row)?;
        Some(Fit { rank: DISTANT + at, is_other_price: true })
    }
}
