#![doc = include_str!("../README.md")]

pub mod bisection;
pub mod campaign;
pub mod history;
pub mod pool;
pub mod race;
