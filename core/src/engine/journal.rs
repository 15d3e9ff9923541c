//! What the engine tells: wakes, events, lines for the log.

use core::task::Waker;
use std::collections::VecDeque;

use super::CallId;
use crate::event::{Event, Notice};

/// Events and notices kept for those who ask; what comes beyond is dropped
/// and counted.
const QUEUE_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) listening: bool,
    /// Whether notices wait for `take_notices`, or are logged by the handles.
    pub(super) collecting: bool,
    events: VecDeque<Event>,
    dropped: u64,
    notices: VecDeque<Notice>,
    wakers: Vec<Waker>,
    wakes: Vec<CallId>,
    /// The call that is being polled: it needs no wake for its own turn.
    pub(super) polling: Option<CallId>,
}

impl Journal {
    /// Built only if somebody listens.
    pub(super) fn event(&mut self, build: impl FnOnce() -> Event) {
        if !self.listening {
            return;
        }
        if self.events.len() >= QUEUE_MAX {
            self.events.pop_front();
            self.dropped += 1;
        }
        self.events.push_back(build());
    }

    pub(super) fn notice(&mut self, warning: bool, build: impl FnOnce() -> String) {
        if !warning && !self.collecting && !log::log_enabled!(target: "rampmeter", log::Level::Debug) {
            return;
        }
        if self.notices.len() >= QUEUE_MAX {
            self.notices.pop_front();
        }
        self.notices.push_back(Notice { warning, message: build() });
    }

    /// Lets the call's driver poll again: by its waker, or through the list.
    pub(super) fn wake(&mut self, id: CallId, waker: Option<Waker>) {
        match waker {
            _ if self.polling == Some(id) => {}
            Some(waker) => self.wakers.push(waker),
            None if self.wakes.len() < QUEUE_MAX * 16 => self.wakes.push(id),
            None => {}
        }
    }

    pub(super) fn take_wakers(&mut self) -> Vec<Waker> {
        core::mem::take(&mut self.wakers)
    }

    pub(super) fn take_wakes(&mut self) -> Vec<CallId> {
        core::mem::take(&mut self.wakes)
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        self.events.drain(..).collect()
    }

    pub(super) fn take_notices(&mut self) -> Vec<Notice> {
        self.notices.drain(..).collect()
    }

    pub(super) fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }
}
