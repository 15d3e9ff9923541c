//! What a caller says of one request.

use core::time::Duration;

/// What a caller says of one request, attached to it as an extension.
///
/// ```no_run
/// use core::time::Duration;
/// use rampmeter::reqwest_middleware::CallOptions;
///
/// # async fn example(client: reqwest_middleware::ClientWithMiddleware) -> reqwest_middleware::Result<()> {
/// let options = CallOptions::new().cost("tokens", 1200.0).deadline(Duration::from_secs(20));
/// client.post("https://api.example.com/v1/chat").with_extension(options).send().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallOptions {
    pub(super) scope: Option<String>,
    pub(super) route: Option<String>,
    pub(super) cost: Vec<(String, f64)>,
    pub(super) priority: i32,
    pub(super) deadline: Option<Duration>,
    pub(super) retry: Option<bool>,
    pub(super) nested: bool,
}

impl CallOptions {
    /// Says nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Who is limited, instead of origin and credential.
    #[must_use]
    pub fn scope(mut self, scope: impl Into<String>) -> Self {
        self.scope = Some(scope.into());
        self
    }

    /// What the server meters alike, instead of method and path.
    #[must_use]
    pub fn route(mut self, route: impl Into<String>) -> Self {
        self.route = Some(route.into());
        self
    }

    /// An amount that the request spends, by unit. Without any it is one
    /// request.
    #[must_use]
    pub fn cost(mut self, unit: impl Into<String>, amount: f64) -> Self {
        self.cost.push((unit.into(), amount));
        self
    }

    /// Larger goes first; 0 by default.
    #[must_use]
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// After this long from the call's beginning an answer is of no use.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Whether it may be sent again after a failure that leaves open whether
    /// it was processed.
    #[must_use]
    pub fn retry(mut self, allowed: bool) -> Self {
        self.retry = Some(allowed);
        self
    }

    /// True for a request made inside a request of the same limiter, by
    /// another middleware for instance: it waits for no slot, of which the
    /// outer one holds one, and is not retried a second time.
    #[must_use]
    pub fn nested(mut self, nested: bool) -> Self {
        self.nested = nested;
        self
    }
}
