// Explains what happens in a cluster: records of requests, changes and watch events, histories of
// objects, convergence, breakpoints.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Handler } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Storage } from '#storage/interface.ts';
import {
  type BreakpointCondition,
  type BreakpointOptions,
  Breakpoints,
  type HeldRequest,
} from './breakpoints.ts';
import { converge, type Convergence, type ConvergeOptions } from './convergence.ts';
import { type HistoryEntry, historyOf } from './history.ts';
import type { EventLog } from './log.ts';
import { Recorder } from './recorder.ts';

export type { BreakpointCondition, BreakpointOptions, HeldRequest } from './breakpoints.ts';
export type { Convergence, ConvergeOptions, PersistentWrite } from './convergence.ts';
export { formatHistory } from './history.ts';
export type { Cause, HistoryEntry, Relation } from './history.ts';
export type { EventLog } from './log.ts';
export type { PendingRequest } from './recorder.ts';
export { formatEvent } from './records.ts';
export type { ChangeRecord, ClusterEvent, DeliveryRecord, RequestRecord } from './records.ts';

/** Explains what happens in a cluster. */
export interface Insight {
  /**
   * Returns what has happened, in order: requests, changes, and watch events as clients received
   * them. Recording starts with the first call, or with the cluster if it was started with
   * `insight: true`. The last 50,000 records are kept.
   */
  events(): EventLog;
  /**
   * Returns each change of an object since the recording started: which client made it, by which
   * request, because of which event, and what changed. With an object instead of a resource and a
   * name, earlier objects of that name are left out. Throws TypeError if nothing is recorded.
   */
  history(object: Immutable<KubeObject>): readonly HistoryEntry[];
  history(
    type: ResourceType,
    name: string,
    options?: { readonly namespace?: string },
  ): readonly HistoryEntry[];
  /**
   * Lets time pass until nothing changes any more, or until it is clear which clients keep writing.
   * See `toConverge`.
   */
  converge(options?: ConvergeOptions): Promise<Convergence>;
  /**
   * Lets time pass until a request meets the condition. The request waits, and a virtual clock
   * stands, until `resume()`. Rejects with WaitTimeoutError.
   */
  breakpoint(condition: BreakpointCondition, options?: BreakpointOptions): Promise<HeldRequest>;
}

export interface InsightParts {
  readonly insight: Insight;
  /** For the API server. */
  readonly wrapHandler: (handler: Handler) => Handler;
  close(): void;
}

export function makeInsight(config: {
  readonly clock: Clock;
  readonly storage: Storage;
  /** Records from the beginning. */
  readonly record: boolean;
}): InsightParts {
  const { clock, record } = config;
  const recorder = new Recorder(config);
  const breakpoints = new Breakpoints(recorder, clock);
  if (record) recorder.start();
  return {
    insight: {
      events() {
        recorder.start();
        recorder.check();
        return recorder.log;
      },
      history(
        subject: ResourceType | Immutable<KubeObject>,
        name?: string,
        options: { readonly namespace?: string } = {},
      ) {
        if (!recorder.started)
          throw new TypeError('nothing is recorded: start the cluster with `insight: true`');
        recorder.check();
        if ('metadata' in subject) {
          const { kind, metadata } = subject;
          return historyOf(recorder.log, { kind, ...metadata });
        }
        const { kind, namespaced } = subject;
        const namespace = namespaced ? (options.namespace ?? 'default') : undefined;
        return historyOf(recorder.log, { kind, namespace, name: name as string });
      },
      converge: (options) => converge(recorder, clock, options),
      breakpoint: (condition, options) => breakpoints.next(condition, options),
    },
    wrapHandler: recorder.wrap,
    close() {
      breakpoints.close();
      recorder.stop();
    },
  };
}
