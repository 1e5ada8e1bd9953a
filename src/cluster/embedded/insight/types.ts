// The types by which programs ask for explanations.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type {
  ChangeRecord,
  DeliveryRecord,
  EventLog,
  PendingRequest,
  RequestRecord,
} from './records.ts';

/** Fields that a request must have, or a function that decides. */
export type BreakpointCondition =
  | Partial<
      Pick<
        PendingRequest,
        'client' | 'user' | 'verb' | 'group' | 'resource' | 'subresource' | 'namespace' | 'name'
      >
    >
  | ((request: PendingRequest) => boolean);

export interface BreakpointOptions {
  /** Default: an hour of virtual time, a minute of real time. */
  readonly timeoutMs?: number;
}

/** A request that waits. */
export interface HeldRequest {
  readonly request: PendingRequest;
  /** Serves the request. Idempotent. */
  resume(): void;
  /** Rejects the request with a StatusError; with any other error the client gets status 500. */
  fail(error: Error): void;
}

export interface ConvergeOptions {
  /**
   * So long nothing may change, such as '5m' or milliseconds. Default: two minutes of virtual time,
   * 2 seconds of real time.
   */
  readonly quietFor?: number | string;
  /** Default: half an hour of virtual time, 30 seconds of real time. */
  readonly timeout?: number | string;
  /** Changes that do not count, beside leases, events and heartbeats of nodes. */
  readonly ignore?: (change: ChangeRecord) => boolean;
}

/** A client that keeps writing to an object. */
export interface PersistentWrite {
  /** Undefined: the store itself, or a request from before the recording. */
  readonly client: string | undefined;
  readonly object: string;
  /** How often within the last `quietFor`. */
  readonly count: number;
  /**
   * The changes, each once, the latest at the end: a list of lines for each. Empty: the writes
   * change nothing, or fail.
   */
  readonly diffs: readonly (readonly string[])[];
  /** The message of the last failure, if the writes fail. */
  readonly failure: string | undefined;
}

export interface Convergence {
  readonly converged: boolean;
  /** The time until the last change, from the beginning of the wait. */
  readonly afterMs: number;
  readonly writes: readonly PersistentWrite[];
  /** Names the clients, the objects and the diffs. */
  readonly message: string;
}

/** How the object of an event is related to the object that was written. */
export type Relation = 'same object' | 'owner' | 'refers to it' | 'is referred to';

/**
 * The latest event about a related object that the client had received before it sent the request.
 */
export interface Cause {
  readonly event: DeliveryRecord;
  readonly relation: Relation;
  /** The request that made the change that the event reports, if it was recorded. */
  readonly request: RequestRecord | undefined;
}

/** A change of an object. */
export interface HistoryEntry {
  readonly change: ChangeRecord['change'];
  readonly revision: number;
  readonly timeMs: number;
  /**
   * The client that made the change. Undefined: the store itself (expiry), or a request from before
   * the recording.
   */
  readonly client: string | undefined;
  readonly request: RequestRecord | undefined;
  readonly cause: Cause | undefined;
  /**
   * A line for each field that changed: `.spec.replicas: 1 → 2`. Managed fields and the resource
   * version are left out.
   */
  readonly diff: readonly string[];
  readonly object: Immutable<KubeObject>;
  readonly previous: Immutable<KubeObject> | undefined;
}

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
