//! Mutations of seeds, the same on every machine. They are blind to coverage: `make fuzz` is not.

use stats::Stream;

/// Separates these random streams from others.
const MUTATION_STREAM: u64 = 0x5eed_f022_1a2b_3c4d;
/// Most mutations of one input.
const MUTATIONS_MAX: u64 = 6;
/// Numbers that replace others.
const NUMBERS: [&str; 16] = [
    "0",
    "-1",
    "1",
    "-0.0",
    "1e308",
    "1e-308",
    "1e999",
    "NaN",
    "null",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "-9223372036854775809",
    "4294967296",
    "0.1",
    "\"\"",
];
/// Texts to insert.
const PIECES: [&[u8]; 14] = [
    b"\n",
    b"\0",
    b"\x1b[31m",
    b"\xff",
    b"\xf0\x9f\x98\x80",
    b"[",
    b"{",
    b"\"",
    b",",
    b"\\u0000",
    b"null",
    b"\t",
    b"=",
    b"\r\n",
];

/// Makes inputs from seeds: input `n` is always the same.
#[derive(Debug)]
pub struct Mutator {
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    /// `seeds` is not empty.
    pub fn new(seeds: Vec<Vec<u8>>) -> Self {
        assert!(!seeds.is_empty(), "there is no seed");
        Self { seeds }
    }

    /// Number of seeds; the first inputs are the seeds.
    pub fn n_seeds(&self) -> u64 {
        self.seeds.len() as u64
    }

    pub fn input(&self, number: u64) -> Vec<u8> {
        if let Some(seed) = usize::try_from(number).ok().and_then(|at| self.seeds.get(at)) {
            return seed.clone();
        }
        let mut stream = Stream::new(MUTATION_STREAM).after(number);
        let mut input = self.seed(&mut stream).to_vec();
        for _ in 0..=stream.below(MUTATIONS_MAX) {
            self.mutate(&mut input, &mut stream);
        }
        input
    }

    fn seed(&self, stream: &mut Stream) -> &[u8] {
        &self.seeds[index(stream, self.seeds.len())]
    }

    fn mutate(&self, input: &mut Vec<u8>, stream: &mut Stream) {
        let at = index(stream, input.len() + 1);
        match stream.below(8) {
            0 if at < input.len() => input[at] ^= 1 << stream.below(8),
            1 if at < input.len() => input[at] = stream.next_u64().to_le_bytes()[0],
            2 => {
                let piece = PIECES[index(stream, PIECES.len())];
                input.splice(at..at, piece.iter().copied());
            }
            3 => {
                let end = at + index(stream, (input.len() - at).min(64) + 1);
                input.drain(at..end);
            }
            4 => {
                let end = at + index(stream, (input.len() - at).min(256) + 1);
                let piece = input[at..end].to_vec();
                let to = index(stream, input.len() + 1);
                input.splice(to..to, piece);
            }
            5 => {
                let other = self.seed(stream);
                let from = index(stream, other.len() + 1);
                let end = from + index(stream, (other.len() - from).min(512) + 1);
                input.splice(at..at, other[from..end].iter().copied());
            }
            6 => input.truncate(at.max(1)),
            _ => replace_number(input, at, NUMBERS[index(stream, NUMBERS.len())]),
        }
    }
}

/// A random number below `n`, which is above 0.
fn index(stream: &mut Stream, n: usize) -> usize {
    usize::try_from(stream.below(n as u64)).unwrap_or(0)
}

/// Replaces the next number after `at`.
fn replace_number(input: &mut Vec<u8>, at: usize, new: &str) {
    let Some(start) = input[at..].iter().position(u8::is_ascii_digit).map(|start| at + start)
    else {
        return;
    };
    let is_of_it = |byte: &u8| byte.is_ascii_digit() || b".eE+-".contains(byte);
    let end = input[start..].iter().position(|byte| !is_of_it(byte));
    let end = end.map_or(input.len(), |n| start + n);
    input.splice(start..end, new.bytes());
}
