//! What the audit finds.

use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// A client that reads nothing but this cannot decide.
    Error,
    /// It can, but something beside it goes wrong; counts with `--strict`.
    Warning,
}

impl Severity {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Finding {
    /// The rule's name.
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    /// What is wrong.
    pub(super) says: String,
    /// What to send instead.
    pub(super) instead: String,
}

impl Finding {
    pub(super) fn error(rule: &'static str, says: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { rule, severity: Severity::Error, says: says.into(), instead: instead.into() }
    }

    pub(super) fn warning(rule: &'static str, says: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { rule, severity: Severity::Warning, says: says.into(), instead: instead.into() }
    }
}
