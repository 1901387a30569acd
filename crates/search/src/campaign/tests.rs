mod simulation;

use super::*;

fn program(command: &str) -> Program {
    Program { command: command.into(), commit: None, digest: None }
}

fn campaign() -> Campaign {
    let rules = CampaignRules { control: ErrorControl::Fwer, alpha: 0.05, n_planned: 10 };
    Campaign::new(rules, program("old"))
}

fn gain(ratio: f64, half: f64, n_pairs: usize) -> Gain {
    let [lo, hi] = [-half, half].map(|d| Some(ratio * f64::exp(d)));
    Gain { ratio, lo, hi, alpha: 0.0316, p: 0.01, mean: ratio, mean_lo: lo, mean_hi: hi, n_pairs }
}

fn attempt(campaign: &mut Campaign, name: &str, answer: AttemptAnswer, is_spent: bool) {
    let level = campaign.next_level();
    campaign.take(&CampaignEvent::Began { name: name.into(), program: program(name), level });
    campaign.take(&CampaignEvent::Ended(Box::new(AttemptEnd {
        is_spent,
        confirmation: Some(gain(0.9, 0.01, 20)),
        whole: Some(gain(0.8, 0.01, 20)),
        seconds: 2.0,
        ..AttemptEnd::bare(answer, AnswerReason::Budget)
    })));
}

#[test]
fn the_state_is_the_last_accepted_attempt() {
    let mut campaign = campaign();
    assert_eq!(campaign.current().command, "old");
    attempt(&mut campaign, "a", AttemptAnswer::Rejected, true);
    attempt(&mut campaign, "b", AttemptAnswer::Accepted, true);
    attempt(&mut campaign, "c", AttemptAnswer::NotDecided, true);
    assert_eq!(campaign.current().command, "b");
    assert_eq!(campaign.whole_gain().unwrap().ratio, 0.8);
    assert_eq!(campaign.seconds(), 6.0);
    let whole = |left_out, ratio| CampaignEvent::Whole {
        left_out,
        gain: gain(ratio, 0.01, 20),
        seconds: 1.0,
        records: Vec::new(),
    };
    campaign.take(&whole(None, 0.85));
    campaign.take(&whole(Some(1), 0.99));
    assert_eq!(campaign.whole_gain().unwrap().ratio, 0.85);
    let shares = |campaign: &Campaign| -> Vec<(usize, f64)> {
        campaign.contributions().iter().map(|(index, gain)| (*index, gain.ratio)).collect()
    };
    assert_eq!(shares(&campaign), [(1, 0.99)]);
    campaign.take(&whole(Some(1), 0.98));
    assert_eq!(shares(&campaign), [(1, 0.98)]);
    // A comparison of an earlier state says nothing about the next one.
    attempt(&mut campaign, "d", AttemptAnswer::Accepted, true);
    assert_eq!(campaign.whole_gain().unwrap().ratio, 0.8);
    assert_eq!(shares(&campaign), []);
}

#[test]
fn a_killed_attempt_has_spent_its_level_and_one_that_never_ran_has_not() {
    let mut campaign = campaign();
    let first = campaign.next_level();
    attempt(&mut campaign, "broken", AttemptAnswer::Rejected, false);
    assert_eq!((campaign.n_spent(), campaign.next_level()), (0, first));
    let program = program("killed");
    campaign.take(&CampaignEvent::Began { name: "killed".into(), program, level: first });
    assert_eq!(campaign.n_spent(), 1);
    assert_eq!(campaign.current().command, "old");
}

#[test]
fn the_name_of_an_attempt_without_an_answer_is_free_unless_it_was_compared() {
    let mut campaign = campaign();
    attempt(&mut campaign, "full disk", AttemptAnswer::NotDecided, false);
    attempt(&mut campaign, "compared", AttemptAnswer::NotDecided, true);
    attempt(&mut campaign, "broken", AttemptAnswer::Rejected, false);
    let taken = ["full disk", "compared", "broken", "new"].map(|name| campaign.is_taken(name));
    assert_eq!(taken, [false, true, true, false]);
}

#[test]
fn an_accepted_attempt_hands_its_level_on() {
    let mut campaign = campaign();
    let first = campaign.next_level();
    attempt(&mut campaign, "a", AttemptAnswer::Accepted, true);
    assert!((campaign.next_level() - 2.0 * first).abs() < 1e-15);
}

#[test]
fn a_smaller_gain_needs_more_blocks() {
    // In Python: 40 * (0.01 / 2.149434 / (0.2 * 0.8 * 0.0100503)) ** 2 is 334.8.
    assert_eq!(confirmation_blocks(&gain(0.99, 0.01, 40)), 335);
    assert_eq!(confirmation_blocks(&gain(0.8, 0.01, 40)), 50);
    assert_eq!(confirmation_blocks(&gain(0.8, 0.01, 10)), BLOCKS_MIN);
    assert_eq!(confirmation_blocks(&gain(1.0, 0.01, 10)), BLOCKS_MIN);
    assert_eq!(confirmation_blocks(&Gain { hi: None, ..gain(0.9, 0.1, 10) }), BLOCKS_MIN);
}

#[test]
fn a_confirmation_needs_the_level_and_the_size() {
    let found = Gain { p: 0.03, ..gain(0.98, 0.01, 40) };
    assert!(is_confirmed(&found, 0.0, 0.0158) && !is_confirmed(&found, 0.0, 0.0149));
    // The interval ends at 0.98 e^0.01 = 0.98985.
    assert!(is_confirmed(&found, 0.01, 0.0158) && !is_confirmed(&found, 0.011, 0.0158));
    assert!(!is_confirmed(&Gain { p: 0.001, ..gain(1.02, 0.01, 40) }, 0.0, 0.0158));
}
