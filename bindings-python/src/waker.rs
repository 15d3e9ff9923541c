//! A Python callable as the waker of one call.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Wake, Waker};

use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;

/// The callable that a waiting call wants to be woken by.
///
/// The engine's waker refers to it weakly: so the engine never drops a Python
/// object under its lock, and a call that is gone is woken by nobody.
pub(crate) struct WakeSlot {
    slot: Arc<Slot>,
    waker: Waker,
}

#[derive(Default)]
struct Slot {
    callable: Mutex<Option<Py<PyAny>>>,
}

struct SlotWaker(Weak<Slot>);

impl WakeSlot {
    pub(crate) fn new() -> Self {
        let slot = Arc::new(Slot::default());
        let waker = Waker::from(Arc::new(SlotWaker(Arc::downgrade(&slot))));
        Self { slot, waker }
    }

    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(crate) fn set(&self, callable: Option<Py<PyAny>>) {
        // The old one is dropped after the lock: its end may run Python code.
        let old = std::mem::replace(&mut *self.slot.lock(), callable);
        drop(old);
    }

    pub(crate) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // The collector stops the world; whoever holds the lock now holds the
        // callable too, so it is not garbage.
        match self.slot.callable.try_lock() {
            Ok(callable) => callable.as_ref().map_or(Ok(()), |callable| visit.call(callable)),
            Err(_) => Ok(()),
        }
    }
}

impl Slot {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Py<PyAny>>> {
        self.callable.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let Some(slot) = self.0.upgrade() else { return };
        // No interpreter to attach to: it is going down, and nobody waits.
        let _ = Python::try_attach(|py| {
            let Some(callable) = slot.lock().as_ref().map(|callable| callable.clone_ref(py)) else { return };
            // A call may be dropped, and wake others, while an exception is
            // on its way up; it is not the callable's to see.
            let pending = PyErr::take(py);
            if let Err(error) = callable.call0(py) {
                error.write_unraisable(py, Some(callable.bind(py)));
            }
            if let Some(pending) = pending {
                pending.restore(py);
            }
        });
    }
}
