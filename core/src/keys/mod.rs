//! Who is limited, and what the server meters alike: the keys under which the
//! engine keeps what it learns, derived from a request and nothing else.

mod credential;
mod origin;
mod route;

pub(crate) use credential::{CredentialReader, Label, idempotency_key};
pub(crate) use origin::origin;
pub(crate) use route::route;
