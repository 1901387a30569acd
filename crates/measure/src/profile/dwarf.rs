//! Inlined functions and source lines, from a file's debug information.

use std::cell::OnceCell;
use std::fmt;
use std::path::PathBuf;

use addr2line::Loader;

use crate::profile::names::{file_name, readable};

/// Deepest level of inlining.
const DEPTH_MAX: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionAt {
    pub name: String,
    pub line: Option<(String, u32)>,
}

/// The debug information of a file, mapped and read when first needed.
pub struct DebugInformation {
    file: PathBuf,
    /// The file with what several debug files share (dwz).
    common: Option<PathBuf>,
    loader: OnceCell<Option<Loader>>,
}

impl fmt::Debug for DebugInformation {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("DebugInformation").field("file", &self.file).finish_non_exhaustive()
    }
}

impl DebugInformation {
    pub fn new(file: PathBuf, common: Option<PathBuf>) -> Self {
        Self { file, common, loader: OnceCell::new() }
    }

    /// The functions at an address: the innermost inlined one first. Empty if the file does not tell.
    pub fn functions_at(&self, address: u64) -> Vec<FunctionAt> {
        let load = || Loader::new_with_sup(&self.file, self.common.as_ref()).ok();
        let mut functions = Vec::new();
        let Some(loader) = self.loader.get_or_init(load) else { return functions };
        let Ok(mut frames) = loader.find_frames(address) else { return functions };
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|it| it.raw_name().ok()) else {
                break;
            };
            let line =
                frame.location.and_then(|it| Some((file_name(it.file?).into_owned(), it.line?)));
            functions.push(FunctionAt { name: readable(&name), line });
            if functions.len() > DEPTH_MAX {
                break;
            }
        }
        functions
    }
}
