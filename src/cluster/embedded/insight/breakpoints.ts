// Breakpoints: a request is held before it is served, and a virtual clock stands at that moment.

import * as apierrors from '#machinery/apierrors.ts';
import { VirtualClock, type Clock } from '#machinery/clock.ts';
import { WaitTimeoutError } from '#machinery/wait.ts';
import type { Recorder } from './recorder.ts';
import type { PendingRequest } from './records.ts';
import type { BreakpointCondition, BreakpointOptions, HeldRequest } from './types.ts';

const VIRTUAL_TIMEOUT_MS = 3_600_000;
const TIMEOUT_MS = 60_000;

interface Breakpoint {
  readonly matches: (request: PendingRequest) => boolean;
  hit: HeldRequest | undefined;
  onHit: () => void;
}

export class Breakpoints {
  readonly #recorder: Recorder;
  readonly #clock: Clock;
  readonly #waiting = new Set<Breakpoint>();
  readonly #held = new Set<HeldRequest>();

  constructor(recorder: Recorder, clock: Clock) {
    this.#recorder = recorder;
    this.#clock = clock;
  }

  /** Lets time pass until a request meets the condition. Rejects with WaitTimeoutError. */
  async next(
    condition: BreakpointCondition,
    { timeoutMs }: BreakpointOptions = {},
  ): Promise<HeldRequest> {
    let onHit = (): void => undefined;
    const hit = new Promise<void>((resolve) => (onHit = resolve));
    const breakpoint: Breakpoint = { matches: matcherOf(condition), hit: undefined, onHit };
    this.#waiting.add(breakpoint);
    this.#recorder.gate = (request) => this.#meet(request);
    try {
      await this.#wait(breakpoint, hit, timeoutMs);
    } finally {
      this.#waiting.delete(breakpoint);
      if (this.#waiting.size === 0) this.#recorder.gate = undefined;
    }
    return breakpoint.hit as unknown as HeldRequest;
  }

  /** Fails all requests that are held. */
  close(): void {
    for (const held of this.#held) held.fail(apierrors.serviceUnavailable('the cluster stops'));
  }

  async #wait(
    breakpoint: Breakpoint,
    hit: Promise<void>,
    timeoutMs: number | undefined,
  ): Promise<void> {
    const clock = this.#clock;
    if (clock instanceof VirtualClock) {
      try {
        await clock.runUntil(() => breakpoint.hit !== undefined, timeoutMs ?? VIRTUAL_TIMEOUT_MS);
      } catch (error) {
        // A callback of a timer has failed if it is another error.
        if (!(error instanceof Error) || !error.message.startsWith('virtual clock: the condition'))
          throw error;
        throw new WaitTimeoutError(`no request has met the breakpoint: ${error.message}`);
      }
      return;
    }
    const timeout = new AbortController();
    const expired = clock.sleep(timeoutMs ?? TIMEOUT_MS, timeout.signal).then(() => {
      throw new WaitTimeoutError('no request has met the breakpoint in time');
    });
    try {
      await Promise.race([hit, expired]);
    } finally {
      timeout.abort();
      expired.catch(() => undefined);
    }
  }

  #meet(request: PendingRequest): Promise<void> | undefined {
    for (const breakpoint of this.#waiting) {
      if (breakpoint.hit !== undefined || !breakpoint.matches(request)) continue;
      return new Promise((resolve, reject) => {
        const held: HeldRequest = {
          request,
          resume: () => {
            this.#held.delete(held);
            resolve();
          },
          fail: (error) => {
            this.#held.delete(held);
            reject(error);
          },
        };
        this.#held.add(held);
        request.signal.addEventListener('abort', () => held.fail(request.signal.reason as Error), {
          once: true,
        });
        breakpoint.hit = held;
        breakpoint.onHit();
      });
    }
    return undefined;
  }
}

function matcherOf(condition: BreakpointCondition): (request: PendingRequest) => boolean {
  if (typeof condition === 'function') return condition;
  const fields = Object.entries(condition) as [keyof PendingRequest, unknown][];
  return (request) =>
    fields.every(([field, value]) => value === undefined || request[field] === value);
}
