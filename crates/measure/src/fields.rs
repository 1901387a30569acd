//! Numbers in this machine's byte order, as the kernel's records have them (perf_event_open(2), "MMAP layout").

pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

pub fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

pub fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

pub fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// How many records are lost by a `PERF_RECORD_LOST`. Its body: id, how many (u64 each).
pub fn n_lost(body: &[u8]) -> u64 {
    long(body, 8).unwrap_or(1)
}
