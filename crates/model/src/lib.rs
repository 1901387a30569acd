#![doc = include_str!("../README.md")]

pub mod harness;
pub mod prose;
pub mod spec;
pub mod values;
pub mod words;
pub mod wrapping;
