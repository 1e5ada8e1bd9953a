// Probes one container instance periodically, and reports changes of the verdict.

import type { Clock, Timer } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Probe } from '../types.ts';
import type { ProbeOutcome } from './probe-runner.ts';

export type ProbeType = 'startup' | 'liveness' | 'readiness';
export type Verdict = 'success' | 'failure';

export interface ProbeWorkerConfig {
  readonly type: ProbeType;
  readonly probe: Probe;
  /** The start time of the instance, in wall-clock milliseconds. */
  readonly startedAt: number;
  readonly clock: Clock;
  /**
   * Added to the first delay, so that probes are spread over time after a restart. Milliseconds.
   */
  readonly jitterMs: number;
  readonly run: (probe: Probe, signal: AbortSignal) => Promise<ProbeOutcome>;
  readonly onOutcome: (outcome: ProbeOutcome) => void;
  /** Called when the verdict has changed; not again for a failed liveness or startup probe. */
  readonly onVerdict: (verdict: Verdict) => void;
}

const DEFAULT_PERIOD_SECONDS = 10;
const DEFAULT_FAILURE_THRESHOLD = 3;

export class ProbeWorker {
  readonly #config: ProbeWorkerConfig;
  readonly #abort = new AbortController();
  #timer: Timer | undefined;
  /** The number of consecutive equal outcomes. */
  #streak = 0;
  #last: Verdict | undefined;
  #verdict: Verdict | undefined;

  constructor(config: ProbeWorkerConfig) {
    this.#config = config;
    const delay =
      (config.probe.initialDelaySeconds ?? 0) * 1000 - (config.clock.now() - config.startedAt);
    this.#schedule(Math.max(delay, 0) + config.jitterMs);
  }

  stop(): void {
    this.#timer?.cancel();
    this.#abort.abort(new Error('the probe is stopped'));
  }

  #schedule(delayMs: number): void {
    this.#timer = this.#config.clock.setTimer(delayMs, () => void this.#tick());
  }

  async #tick(): Promise<void> {
    const { signal } = this.#abort;
    const { probe, type } = this.#config;
    let outcome: ProbeOutcome;
    try {
      outcome = await this.#config.run(probe, signal);
    } catch (error) {
      if (signal.aborted) return;
      outcome = { result: 'error', message: errorMessage(error) };
    }
    if (signal.aborted) return;
    this.#config.onOutcome(outcome);
    this.#count(
      outcome.result === 'success' || outcome.result === 'warning' ? 'success' : 'failure',
    );
    if (signal.aborted) return;
    // A container with a failed probe is about to be restarted: its next instance has its own
    // worker.
    if (type !== 'readiness' && this.#verdict === 'failure') return;
    this.#schedule((probe.periodSeconds ?? DEFAULT_PERIOD_SECONDS) * 1000);
  }

  #count(verdict: Verdict): void {
    const { probe } = this.#config;
    this.#streak = this.#last === verdict ? this.#streak + 1 : 1;
    this.#last = verdict;
    const needed =
      verdict === 'success'
        ? (probe.successThreshold ?? 1)
        : (probe.failureThreshold ?? DEFAULT_FAILURE_THRESHOLD);
    if (this.#streak < needed || this.#verdict === verdict) return;
    this.#verdict = verdict;
    this.#config.onVerdict(verdict);
  }
}
