//! Shields with their journal: how one is put in force for a session, stays, and is taken down.

mod force;
pub mod session;

pub use force::{put_in_force, strays};
