// Keeps the statuses of pods, writes changes to the API, and finally deletes the API object of a
// deleted pod that has ended on this node.
//
// At most one write per pod is in flight; changes that arrive meanwhile, or within a few
// milliseconds of each other, are written together. A failed write is retried until it succeeds or
// the pod is gone.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock, Timer } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { deepEqual } from '#machinery/deep.ts';
import { formatTime } from '#machinery/text/time.ts';
import { describePod, podUid, type Pod, type PodCondition, type PodStatus } from '../types.ts';
import { DISRUPTION_TARGET, OWNED_CONDITIONS } from './conditions.ts';
import { isTerminal } from './phase.ts';
import { sameStatus, statusPatch } from './status-diff.ts';

/** The two API calls of the status manager. Errors are StatusErrors. */
export interface PodWriter {
  /**
   * Patches the status with a strategic merge patch, if the object still has this UID. Returns the
   * patched pod.
   */
  patchStatus(
    pod: Pod,
    status: Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<Pod>;
  /** Deletes the object without a grace period, if it still has this UID. */
  remove(pod: Pod, signal: AbortSignal): Promise<void>;
}

export interface StatusManagerConfig {
  readonly writer: PodWriter;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Reports whether containers of the pod may still run: it must not be reported as ended then. */
  readonly couldHaveRunningContainers: (uid: string) => boolean;
  /** Called once for each container that has terminated. Default: nothing is called. */
  readonly onTerminated?: OnTerminated;
  /** How long changes are collected before a write, in milliseconds. Default: 10. */
  readonly gatherMs?: number;
  /**
   * The delay after a failed write, in milliseconds: doubles up to 32 times this value. Default:
   * 500.
   */
  readonly retryMs?: number;
}

export type OnTerminated = (
  type: 'container' | 'init_container' | 'ephemeral_container',
  exitCode: number,
  reason: string,
) => void;

interface Entry {
  pod: Pod;
  status: PodStatus;
  /** The last status that the API had. */
  written: PodStatus;
  /** The resourceVersion of our last write; 0 before the first. */
  writtenVersion: number;
  /** `status` differs from the API's. */
  dirty: boolean;
  /** The API object must be deleted once the status is written. */
  remove: boolean;
  busy: boolean;
  failures: number;
  retry: Timer | undefined;
  waiters: (() => void)[];
}

export class StatusManager {
  readonly #config: StatusManagerConfig;
  readonly #entries = new Map<string, Entry>();
  readonly #abort = new AbortController();
  /** UIDs of pods whose status is written when the timer fires. */
  #gathered = new Set<string>();
  #timer: Timer | undefined;

  constructor(config: StatusManagerConfig) {
    this.#config = config;
  }

  /** Returns the last status; undefined if none was set since the kubelet started. */
  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }

  /** Sets the status. Transition times and the start time are added here. */
  set(pod: Pod, status: PodStatus): void {
    const uid = podUid(pod);
    let entry = this.#entries.get(uid);
    const before = entry?.status ?? pod.status;
    const next = this.#complete(before, status);
    reportTerminations(before, next, this.#config.onTerminated);
    if (entry === undefined) {
      entry = makeEntry(pod, next);
      this.#entries.set(uid, entry);
    }
    entry.pod = pod;
    entry.status = next;
    if (entry.busy || !sameStatus(entry.written, this.#reportable(uid, entry)))
      this.#markDirty(uid, entry);
  }

  /**
   * Compares the API's copy of the pod with our status. If the copy lacks something that we had
   * written (another writer replaced the status), the status is written again.
   */
  observe(pod: Pod): void {
    const entry = this.#entries.get(podUid(pod));
    if (entry === undefined) return;
    entry.pod = pod;
    if (entry.busy || entry.dirty) return;
    // Only a copy newer than our last write can show that the write was undone.
    if (version(pod) < entry.writtenVersion) return;
    if (version(pod) === entry.writtenVersion) {
      shareStatus(entry);
      return;
    }
    entry.written = pod.status;
    if (!sameStatus(pod.status, this.#reportable(podUid(pod), entry)))
      this.#markDirty(podUid(pod), entry);
  }

  /**
   * Deletes the API object of a pod that has ended on this node, after the last status is written.
   */
  removeWhenWritten(pod: Pod): void {
    const uid = podUid(pod);
    let entry = this.#entries.get(uid);
    if (entry === undefined) {
      entry = makeEntry(pod, pod.status);
      this.#entries.set(uid, entry);
    }
    entry.pod = pod;
    entry.remove = true;
    this.#gathered.delete(uid);
    this.#wake(uid, entry);
  }

  /** Writes the pod's pending status now; resolves after the attempt. */
  async flush(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (entry === undefined || !(entry.dirty || entry.busy)) return;
    const done = new Promise<void>((resolve) => entry.waiters.push(resolve));
    this.#gathered.delete(uid);
    this.#wake(uid, entry);
    await done;
  }

  /** Reports whether nothing has to be written. */
  get isIdle(): boolean {
    for (const { dirty, remove, busy } of this.#entries.values())
      if (dirty || remove || busy) return false;
    return true;
  }

  /** Drops the state of a pod that is gone from the API. */
  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (entry === undefined) return;
    entry.retry?.cancel();
    entry.dirty = false;
    entry.remove = false;
    this.#entries.delete(uid);
    this.#gathered.delete(uid);
    for (const waiter of entry.waiters) waiter();
  }

  stop(): void {
    this.#abort.abort(new Error('the kubelet stops'));
    this.#timer?.cancel();
    for (const entry of this.#entries.values()) entry.retry?.cancel();
  }

  /** Returns the status with transition times and the start time. */
  #complete(previous: PodStatus, status: PodStatus): PodStatus {
    const now = formatTime(this.#config.clock.now());
    const before = new Map(
      (previous.conditions ?? []).map((condition) => [condition.type, condition]),
    );
    const conditions = (status.conditions ?? []).map((condition) =>
      OWNED_CONDITIONS.includes(condition.type) || condition.type === DISRUPTION_TARGET
        ? withTransition(condition, before.get(condition.type), now)
        : condition,
    );
    return { ...status, conditions, startTime: previous.startTime ?? status.startTime ?? now };
  }

  /**
   * Returns the status that may be reported now: a pod has not ended before its containers have.
   */
  #reportable(uid: string, entry: Entry): PodStatus {
    const { status, written } = entry;
    if (
      !isTerminal(status.phase) ||
      isTerminal(written.phase) ||
      !this.#config.couldHaveRunningContainers(uid)
    )
      return status;
    const { reason: _reason, message: _message, ...rest } = status;
    return { ...rest, phase: written.phase ?? 'Pending' };
  }

  #markDirty(uid: string, entry: Entry): void {
    entry.dirty = true;
    if (entry.busy || this.#abort.signal.aborted) return;
    this.#gathered.add(uid);
    this.#timer ??= this.#config.clock.setTimer(this.#config.gatherMs ?? 10, () => {
      this.#timer = undefined;
      const due = this.#gathered;
      this.#gathered = new Set();
      for (const gathered of due) {
        const waiting = this.#entries.get(gathered);
        if (waiting !== undefined) this.#wake(gathered, waiting);
      }
    });
  }

  #wake(uid: string, entry: Entry): void {
    if (entry.busy || this.#abort.signal.aborted) return;
    entry.retry?.cancel();
    entry.retry = undefined;
    entry.busy = true;
    void this.#run(uid, entry);
  }

  async #run(uid: string, entry: Entry): Promise<void> {
    while ((entry.dirty || entry.remove) && !this.#abort.signal.aborted) {
      try {
        if (entry.dirty) await this.#write(uid, entry);
        else {
          await this.#config.writer.remove(entry.pod, this.#abort.signal);
          entry.remove = false;
        }
        entry.failures = 0;
      } catch (error) {
        if (this.#abort.signal.aborted) break;
        if (
          apierrors.isNotFound(error) ||
          (apierrors.isConflict(error) && entry.remove && !entry.dirty)
        ) {
          // The pod is gone, or another pod has its name: there is nothing left to write.
          entry.dirty = false;
          entry.remove = false;
          break;
        }
        this.#config.logger.warn('pod status not written', {
          pod: describePod(entry.pod),
          err: error,
        });
        this.#retryLater(uid, entry);
        break;
      }
    }
    entry.busy = false;
    const waiters = entry.waiters;
    entry.waiters = [];
    for (const waiter of waiters) waiter();
  }

  async #write(uid: string, entry: Entry): Promise<void> {
    const patch = statusPatch(entry.written, this.#reportable(uid, entry));
    entry.dirty = false;
    if (patch === undefined) return;
    try {
      const pod = await this.#config.writer.patchStatus(entry.pod, patch, this.#abort.signal);
      entry.written = pod.status;
      entry.writtenVersion = version(pod);
      if (version(entry.pod) === entry.writtenVersion) shareStatus(entry);
    } catch (error) {
      entry.dirty = true;
      throw error;
    }
  }

  #retryLater(uid: string, entry: Entry): void {
    const base = this.#config.retryMs ?? 500;
    const delay = base * 2 ** Math.min(entry.failures, 5);
    entry.failures++;
    entry.retry = this.#config.clock.setTimer(delay, () => {
      entry.retry = undefined;
      if (this.#entries.get(uid) === entry) this.#wake(uid, entry);
    });
  }
}

function makeEntry(pod: Pod, status: PodStatus): Entry {
  return {
    pod,
    status,
    written: pod.status,
    writtenVersion: 0,
    dirty: false,
    remove: false,
    busy: false,
    failures: 0,
    retry: undefined,
    waiters: [],
  };
}

/**
 * Keeps the parts of the pod's own status instead of equal copies, which live as long as the pod.
 * The pod has the last status that was written.
 */
function shareStatus(entry: Entry): void {
  const { status } = entry.pod;
  if (status === undefined) return;
  entry.written = status;
  if (deepEqual(entry.status, status)) entry.status = status;
}

/** Returns the version as a number. Versions of one object are growing decimal numbers. */
function version(pod: Pod): number {
  return Number(pod.metadata.resourceVersion);
}

function withTransition(
  condition: PodCondition,
  before: PodCondition | undefined,
  now: string,
): PodCondition {
  const kept = before?.status === condition.status ? before.lastTransitionTime : null;
  return { ...condition, lastTransitionTime: kept ?? now };
}

const CONTAINER_LISTS = [
  ['initContainerStatuses', 'init_container'],
  ['containerStatuses', 'container'],
  ['ephemeralContainerStatuses', 'ephemeral_container'],
] as const;

/** Reports the containers that have terminated from one status to the next. */
function reportTerminations(
  before: PodStatus,
  next: PodStatus,
  onTerminated: OnTerminated | undefined,
): void {
  if (onTerminated === undefined) return;
  for (const [list, type] of CONTAINER_LISTS) {
    for (const { name, state } of next[list] ?? []) {
      const terminated = state?.terminated;
      if (terminated === undefined) continue;
      const old = before[list]?.find((container) => container.name === name);
      if (old?.state?.terminated === undefined)
        onTerminated(type, terminated.exitCode, terminated.reason ?? '');
    }
  }
}
