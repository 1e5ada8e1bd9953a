// The faults of a cluster, each in one line.

import type { Fault } from './active-faults.ts';
import * as components from './component-faults.ts';
import type { CrashOptions, JumpOptions, LeaderOptions, SlowOptions } from './component-faults.ts';
import { describe, FaultContext, type FaultConfig } from './context.ts';
import * as requests from './request-faults.ts';
import type { DelayOptions, FailOptions, FaultStatus, TimeoutOptions } from './request-faults.ts';
import type { FaultSelector } from './selector.ts';
import * as storage from './storage-faults.ts';
import type { SlowDiskOptions, StorageSelector, StorageTimeoutOptions } from './storage-faults.ts';
import * as watches from './watch-faults.ts';
import type {
  CutWatchesOptions,
  DelayEventsOptions,
  DropEventsOptions,
  EventSelector,
} from './watch-faults.ts';

/**
 * Faults of a cluster. Each method adds one and returns its handle; it lasts until `end()`, or until it has happened
 * `count` times. Requests of the test itself are spared unless its selector names the component 'test'. All throw
 * TypeError for a selector that cannot match.
 */
export interface Faults {
  /** Answers requests with an error; they do not take effect. 410 is for lists and watches, 409 for writes. */
  fail(status: FaultStatus, options?: FailOptions): Fault;
  /** Lets requests wait before the server looks at them. */
  delay(options: DelayOptions): Fault;
  /** Lets requests wait until the fault ends, or until their time limit is over. */
  hang(options?: FaultSelector): Fault;
  /** Answers 504. Whether the request took effect, the client does not learn. */
  timeout(options?: TimeoutOptions): Fault;

  /** Holds watch events back. Their order stays. */
  delayEvents(options: DelayEventsOptions): Fault;
  /** Leaves watch events out: the watch ends in their place, or goes on `silently`. */
  dropEvents(options?: DropEventsOptions): Fault;
  /** Delivers watch events twice. */
  duplicateEvents(options?: EventSelector): Fault;
  /** Ends the open watches at once; with `count`, `skip`, `probability` or `name`: each in place of an event. */
  cutWatches(options?: CutWatchesOptions): Fault;
  /** Lets informers see the state of now until the fault ends, also those of a component that starts meanwhile. */
  staleCache(options?: EventSelector): Fault;

  /** Ends a component without notice, at once or after a write, and starts it again. */
  crash(component: string, options?: CrashOptions): Fault;
  /** Keeps a component ('kubelet/node-1') and the API server apart. */
  partition(component: string): Fault;
  /** Lets all requests of a component and all events for it take longer. */
  slow(component: string, options: SlowOptions): Fault;
  /** Lets the leader among several instances lose its lease. */
  loseLeader(component: string, options?: LeaderOptions): Fault;
  /** Makes another instance the leader while the present one still believes that it leads. */
  twoLeaders(component: string, options?: LeaderOptions): Fault;
  /** Sets wall clocks forward or back, until the fault ends. */
  jumpClock(options: JumpOptions): Fault;

  /** Lets writes of the store fail as on a full disk. */
  diskFull(options?: StorageSelector): Fault;
  /** Lets writes of the store fail with an unknown outcome. */
  storageTimeout(options?: StorageTimeoutOptions): Fault;
  /** Lets writes of the store take longer. */
  slowDisk(options: SlowDiskOptions): Fault;

  /** Lets calls of a webhook wait until the fault ends or their time limit is over. Default: of every webhook. */
  hangWebhook(name?: string): Fault;

  /** The faults in force. */
  list(): readonly Fault[];
  /** Ends all faults. */
  endAll(): void;
}

export function makeFaults(config: FaultConfig): Faults {
  const context = new FaultContext(config);
  return {
    fail: (status, options = {}) => requests.fail(context, status, options),
    delay: (options) => requests.delay(context, options),
    hang: (options = {}) => requests.hang(context, options),
    timeout: (options = {}) => requests.timeout(context, options),
    delayEvents: (options) => watches.delayEvents(context, options),
    dropEvents: (options = {}) => watches.dropEvents(context, options),
    duplicateEvents: (options = {}) => watches.duplicateEvents(context, options),
    cutWatches: (options = {}) => watches.cutWatches(context, options),
    staleCache: (options = {}) => watches.staleCache(context, options),
    crash: (component, options = {}) => components.crash(context, component, options),
    partition: (component) => components.partition(context, component),
    slow: (component, options) => components.slow(context, component, options),
    loseLeader: (component, options = {}) => components.loseLeader(context, component, options),
    twoLeaders: (component, options = {}) => components.twoLeaders(context, component, options),
    jumpClock: (options) => components.jumpClock(context, options),
    diskFull: (options = {}) => storage.diskFull(context, options),
    storageTimeout: (options = {}) => storage.storageTimeout(context, options),
    slowDisk: (options) => storage.slowDisk(context, options),
    hangWebhook: (name) => hangWebhook(context, name),
    list: () => [...context.active],
    endAll: () => {
      for (const fault of context.active) fault.end();
    },
  };
}

function hangWebhook(context: FaultContext, name: string | undefined): Fault {
  if (name !== undefined && (typeof name !== 'string' || name === ''))
    throw new TypeError(
      'fault hangWebhook: give the name of a webhook, such as "pods.example.com"',
    );
  const fault = context.register(describe('hangWebhook', name === undefined ? {} : { name }));
  context.config.webhooks.hang(fault, (webhook) => name === undefined || webhook === name);
  return fault;
}
