//! The program's sources as modules: the file, the definitions and the paths of each.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Item, UseTree, Visibility};

use super::CRATES;

/// A path that begins with the name of a crate: `["host", "knobs", "Knob"]`.
pub type ModulePath = Vec<String>;

/// One module, in a file of its own or inline.
#[derive(Debug, Default)]
pub struct Module {
    /// The file that it is in, from `crates/`.
    pub file: PathBuf,
    /// Names of its `use` items, and the paths that they stand for.
    pub bindings: BTreeMap<String, ModulePath>,
    /// Paths whose names are all bound here (`use a::b::*`).
    pub globs: Vec<ModulePath>,
    /// Every path in these crates that the module names.
    pub paths: BTreeSet<ModulePath>,
    /// Names of the types that it defines, and whether they are visible outside of it.
    pub types: Vec<(String, bool)>,
}

/// All modules, by their path.
pub type Modules = BTreeMap<ModulePath, Module>;

/// Reads the modules of the program's crates, from their root files on.
pub fn read() -> Modules {
    let mut modules = Modules::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for name in CRATES {
        let root = PathBuf::from(name).join("src");
        let files = ["lib.rs", "main.rs"].map(|file| root.join(file));
        let file = files.into_iter().find(|file| crates.join(file).exists()).unwrap();
        let text = std::fs::read_to_string(crates.join(&file)).unwrap();
        add(
            &mut modules,
            &crates,
            vec![name.into()],
            &file,
            &syn::parse_file(&text).unwrap().items,
        );
    }
    modules
}

fn add(modules: &mut Modules, root: &Path, path: ModulePath, file: &Path, items: &[Item]) {
    let mut module = Module { file: file.into(), ..Module::default() };
    let mut children = Vec::new();
    for item in items {
        match item {
            Item::Use(item) => flatten(&item.tree, &mut Vec::new(), &path, &mut module),
            Item::Mod(child) => children.push(child),
            other => {
                module.types.extend(type_name(other));
                named_paths(other.to_token_stream(), &path, &mut module.paths);
            }
        }
    }
    modules.insert(path.clone(), module);
    for child in children {
        let name = child.ident.to_string();
        let child_path: ModulePath = path.iter().cloned().chain([name.clone()]).collect();
        // Test code in another directory.
        if child.attrs.iter().any(|attribute| attribute.path().is_ident("path")) {
            continue;
        }
        if let Some((_, items)) = &child.content {
            add(modules, root, child_path, file, items);
            continue;
        }
        let directory = Path::new(&path[0]).join("src").join(path[1..].iter().collect::<PathBuf>());
        let candidates = [format!("{name}.rs"), format!("{name}/mod.rs")];
        let child_file = candidates.map(|name| directory.join(name));
        let child_file = child_file.into_iter().find(|file| root.join(file).exists());
        let child_file = child_file.unwrap_or_else(|| panic!("no file of {child_path:?}"));
        let text = std::fs::read_to_string(root.join(&child_file)).unwrap();
        let items = syn::parse_file(&text).unwrap().items;
        add(modules, root, child_path, &child_file, &items);
    }
}

fn type_name(item: &Item) -> Option<(String, bool)> {
    let (name, visibility) = match item {
        Item::Struct(item) => (&item.ident, &item.vis),
        Item::Enum(item) => (&item.ident, &item.vis),
        Item::Trait(item) => (&item.ident, &item.vis),
        Item::Type(item) => (&item.ident, &item.vis),
        _ => return None,
    };
    Some((name.to_string(), !matches!(visibility, Visibility::Inherited)))
}

/// Adds the bindings of a `use` tree. Paths of other crates have no meaning here.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, at: &ModulePath, module: &mut Module) {
    let mut bind = |name: String, path: &[String]| {
        if let Some(path) = absolute(path, at) {
            module.paths.insert(path.clone());
            module.bindings.insert(name, path);
        }
    };
    match tree {
        UseTree::Path(tree) => {
            prefix.push(tree.ident.to_string());
            flatten(&tree.tree, prefix, at, module);
            prefix.pop();
        }
        UseTree::Group(group) => {
            group.items.iter().for_each(|tree| flatten(tree, prefix, at, module));
        }
        UseTree::Name(tree) if tree.ident == "self" => {
            bind(prefix.last().cloned().unwrap_or_default(), prefix);
        }
        UseTree::Name(tree) => {
            let path: Vec<String> =
                prefix.iter().cloned().chain([tree.ident.to_string()]).collect();
            bind(tree.ident.to_string(), &path);
        }
        UseTree::Rename(tree) => {
            let path: Vec<String> =
                prefix.iter().cloned().chain([tree.ident.to_string()]).collect();
            bind(tree.rename.to_string(), &path);
        }
        UseTree::Glob(_) => {
            if let Some(path) = absolute(prefix, at) {
                module.paths.insert(path.clone());
                module.globs.push(path);
            }
        }
    }
}

/// The path from the crate's name on. `None` if it is empty.
fn absolute(path: &[String], at: &ModulePath) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => at[..1].to_vec(),
        _ if CRATES.contains(&first.as_str()) => vec![first.clone()],
        "self" => at.clone(),
        "super" => at[..at.len() - 1].to_vec(),
        // A `use` of a child, as in `pub use knobs::Knob`.
        _ => {
            let mut path = at.clone();
            path.push(first.clone());
            path
        }
    };
    for name in rest {
        if name == "super" {
            base.pop();
        } else {
            base.push(name.clone());
        }
    }
    Some(base)
}

/// Paths that begin with `crate::`, `super::` or the name of a crate, also in the arguments of macros, which syn does not parse.
fn named_paths(tokens: TokenStream, at: &ModulePath, found: &mut BTreeSet<ModulePath>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut index = 0;
    while index < tokens.len() {
        match &tokens[index] {
            TokenTree::Group(group) => named_paths(group.stream(), at, found),
            TokenTree::Ident(ident) if begins_a_path(ident, &tokens[index + 1..]) => {
                let mut path = vec![ident.to_string()];
                while let Some(name) = next_segment(&tokens[index + 1..]) {
                    path.push(name);
                    index += 3;
                }
                found.extend(absolute(&path, at));
            }
            _ => {}
        }
        index += 1;
    }
}

fn begins_a_path(ident: &Ident, rest: &[TokenTree]) -> bool {
    let word = ident.to_string();
    ["crate", "super"].contains(&&*word)
        || (CRATES.contains(&&*word) && next_segment(rest).is_some())
}

fn next_segment(tokens: &[TokenTree]) -> Option<String> {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(it) if it.as_char() == ':');
    match tokens {
        [first, second, TokenTree::Ident(name), ..] if is_colon(first) && is_colon(second) => {
            Some(name.to_string())
        }
        _ => None,
    }
}

/// The file in which the thing with this path is defined, through all `pub use` on the way.
pub fn defining_file(modules: &Modules, path: &ModulePath) -> Option<PathBuf> {
    resolve(modules, path, 0).map(|at| modules[&at].file.clone())
}

/// The module that defines it, or that it is.
fn resolve(modules: &Modules, path: &ModulePath, depth: usize) -> Option<ModulePath> {
    const DEPTH_MAX: usize = 16;
    let mut at = Vec::new();
    for (index, name) in path.iter().enumerate() {
        let child: ModulePath = at.iter().cloned().chain([name.clone()]).collect();
        if modules.contains_key(&child) {
            at = child;
            continue;
        }
        let module = modules.get(&at)?;
        if module.types.iter().any(|(known, _)| known == name) {
            return Some(at);
        }
        let rest = &path[index + 1..];
        let through =
            |target: &ModulePath| -> ModulePath { target.iter().chain(rest).cloned().collect() };
        if let Some(target) = module.bindings.get(name).filter(|_| depth < DEPTH_MAX) {
            return resolve(modules, &through(target), depth + 1);
        }
        return Some(at);
    }
    Some(at)
}
