//! Client strategies without I/O, the product among them.

use crate::dialects::Head;
use crate::servers::Nanos;

/// Both clocks of a client at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds of virtual time.
    pub now: Nanos,
    /// The client's wall clock, in nanoseconds of the Unix epoch.
    pub wall: Nanos,
}

/// One call, as its strategy sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Its number; the earlier call has the smaller one.
    pub call: usize,
    /// The quota that it spends of.
    pub key: usize,
    /// The instant after which an answer is of no use.
    pub deadline: Option<Nanos>,
}

/// What a strategy wants done about a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send it now.
    Send {
        /// Whether it tests for others if the limit has passed.
        probe: bool,
    },
    /// Ask again after that time, or when the call is woken.
    Sleep(Nanos),
    /// Ask again when the call is woken.
    Park,
    /// The response is the caller's.
    Done,
    /// The call ends without one.
    Fail(&'static str),
}

/// How the calls of one process meet refusals.
///
/// The driver polls a call when it begins, at the end of a sleep and when it
/// is woken, and reports each response; what it is told is done at once, in
/// virtual time.
pub trait Strategy {
    /// A call begins. It is polled next.
    fn begin(&mut self, clock: Clock, ask: Ask);

    /// What now?
    fn poll(&mut self, clock: Clock, call: usize) -> Step;

    /// The response to the last send of a call.
    fn on_response(&mut self, clock: Clock, call: usize, head: &Head) -> Step;

    /// The call is given up, whatever it is doing.
    fn cancel(&mut self, clock: Clock, call: usize);

    /// The calls that are to be polled now, in order.
    fn take_wakes(&mut self) -> Vec<usize>;

    /// The longest wait that a server may ask; a longer one is no hold.
    fn longest_wait(&self) -> Option<Nanos> {
        None
    }

    /// What it has to say about what it did since the last time, for a trace.
    fn take_remarks(&mut self) -> Vec<String> {
        Vec::new()
    }
}
