//! Rules of a session that keep an attempt of a campaign honest.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::shell::replace_in_script;
use crate::plan::{Arm, Plan};

/// Stands for the arm's index in the validating command.
pub const ARM_WORD: &str = "{fair-play-arm}";

/// The validating command for an arm.
pub fn for_arm(validate: &str, arm: usize) -> String {
    validate.replace(ARM_WORD, &arm.to_string())
}

/// Rules that keep an attempt from winning without being faster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FairPlayRules {
    /// Words of commands and hooks that stand for another text in each block.
    pub words: Vec<BlockWord>,
    /// Whether a run is prevented from seeing, by its environment or its parent's name, that it is measured.
    #[serde(default)]
    pub is_undercover: bool,
}

/// A word that stands for another text in each block, the same for all arms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockWord {
    /// The word, for example `{seed}`.
    pub word: String,
    /// The texts, used in turns by the blocks. Warm-ups have the first.
    pub texts: Vec<String>,
}

impl FairPlayRules {
    /// Replaces the words of a block.
    pub fn filled(&self, text: &str, block: Option<u32>) -> String {
        self.filled_by(text, block, |text, word, by| text.replace(word, by))
    }

    /// Replaces the words of a block in a shell script.
    pub fn filled_script(&self, script: &str, block: Option<u32>) -> String {
        self.filled_by(script, block, replace_in_script)
    }

    /// Replaces the words of a block in a command. With a shell, the last word is a script.
    pub fn filled_argv(
        &self,
        argv: &[String],
        shell: Option<&[String]>,
        block: Option<u32>,
    ) -> Vec<String> {
        let is_script =
            |at: usize| at + 1 == argv.len() && shell.is_some_and(|shell| argv.starts_with(shell));
        let filled = |(at, word): (usize, &String)| match is_script(at) {
            true => self.filled_script(word, block),
            false => self.filled(word, block),
        };
        argv.iter().enumerate().map(filled).collect()
    }

    fn filled_by(
        &self,
        text: &str,
        block: Option<u32>,
        replace: impl Fn(&str, &str, &str) -> String,
    ) -> String {
        let mut filled = text.to_owned();
        for BlockWord { word, texts } in &self.words {
            let at = block.unwrap_or(0) as usize % texts.len().max(1);
            if let Some(text) = texts.get(at) {
                filled = replace(&filled, word, text);
            }
        }
        filled
    }
}

/// The rules and our hooks that keep the attempts of a session honest.
#[derive(Clone, Debug)]
pub struct FairPlayTerms {
    pub rules: FairPlayRules,
    /// The hook that makes the directory of a run anew.
    pub fresh: Option<FreshDirectory>,
    /// The hook that takes the digests of a run's outputs, unless the user has a validating command.
    pub digest: Option<String>,
}

/// A directory that is made anew before each run.
#[derive(Clone, Debug)]
pub struct FreshDirectory {
    pub path: String,
    /// The command line that makes it.
    pub hook: String,
}

impl FairPlayTerms {
    pub(super) fn apply(&self, plan: &mut Plan) {
        if let Some(fresh) = &self.fresh {
            plan.arms.iter_mut().for_each(|arm| fresh.precede(arm));
        }
        if let Some(digest) = &self.digest {
            plan.validate = Some(format!("exec {digest} {ARM_WORD}"));
        }
        plan.fair_play = Some(self.rules.clone());
    }
}

impl FreshDirectory {
    fn precede(&self, arm: &mut Arm) {
        let Self { path, hook } = self;
        arm.prepare = Some(match arm.prepare.take() {
            // The shell is still in the directory of the last run, which is gone.
            Some(own) => format!("{hook} && cd {} && {{ {own}\n}}", shell_words::quote(path)),
            None => format!("exec {hook}"),
        });
        arm.directories = vec![path.clone()];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_one_text_for_each_word() {
        let word = |word: &str, texts: &[&str]| BlockWord {
            word: word.into(),
            texts: texts.iter().map(|&text| text.into()).collect(),
        };
        let words = vec![word("{input}", &["a", "b"]), word("{seed}", &["1", "2", "3"])];
        let rules = FairPlayRules { words, is_undercover: false };
        let filled = |block| rules.filled("p {input} -s{seed} {x}", block);
        assert_eq!(filled(None), "p a -s1 {x}");
        assert_eq!(filled(Some(1)), "p b -s2 {x}");
        assert_eq!(filled(Some(3)), "p b -s1 {x}");
    }

    #[test]
    fn a_text_with_blanks_is_one_word_of_a_script() {
        let word = BlockWord { word: "{input}".into(), texts: vec!["/a b".into()] };
        let rules = FairPlayRules { words: vec![word], is_undercover: false };
        let script = r#"x {input} "{input}" '{input}' \"{input} <{input}.z"#;
        let expected = r#"x '/a b' "/a b" '/a b' \"'/a b' <'/a b'.z"#;
        assert_eq!(rules.filled_script(script, None), expected);
        let argv = ["sh", "-c", "cat {input}"].map(String::from);
        let filled = |shell| rules.filled_argv(&argv, shell, None);
        assert_eq!(filled(Some(&argv[..1])), ["sh", "-c", "cat '/a b'"]);
        assert_eq!(filled(None), ["sh", "-c", "cat /a b"]);
    }
}
