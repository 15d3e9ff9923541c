//! Draws that are the same on every machine: a seeded generator, and
//! logarithms that are computed here rather than by the system's library.

use crate::servers::Nanos;

/// A generator for one purpose within one run: different purposes draw
/// independently, so that one more draw for the one leaves the others alone.
#[must_use]
pub fn stream(seed: u64, purpose: &str, index: u64) -> fastrand::Rng {
    // FNV-1a over all three.
    let bytes = seed.to_le_bytes().into_iter().chain(purpose.bytes()).chain(index.to_le_bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    fastrand::Rng::with_seed(hash)
}

/// The time to the next event of a Poisson process with this mean gap.
pub fn exponential(rng: &mut fastrand::Rng, mean: f64) -> Nanos {
    (-libm::log(1.0 - rng.f64()) * mean) as Nanos
}

/// A normal draw with mean 0 and deviation 1 (Box and Muller).
pub fn normal(rng: &mut fastrand::Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.f64()));
    radius * libm::cos(core::f64::consts::TAU * rng.f64())
}
