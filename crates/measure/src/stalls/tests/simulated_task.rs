//! A task of a made-up run.

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Copy)]
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % n
    }

    pub fn is(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Action {
    Run(u64),
    /// Sleeps for so many steps.
    Timer(u64),
    MakeThread,
    MakeProcess,
    /// Waits until one of its children has ended.
    WaitForChild,
    /// Waits for a post, or posts.
    Wait,
    Post,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedState {
    Ready,
    On(usize),
    Timer(u64),
    Child,
    Post,
    Gone,
}

#[derive(Clone, Debug)]
pub struct SimulatedTask {
    pub number: u32,
    pub parent: usize,
    pub process: u32,
    pub actions: Vec<Action>,
    pub state: SimulatedState,
    /// Remaining steps of the action on a CPU.
    pub left: u64,
    /// After the last record.
    pub is_ending: bool,
    /// The task and all threads of its process have ended, and nothing has waited for that yet.
    pub is_zombie: bool,
    pub is_reaped: bool,
    pub cpu_steps: u64,
    pub waited_steps: u64,
    pub tail_steps: u64,
    pub slept_since: u64,
    /// The sleep that something outside ended, until the task continues.
    pub outside: Option<(u64, u64)>,
}

impl SimulatedTask {
    pub fn made_up(random: &mut Random, number: u32, parent: usize, process: u32) -> Self {
        let n_actions = 1 + random.below(8);
        let mut action = || match random.below(12) {
            0..4 => Action::Run(1 + random.below(30)),
            4 | 5 => Action::Timer(1 + random.below(60)),
            6 => Action::MakeThread,
            7 | 8 => Action::MakeProcess,
            9 => Action::WaitForChild,
            10 => Action::Wait,
            _ => Action::Post,
        };
        Self {
            number,
            parent,
            process,
            actions: (0..n_actions).map(|_| action()).collect(),
            state: SimulatedState::Ready,
            left: 0,
            is_ending: false,
            is_zombie: false,
            is_reaped: false,
            cpu_steps: 0,
            waited_steps: 0,
            tail_steps: 0,
            slept_since: 0,
            outside: None,
        }
    }
}
