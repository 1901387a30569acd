//! Strings for execve(2) that are reused from run to run, so assembling an environment costs next to nothing.

use std::ffi::{CString, c_char};
use std::marker::PhantomData;

/// A list of C strings with the null-terminated array of pointers that execve takes.
#[derive(Debug)]
pub struct CStrings {
    /// Owns the strings. They stay where they are when the list moves, and nothing changes them.
    _strings: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl CStrings {
    pub fn new(strings: impl IntoIterator<Item = CString>) -> Self {
        let strings: Vec<CString> = strings.into_iter().collect();
        let mut pointers: Vec<_> = strings.iter().map(|string| string.as_ptr()).collect();
        pointers.push(std::ptr::null());
        Self { _strings: strings, pointers }
    }

    /// The array, which ends with a null pointer; valid as long as the list is borrowed.
    pub(super) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }

    /// The array without its end.
    fn entries(&self) -> &[*const c_char] {
        &self.pointers[..self.pointers.len() - 1]
    }
}

/// The memory for the environments of one run after another: a fixed base, a few variables that change, and a padding
/// variable of any length. Its pointers may dangle between two runs; only an [`Envp`] gives access to them.
#[derive(Debug)]
pub struct Environment {
    pointers: Vec<*const c_char>,
    added: Vec<CString>,
    /// `NAME=xxx…`. A NUL that moves ends the padding of a run.
    padding: Vec<u8>,
    name_bytes: usize,
    /// Where that NUL is.
    end: Option<usize>,
}

/// The environment of one run, for execve.
///
/// It borrows the base and the memory that holds the rest, so neither can change or go away while it exists. No test
/// can show that: a program which breaks the rule does not compile, and rustdoc runs no `compile_fail` example of a
/// binary crate.
#[derive(Clone, Copy, Debug)]
pub struct Envp<'a> {
    /// An array that ends with a null pointer; the rest points to strings that live for `'a`.
    pointers: *const *const c_char,
    borrowed: PhantomData<&'a (CStrings, Environment)>,
}

impl Envp<'_> {
    pub(super) fn as_ptr(self) -> *const *const c_char {
        self.pointers
    }
}

impl Environment {
    /// Makes the memory, with the name of the padding variable.
    pub fn new(padding_variable: &str) -> Self {
        let padding = format!("{padding_variable}=").into_bytes();
        let name_bytes = padding.len();
        Self { pointers: Vec::new(), added: Vec::new(), padding, name_bytes, end: None }
    }

    /// Assembles an environment: the base, the added variables, and the padding, if any. It allocates only memory that
    /// no earlier environment needed, and the memory for `added`.
    pub fn assemble<'a>(
        &'a mut self,
        base: &'a CStrings,
        added: impl IntoIterator<Item = CString>,
        padding_bytes: Option<u32>,
    ) -> Envp<'a> {
        self.added.clear();
        self.added.extend(added);
        self.pointers.clear();
        self.pointers.extend(base.entries());
        self.pointers.extend(self.added.iter().map(|string| string.as_ptr()));
        if let Some(padding_bytes) = padding_bytes {
            let end = self.name_bytes + padding_bytes as usize;
            if self.padding.len() <= end {
                self.padding.resize(end + 1, b'x');
            }
            // The last padding may have been shorter.
            if let Some(last) = self.end.replace(end) {
                self.padding[last] = b'x';
            }
            self.padding[end] = 0;
            self.pointers.push(self.padding.as_ptr().cast());
        }
        self.pointers.push(std::ptr::null());
        Envp { pointers: self.pointers.as_ptr(), borrowed: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The strings of an array that ends with a null pointer.
    fn entries(environment: Envp<'_>) -> Vec<String> {
        let pointers = (0..).map(|index| {
            // SAFETY: the array ends with a null pointer, where `take_while` stops.
            unsafe { *environment.as_ptr().add(index) }
        });
        let strings = pointers.take_while(|pointer| !pointer.is_null()).map(|pointer| {
            // SAFETY: the strings live as long as the environment.
            unsafe { std::ffi::CStr::from_ptr(pointer) }
        });
        strings.map(|string| string.to_str().unwrap().to_owned()).collect()
    }

    fn c(text: &str) -> CString {
        CString::new(text).unwrap()
    }

    #[test]
    fn paddings_of_all_lengths_follow_each_other() {
        let base = CStrings::new([c("A=1"), c("B=2")]);
        let mut environment = Environment::new("PAD");
        for n_bytes in [3, 0, 5000, 4, 4, 70] {
            let padding = format!("PAD={}", "x".repeat(n_bytes as usize));
            let assembled = environment.assemble(&base, [c("N=7")], Some(n_bytes));
            assert_eq!(entries(assembled), ["A=1", "B=2", "N=7", &padding]);
        }
        assert_eq!(entries(environment.assemble(&base, [], None)), ["A=1", "B=2"]);
    }

    #[test]
    fn an_environment_can_be_assembled_of_another_base_when_the_first_is_gone() {
        let mut environment = Environment::new("PAD");
        let first = CStrings::new([c("A=1")]);
        assert_eq!(entries(environment.assemble(&first, [c("N=7")], None)), ["A=1", "N=7"]);
        drop(first);
        let second = CStrings::new([]);
        assert_eq!(entries(environment.assemble(&second, [], None)), [""; 0]);
    }

    /// A run costs no allocation, however many runs there are.
    #[test]
    fn the_memory_is_used_again() {
        let base = CStrings::new([c("A=1"), c("B=2")]);
        let mut environment = Environment::new("PAD");
        let first = environment.assemble(&base, [c("N=7")], Some(70)).as_ptr();
        let padding = environment.padding.as_ptr();
        for n_bytes in [70, 3, 0] {
            assert_eq!(environment.assemble(&base, [c("N=8")], Some(n_bytes)).as_ptr(), first);
            assert_eq!(environment.padding.as_ptr(), padding);
        }
    }
}
