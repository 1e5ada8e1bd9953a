// Metrics of policy checks and their duration, under Kubernetes' names.

import {
  type Counter,
  type Family,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';

const BUCKETS_SECONDS = [0.000_000_5, 0.001, 0.01, 0.1, 1];
const LABELS = ['policy', 'policy_binding', 'error_type'] as const;

export type ErrorType = 'no_error' | 'compile_error' | 'out_of_budget' | 'invalid_error';
export type EnforcementAction = 'allow' | 'deny' | 'audit' | 'warn';

/** Returns the type of error that a message describes; 'no_error' if there is none. */
export function errorTypeOf(problem: string | undefined): ErrorType {
  if (problem === undefined) return 'no_error';
  if (problem.startsWith('compilation')) return 'compile_error';
  return problem.startsWith('validation failed due to running out of cost budget')
    ? 'out_of_budget'
    : 'invalid_error';
}

export class PolicyMetrics {
  readonly #instruments = new Instruments();
  readonly #checks: Family<Counter>;
  readonly #durations: Family<Histogram>;

  constructor(kind: 'validating' | 'mutating') {
    const prefix = `apiserver_${kind}_admission_policy_check`;
    // Labels contain names of policies, so users with write access to policies determine the number
    // of series.
    const labels = [...LABELS, 'enforcement_action'];
    const what = kind === 'validating' ? 'expressions of validating' : 'mutations of mutating';
    this.#checks = this.#instruments.counter({
      name: `${prefix}_total`,
      help: `How many ${what} admission policies were gone through, by what came of it.`,
      labels,
    });
    this.#durations = this.#instruments.histogram(
      {
        name: `${prefix}_duration_seconds`,
        help: `How long ${what} admission policies took.`,
        labels,
      },
      BUCKETS_SECONDS,
    );
  }

  observe(
    policy: string,
    binding: string,
    error: ErrorType,
    action: EnforcementAction,
    seconds: number,
  ): void {
    this.#checks.with(policy, binding, error, action).value++;
    this.#durations.with(policy, binding, error, action).observe(seconds);
  }

  text(): string {
    return this.#instruments.text();
  }
}
