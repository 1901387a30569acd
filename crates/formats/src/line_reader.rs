//! Formats that are read line by line.

use crate::Results;

pub(crate) trait LineReader {
    /// Takes a line without its end; `number` counts from 1.
    fn line(&mut self, number: usize, line: &str);
    /// Notes a line that cannot be taken.
    fn unread(&mut self, number: usize, why: String);
    /// The results of all lines.
    fn finish(self: Box<Self>) -> Results;
}
