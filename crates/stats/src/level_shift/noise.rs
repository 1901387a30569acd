//! The noise between sessions, and its whitening by the Kalman filter.

/// Noise of a series: `u_t + e_t`. The session error `e` is independent. The wander `u` keeps
/// `phi` of itself from one session to the next; with `phi = 1` it is a random walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseModel {
    /// Share of the wander that the next session keeps, 0 to 1. 0: there is no wander.
    pub phi: f64,
    /// Standard deviation of the wander. Of its steps, if `phi` is 1.
    pub wander_sd: f64,
    /// Standard deviation of the session error.
    pub session_sd: f64,
}

/// The noise in units of the session error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoiseShape {
    pub(super) phi: f64,
    /// Variance of the wander (of its steps, if `phi` is 1) ÷ variance of the session error.
    pub(super) wander: f64,
}

/// The shapes that are tried, from independent sessions to a random walk. The last one of each
/// `phi` is nearly all wander.
pub(super) fn shapes() -> Vec<NoiseShape> {
    let mut all = vec![NoiseShape { phi: 0.0, wander: 0.0 }];
    for phi in [0.3, 0.6, 0.8, 0.9, 0.95, 0.98] {
        let wanders = [0.1, 0.3, 1.0, 3.0, 30.0];
        all.extend(wanders.map(|wander| NoiseShape { phi, wander }));
    }
    let walks = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 3.0];
    all.extend(walks.map(|wander| NoiseShape { phi: 1.0, wander }));
    all
}

/// The Kalman filter of one shape. Its gains do not depend on the data.
#[derive(Clone, Debug)]
pub(super) struct Whitener {
    pub(super) shape: NoiseShape,
    /// Gain at each session.
    gains: Vec<f64>,
    /// 1 ÷ standard deviation of the innovation at each session.
    precisions: Vec<f64>,
    /// Logarithm of the determinant of the covariance.
    pub(super) log_det: f64,
}

impl Whitener {
    pub(super) fn new(shape: NoiseShape, n: usize) -> Self {
        let NoiseShape { phi, wander } = shape;
        let (mut gains, mut precisions) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut log_det = 0.0;
        let is_walk = phi >= 1.0;
        // A random walk begins at the mean, which is estimated anyway.
        let mut variance = if is_walk { 0.0 } else { wander };
        let step = if is_walk { wander } else { wander * (1.0 - phi * phi) };
        for _ in 0..n {
            let innovation = variance + 1.0;
            let gain = variance / innovation;
            gains.push(gain);
            precisions.push(innovation.sqrt().recip());
            log_det += innovation.ln();
            variance = phi * phi * variance * (1.0 - gain) + step;
        }
        Self { shape, gains, precisions, log_det }
    }

    /// Innovations of a series, divided by their standard deviations: `L^-1 x` for the covariance
    /// `L L'`.
    pub(super) fn whiten(&self, xs: &[f64]) -> Vec<f64> {
        let mut state = 0.0;
        let of = |((x, gain), precision): ((&f64, &f64), &f64)| {
            let innovation = x - state;
            state = self.shape.phi * (state + gain * innovation);
            innovation * precision
        };
        xs.iter().zip(&self.gains).zip(&self.precisions).map(of).collect()
    }

    /// The series with these innovations: `L w`, the inverse of [`Self::whiten`].
    pub(super) fn colour(&self, ws: &[f64]) -> Vec<f64> {
        let mut state = 0.0;
        let of = |((w, gain), precision): ((&f64, &f64), &f64)| {
            let innovation = w / precision;
            let x = state + innovation;
            state = self.shape.phi * (state + gain * innovation);
            x
        };
        ws.iter().zip(&self.gains).zip(&self.precisions).map(of).collect()
    }

    /// Product of whitened values with the whitened step at each session, 0 at the end:
    /// `sum_{t >= tau} (L'^-1 w)_t`. It takes one pass of the adjoint filter for all steps.
    pub(super) fn step_products(&self, ws: &[f64]) -> Vec<f64> {
        let phi = self.shape.phi;
        let mut products = vec![0.0; ws.len() + 1];
        let (mut adjoint, mut sum) = (0.0, 0.0);
        for at in (0..ws.len()).rev() {
            let (gain, w) = (self.gains[at], ws[at] * self.precisions[at]);
            sum += w + phi * gain * adjoint;
            adjoint = phi * (1.0 - gain) * adjoint - w;
            products[at] = sum;
        }
        products
    }

    /// Products of whitened steps with each other, without whitening each of them.
    pub(super) fn step_norms(&self) -> StepNorms {
        let phi = self.shape.phi;
        let n = self.gains.len();
        let keeps: Vec<f64> = self.gains.iter().map(|gain| phi * (1.0 - gain)).collect();
        let rest = 1.0 - phi;
        let mut forms = vec![[0.0; 3]; n + 1];
        for at in (0..n).rev() {
            let ([a, b, c], keep) = (forms[at + 1], keeps[at]);
            forms[at] = [
                self.precisions[at].powi(2) + a * keep * keep,
                (2.0 * a * rest + b) * keep,
                (a * rest + b) * rest + c,
            ];
        }
        StepNorms { forms, keeps, rest }
    }
}

/// Products of whitened steps. The filter sees a unit step as an innovation `v` that begins with 1
/// and goes on with `v' = (1 - phi) + phi (1 - gain) v`. So the rest of its squared norm is a
/// quadratic form of `v`, and backward recursion gives all forms in one pass.
pub(super) struct StepNorms {
    /// `[a, b, c]` of `a v^2 + b v + c` from each session on.
    forms: Vec<[f64; 3]>,
    keeps: Vec<f64>,
    rest: f64,
}

impl StepNorms {
    /// Squared norm of each step.
    pub(super) fn squares(&self) -> Vec<f64> {
        self.forms.iter().map(|[a, b, c]| a + b + c).collect()
    }

    /// Innovations of each step at the step itself.
    pub(super) fn at_once(&self) -> Vec<f64> {
        vec![1.0; self.keeps.len()]
    }

    /// Moves the innovations of each step from `lag` sessions after it to the next session.
    pub(super) fn advance(&self, innovations: &mut [f64], lag: usize) {
        for (v, keep) in innovations.iter_mut().zip(&self.keeps[lag.min(self.keeps.len())..]) {
            *v = self.rest + keep * *v;
        }
    }

    /// Product of a step that has the innovation `v` at session `at` with the step at `at`.
    pub(super) fn product(&self, at: usize, v: f64) -> f64 {
        let [a, b, c] = self.forms[at];
        a * v + b * (v + 1.0) / 2.0 + c
    }
}
