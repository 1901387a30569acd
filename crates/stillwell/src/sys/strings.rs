//! Strings for execve, kept ready from run to run: what lies between two runs should cost next to nothing.

use std::ffi::{CString, c_char};

/// A list of C strings with the null-terminated pointer array that execve wants.
#[derive(Debug)]
pub struct CStrings {
    /// Owns what the pointers point to.
    _strings: Vec<CString>,
    pub(super) pointers: Vec<*const c_char>,
}

impl CStrings {
    /// Makes the array.
    pub fn new(strings: impl IntoIterator<Item = CString>) -> Self {
        let strings: Vec<CString> = strings.into_iter().collect();
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { _strings: strings, pointers }
    }
}

/// The environment of one run: a base that stays, a few variables that change, and a padding variable of any length.
#[derive(Debug)]
pub struct Environment {
    pub(super) pointers: Vec<*const c_char>,
    added: Vec<CString>,
    /// `NAME=xxx…`; the run's padding ends at a NUL that is moved.
    padding: Vec<u8>,
    name_bytes: usize,
    end: Option<usize>,
}

impl Environment {
    /// An empty one, with the name of the padding variable.
    pub fn new(padding_variable: &str) -> Self {
        let padding = format!("{padding_variable}=").into_bytes();
        let name_bytes = padding.len();
        Self { pointers: vec![std::ptr::null()], added: Vec::new(), padding, name_bytes, end: None }
    }

    /// Replaces it: the base, then the added variables, then the padding, if there is to be one. The base must stay
    /// where it is until the run has started.
    pub fn assemble(
        &mut self,
        base: &CStrings,
        added: impl IntoIterator<Item = CString>,
        padding_bytes: Option<u32>,
    ) {
        self.added.clear();
        self.added.extend(added);
        self.pointers.clear();
        self.pointers.extend(base.pointers.iter().take_while(|pointer| !pointer.is_null()));
        self.pointers.extend(self.added.iter().map(|string| string.as_ptr()));
        if let Some(padding_bytes) = padding_bytes {
            let end = self.name_bytes + padding_bytes as usize;
            if self.padding.len() <= end {
                self.padding.resize(end + 1, b'x');
            }
            // Where the last padding ended there is nothing special any more.
            if let Some(last) = self.end.replace(end) {
                self.padding[last] = b'x';
            }
            self.padding[end] = 0;
            self.pointers.push(self.padding.as_ptr().cast());
        }
        self.pointers.push(std::ptr::null());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(environment: &Environment) -> Vec<String> {
        let pointers = environment.pointers.iter().take_while(|pointer| !pointer.is_null());
        // SAFETY: every pointer is to a string that the environment or its base still owns.
        let strings = pointers.map(|&pointer| unsafe { std::ffi::CStr::from_ptr(pointer) });
        strings.map(|string| string.to_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn paddings_of_all_lengths_follow_each_other() {
        let c = |text: &str| CString::new(text).unwrap();
        let base = CStrings::new([c("A=1"), c("B=2")]);
        let mut environment = Environment::new("PAD");
        for n_bytes in [3, 0, 5000, 4, 4, 70] {
            environment.assemble(&base, [c("N=7")], Some(n_bytes));
            let padding = format!("PAD={}", "x".repeat(n_bytes as usize));
            assert_eq!(entries(&environment), ["A=1", "B=2", "N=7", &padding]);
        }
        environment.assemble(&base, [], None);
        assert_eq!(entries(&environment), ["A=1", "B=2"]);
    }
}
