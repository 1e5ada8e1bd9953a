// Leader election by a Lease. Its holder renews it; other candidates take it when it has not been
// renewed for the lease duration.
//
// Not guaranteed: that there is never more than one leader. With clocks of different speed, or
// after a leader was suspended, terms can overlap. Clocks of different machines are not compared:
// the age of a lease counts from the moment when its change was observed. An action that must not
// happen twice needs a precondition in its own write.

import { leases, type Lease } from '#api/groups/coordination/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import * as wait from '#machinery/wait.ts';
import { LinkedAbort } from './abort.ts';
import type { Client } from './client.ts';
import type { Recorder } from './events/event-recorder.ts';
import { ReleaseWatch } from './lease-release.ts';
import { formatMicroTime } from '#machinery/text/time.ts';

export interface LeaderElectorConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The namespace and name of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** The unique name of this candidate. */
  readonly identity: string;
  /**
   * The time that other candidates wait after the last renewal they observed. Whole seconds.
   * Default: 15 s.
   */
  readonly leaseDurationMs?: number;
  /**
   * The time in which the leader tries to renew before it stops leading. Less than leaseDurationMs.
   * Default: 10 s.
   */
  readonly renewDeadlineMs?: number;
  /** The time between two attempts. Default: 2 s. */
  readonly retryPeriodMs?: number;
  /** Release the lease when stopping, so that the next leader need not wait. Default: true. */
  readonly releaseOnStop?: boolean;
  /**
   * Runs while this candidate is the leader. The signal aborts when leading ends; the work must end
   * then.
   */
  readonly onStartedLeading: (signal: AbortSignal) => Promise<void>;
  readonly onNewLeader?: (identity: string) => void;
  /** Records the events «became leader» and «stopped leading». */
  readonly recorder?: Recorder;
}

const JITTER = 1.2;

export class LeaderElector {
  readonly #config: LeaderElectorConfig;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  /** The last observed or written lease, and the time of that on the clock's monotonic scale. */
  #observed: { readonly lease: Immutable<Lease>; readonly at: number } | undefined;
  /** A write got no response: its outcome is unknown. */
  #unanswered = false;
  #reportedLeader: string | undefined;

  constructor(config: LeaderElectorConfig) {
    this.#config = config;
    this.#leaseDurationMs = config.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = config.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = config.retryPeriodMs ?? 2_000;
    if (this.#leaseDurationMs <= this.#renewDeadlineMs)
      throw new RangeError('leaseDurationMs must be more than renewDeadlineMs');
    if (this.#renewDeadlineMs <= this.#retryPeriodMs * JITTER) {
      throw new RangeError(`renewDeadlineMs must be more than ${JITTER} times retryPeriodMs`);
    }
    if (config.identity === '') throw new RangeError('identity must not be empty');
  }

  /** The holder that was last observed; '' if there is none. */
  get leader(): string {
    return this.#observed?.lease.spec.holderIdentity ?? '';
  }

  get isLeader(): boolean {
    return this.leader === this.#config.identity;
  }

  /**
   * Milliseconds since this leader's lease has expired; 0 while it is valid, or if this candidate
   * does not lead.
   */
  get expiredMs(): number {
    if (this.#observed === undefined || !this.isLeader) return 0;
    return Math.max(0, this.#config.clock.monotonic() - this.#observed.at - this.#leaseDurationMs);
  }

  /**
   * Waits to become leader, then leads. Resolves when leading has ended (the lease was lost, or
   * `onStartedLeading` resolved) or the signal aborts. Rejects with the error of
   * `onStartedLeading`.
   */
  async run(signal: AbortSignal): Promise<void> {
    if (!(await this.#acquire(signal))) {
      await this.#release();
      return;
    }
    this.#config.logger.info('became leader', { lease: this.#config.name });
    this.#record('became leader');
    const lost = new AbortController();
    const leading = AbortSignal.any([signal, lost.signal]);
    const done = new AbortController();
    const leadership = this.#config.onStartedLeading(leading).finally(() => done.abort());
    await this.#renew(AbortSignal.any([signal, done.signal]));
    lost.abort(new Error(`the lease ${this.#config.name} was lost`));
    this.#record('stopped leading');
    try {
      await leadership;
    } finally {
      // Another candidate may start only after the work has ended.
      await this.#release();
    }
  }

  /** Tries once per retry period, and when the holder gives the lease back. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, random } = this.#config;
    const over = new AbortController();
    /** Aborts when the lease is given back: before the next pause, or in it. */
    let released = new AbortController();
    const watch = new ReleaseWatch({
      ...this.#config,
      onReleased: () => released.abort(),
      signal: AbortSignal.any([signal, over.signal]),
    });
    try {
      while (!signal.aborted) {
        const acquired = await this.#tryAcquireOrRenew(signal);
        this.#reportLeader();
        if (acquired) return true;
        if (this.#observed !== undefined) watch.ensure(this.#observed.lease);
        await clock
          .sleep(
            wait.jitter(random, this.#retryPeriodMs, JITTER),
            AbortSignal.any([signal, released.signal]),
          )
          .catch(() => undefined);
        released = new AbortController();
      }
      return false;
    } finally {
      over.abort();
    }
  }

  /**
   * Renews the lease. Returns when it could not be renewed within the deadline, or the signal
   * aborts.
   */
  async #renew(signal: AbortSignal): Promise<void> {
    const { clock, logger, name } = this.#config;
    /** The time by which a renewal must have succeeded, counted from the first attempt. */
    const deadlineAfter = (): number =>
      clock.monotonic() + this.#retryPeriodMs + this.#renewDeadlineMs;
    let deadline = deadlineAfter();
    for (;;) {
      await clock
        .sleep(Math.min(this.#retryPeriodMs, deadline - clock.monotonic()), signal)
        .catch(() => undefined);
      if (signal.aborted) return;
      const late = new LinkedAbort(signal);
      const timer = clock.setTimer(deadline - clock.monotonic(), () =>
        late.abort(new wait.WaitTimeoutError('the lease could not be renewed in time')),
      );
      const renewed = await this.#tryAcquireOrRenew(late.signal);
      timer.cancel();
      late.release();
      this.#reportLeader();
      if (signal.aborted) return;
      if (renewed) deadline = deadlineAfter();
      else if (clock.monotonic() >= deadline || !this.isLeader) {
        logger.warn('leadership was lost', { lease: name, leader: this.leader });
        return;
      }
    }
  }

  /**
   * Makes one attempt. Returns false if another candidate holds the lease, or if the server is not
   * reachable.
   */
  async #tryAcquireOrRenew(signal: AbortSignal): Promise<boolean> {
    try {
      if (this.isLeader && this.#isFresh()) {
        // Most renewals need no read: other candidates do not write a lease that is held.
        const renewed = await this.#write(this.#observed?.lease, signal).catch((error: unknown) => {
          if (!apierrors.isConflict(error) && !apierrors.isNotFound(error)) throw error;
        });
        if (renewed) return true;
      }
      const current = await this.#read(signal);
      if (current !== undefined) {
        if (current.metadata.resourceVersion !== this.#observed?.lease.metadata.resourceVersion)
          this.#observe(current);
        if (this.leader !== '' && !this.isLeader && this.#isFresh()) return false;
      }
      return await this.#write(current, signal);
    } catch (error) {
      if (!signal.aborted)
        this.#config.logger.debug('the lease could not be acquired or renewed', {
          lease: this.#config.name,
          err: error,
        });
      return false;
    }
  }

  #isFresh(): boolean {
    if (this.#observed === undefined) return false;
    const durationMs = (this.#observed.lease.spec.leaseDurationSeconds ?? 0) * 1000;
    return this.#observed.at + durationMs > this.#config.clock.monotonic();
  }

  async #read(signal: AbortSignal): Promise<Immutable<Lease> | undefined> {
    try {
      return await this.#leases().get(this.#config.name, { signal });
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  /**
   * Makes this candidate the holder, based on the given state. Rejects with a conflict if the state
   * has changed.
   */
  async #write(current: Immutable<Lease> | undefined, signal: AbortSignal): Promise<true> {
    const { clock, identity, name, namespace } = this.#config;
    const now = formatMicroTime(clock.now());
    const held = current?.spec.holderIdentity === identity;
    const spec = {
      ...current?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.round(this.#leaseDurationMs / 1000),
      acquireTime: held ? current.spec.acquireTime : now,
      renewTime: now,
      leaseTransitions:
        current === undefined ? 0 : (current.spec.leaseTransitions ?? 0) + (held ? 0 : 1),
    };
    const toWrite = this.#leases();
    this.#unanswered = true;
    try {
      const written =
        current === undefined
          ? await toWrite.create({ metadata: { name, namespace }, spec }, { signal })
          : await toWrite.update({ ...current, spec }, { signal });
      this.#unanswered = false;
      this.#observe(written);
    } catch (error) {
      if (error instanceof apierrors.StatusError && error.code < 500) this.#unanswered = false;
      throw error;
    }
    return true;
  }

  /**
   * Releases the lease if this candidate holds it. The server may perform an interrupted renewal
   * before or after the release; a conflict then leads to another attempt.
   */
  async #release(): Promise<void> {
    if (!(this.#config.releaseOnStop ?? true) || !(this.isLeader || this.#unanswered)) return;
    const { clock, name, logger } = this.#config;
    const late = new AbortController();
    const timer = clock.setTimer(this.#renewDeadlineMs, () =>
      late.abort(new wait.WaitTimeoutError('the lease could not be released in time')),
    );
    try {
      let lease = this.#unanswered ? await this.#read(late.signal) : this.#observed?.lease;
      while (lease !== undefined && !(await this.#tryRelease(lease, late.signal)))
        lease = await this.#read(late.signal);
    } catch (error) {
      logger.warn('the lease could not be released', { lease: name, err: error });
    } finally {
      timer.cancel();
    }
  }

  /**
   * Returns true if this candidate does not hold the lease any more; false if the given lease is
   * stale.
   */
  async #tryRelease(lease: Immutable<Lease>, signal: AbortSignal): Promise<boolean> {
    this.#observe(lease);
    if (!this.isLeader) return true;
    const now = formatMicroTime(this.#config.clock.now());
    const { holderIdentity: _, ...spec } = lease.spec;
    const released = { ...spec, leaseDurationSeconds: 1, renewTime: now, acquireTime: now };
    try {
      this.#observe(await this.#leases().update({ ...lease, spec: released }, { signal }));
      return true;
    } catch (error) {
      if (apierrors.isConflict(error)) return false;
      throw error;
    }
  }

  #observe(lease: Immutable<Lease>): void {
    this.#observed = { lease, at: this.#config.clock.monotonic() };
  }

  #reportLeader(): void {
    if (this.leader === '' || this.leader === this.#reportedLeader) return;
    this.#reportedLeader = this.leader;
    this.#config.onNewLeader?.(this.leader);
  }

  #record(what: string): void {
    const lease = this.#observed?.lease;
    if (lease === undefined) return;
    const subject = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: lease.metadata,
    };
    this.#config.recorder?.event(
      subject,
      'Normal',
      'LeaderElection',
      `${this.#config.identity} ${what}`,
    );
  }

  #leases() {
    return this.#config.client.resource(leases).namespace(this.#config.namespace);
  }
}
