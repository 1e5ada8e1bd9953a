// Controllers of other programs: defined in a few lines, run on any client.
//
// A definition declares what it watches and returns how one object is reconciled. The builder
// (../builder.ts) does the rest: informers, a queue with back-off, workers, and an end without
// reconciles in flight.

import { hostname } from 'node:os';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject, OwnerReference } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { Recorder } from '#client/events/index.ts';
import {
  type Indexers,
  type InformerOptions,
  type SharedInformer,
  SharedInformerFactory,
  splitKey,
} from '#client/informers/index.ts';
import { LeaderElector } from '#client/leader-election.ts';
import { type RateLimiter, reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { systemClock, type Clock } from '#machinery/clock.ts';
import { createLogger, type Logger } from '#machinery/log.ts';
import { systemRandom, type Random } from '#machinery/random.ts';
import { ControllerBuilder } from '../builder.ts';
import { controllerOf, newControllerRef } from '../controller-ref.ts';
import type { Keys, Predicate } from '../predicate.ts';

/** The object to reconcile. It may be deleted by now. */
export interface Request {
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  /** 'namespace/name', or 'name'. */
  readonly key: string;
}

/**
 * Brings the cluster to the state that the object asks for, from the current state. Called for one
 * object at most once at a time, after any number of events, and after a restart. An error is
 * retried with back-off.
 */
export type ReconcileObject = (
  request: Request,
  signal: AbortSignal,
) => Promise<ReconcileResult | void>;

/** Selects the objects of a kind that are cached, and the events that count. */
export interface SourceOptions<T> extends InformerOptions {
  readonly indexers?: Indexers<T>;
  /** Default: every event counts. */
  readonly predicate?: Predicate<T>;
}

export interface ControllerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Records events, with the controller's name as the reporter. */
  readonly recorder: Recorder;
  /**
   * Declares the kind that is reconciled: every change of an object puts it on the queue. Returns
   * its cache.
   */
  for<T extends KubeObject>(
    type: ResourceType<T>,
    options?: SourceOptions<Immutable<T>>,
  ): SharedInformer<Immutable<T>>;
  /**
   * Declares a kind that the reconciled objects control (see `ownerReference`): every change of one
   * puts its owner on the queue.
   */
  owns<T extends KubeObject>(
    type: ResourceType<T>,
    options?: SourceOptions<Immutable<T>>,
  ): SharedInformer<Immutable<T>>;
  /**
   * Declares another kind: a change of an object puts the keys on the queue that `keysOf` returns.
   * `maps`: the versions of a changed object that `keysOf` is called with. Default: 'new'.
   */
  watches<T extends KubeObject>(
    type: ResourceType<T>,
    keysOf: (object: Immutable<T>) => Keys,
    options?: SourceOptions<Immutable<T>> & { readonly maps?: 'new' | 'old' | 'both' },
  ): SharedInformer<Immutable<T>>;
  /** Declares a kind that is only read. */
  reads<T extends KubeObject>(
    type: ResourceType<T>,
    options?: InformerOptions,
  ): SharedInformer<Immutable<T>>;
  /**
   * Runs a task beside the reconciles, from when the caches have synced until the signal aborts.
   */
  alongside(task: (signal: AbortSignal) => Promise<void>): void;
}

export interface ControllerOptions {
  /** The number of objects that are reconciled at once. Default: 1. */
  readonly workers?: number;
  /** A failed object is dropped after this number of retries, until it changes. Default: never. */
  readonly maxRetries?: number;
  /**
   * Creates the back-off. Default: from 5 ms to 1,000 s for each object, and 10 a second for all,
   * as client-go.
   */
  readonly rateLimiter?: (clock: Clock) => RateLimiter<string>;
}

export interface ControllerDefinition extends ControllerOptions {
  /** Names the queue, the reporter of events, and the controller in logs. */
  readonly name: string;
  /** Declares what is watched, synchronously. Called once for each run. */
  readonly setup: (context: ControllerContext) => ReconcileObject;
}

/** Returns the definition of a controller. */
export function defineController(
  name: string,
  setup: ControllerDefinition['setup'],
  options: ControllerOptions = {},
): ControllerDefinition {
  return { name, setup, ...options };
}

/** Leader election: of the processes with the same lease, one is active. */
export interface LeaderElectionOptions {
  readonly namespace: string;
  /** The name of the Lease. */
  readonly name: string;
  /** Default: the host's name and a random suffix. */
  readonly identity?: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
}

export interface RunControllerOptions {
  readonly client: Client;
  /** Stops the controllers when it aborts. */
  readonly signal: AbortSignal;
  /** Default: every process is active. */
  readonly leaderElection?: LeaderElectionOptions;
  /** Default: the system's clock. */
  readonly clock?: Clock;
  /** Default: the system's source. */
  readonly random?: Random;
  /** Default: a logger that writes text to stderr. */
  readonly logger?: Logger;
  /** Freezes cached objects, so that modifying one throws. Default: false. */
  readonly detectMutations?: boolean;
}

/**
 * Runs controllers on one set of informers until the signal aborts; resolves when no reconcile is
 * in flight. Rejects with an error of `setup`, or if the lease is lost (the process then has to
 * exit or run again).
 */
export async function runController(
  definitions: ControllerDefinition | readonly ControllerDefinition[],
  options: RunControllerOptions,
): Promise<void> {
  const {
    client,
    signal,
    leaderElection,
    clock = systemClock,
    random = systemRandom,
    logger = createLogger(),
  } = options;
  const all = 'setup' in definitions ? [definitions] : definitions;
  if (leaderElection === undefined)
    return runAll(all, { ...options, clock, random, logger }, signal);
  const { identity = `${hostname()}_${random.uuid()}`, ...lease } = leaderElection;
  let failure: { readonly error: unknown } | undefined;
  const elector = new LeaderElector({
    ...lease,
    identity,
    client,
    clock,
    random,
    logger,
    onStartedLeading: async (leading) => {
      try {
        await runAll(all, { ...options, clock, random, logger }, leading);
      } catch (error) {
        failure = { error };
      }
    },
  });
  await elector.run(signal);
  if (failure !== undefined) throw failure.error;
  if (!signal.aborted) throw new Error(`the lease ${lease.namespace}/${lease.name} was lost`);
}

async function runAll(
  definitions: readonly ControllerDefinition[],
  config: RunControllerOptions &
    Required<Pick<RunControllerOptions, 'clock' | 'random' | 'logger'>>,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, random, logger, detectMutations } = config;
  const informers = new SharedInformerFactory({ client, clock, random, logger, detectMutations });
  const failed = new AbortController();
  const running = AbortSignal.any([signal, failed.signal]);
  const runs = definitions.map((definition) =>
    build(definition, {
      client,
      informers,
      clock,
      random,
      logger: logger.with({ controller: definition.name }),
    }),
  );
  informers.start(running);
  try {
    await Promise.all(
      runs.map(async (run) => {
        try {
          await run(running);
        } catch (error) {
          if (running.aborted) return;
          failed.abort(error);
          throw error;
        }
      }),
    );
  } finally {
    failed.abort();
    await informers.stopped();
  }
}

function build(
  { name, setup, workers = 1, maxRetries, rateLimiter }: ControllerDefinition,
  config: {
    readonly client: Client;
    readonly informers: SharedInformerFactory;
    readonly clock: Clock;
    readonly random: Random;
    readonly logger: Logger;
  },
): (signal: AbortSignal) => Promise<void> {
  const reconcile: { current: ReconcileObject } = { current: async () => undefined };
  const builder = new ControllerBuilder(config, {
    queue: name,
    workers,
    ...(maxRetries !== undefined && { maxRetries }),
    ...(rateLimiter !== undefined && { rateLimiter: rateLimiter(config.clock) }),
    reconcile: async (key, signal) =>
      (await reconcile.current({ ...splitKey(key), key }, signal)) ?? reconciled,
  });
  let reconciledKind: ResourceType | undefined;
  const context: ControllerContext = {
    client: config.client,
    clock: config.clock,
    random: config.random,
    logger: config.logger,
    recorder: builder.recorder(name),
    for: (type, options) => {
      if (reconciledKind !== undefined)
        throw new TypeError(`the controller ${name} reconciles ${reconciledKind.kind} already`);
      reconciledKind = type;
      return builder.for(type, options);
    },
    owns: (type, options) => {
      if (reconciledKind === undefined)
        throw new TypeError(`the controller ${name} must declare what it reconciles first: for()`);
      const owner = reconciledKind;
      return builder.watches(type, (object) => ownerKey(object, owner), {
        ...options,
        maps: 'both',
      });
    },
    watches: (type, keysOf, options) => builder.watches(type, (object) => keysOf(object), options),
    reads: (type, options) => builder.informerFor(type, options),
    alongside: (task) => builder.alongside(task),
  };
  reconcile.current = setup(context);
  if (reconciledKind === undefined)
    throw new TypeError(`the controller ${name} reconciles nothing: call for() in its setup`);
  return builder.complete();
}

/** Returns the key of the object's controller if the controller has this kind, in any version. */
function ownerKey(
  object: KubeObject,
  { group, kind, namespaced }: ResourceType,
): string | undefined {
  const owner = controllerOf(object);
  if (owner === undefined || owner.kind !== kind) return undefined;
  const slash = owner.apiVersion.indexOf('/');
  if ((slash < 0 ? '' : owner.apiVersion.slice(0, slash)) !== group) return undefined;
  return namespaced ? `${object.metadata.namespace ?? ''}/${owner.name}` : owner.name;
}

/**
 * Returns the reference that makes `owner` the controller of an object: the object is deleted with
 * its owner.
 */
export function ownerReference(
  owner: KubeObject,
  { group, version, kind }: ResourceType,
): OwnerReference {
  return newControllerRef(owner.metadata, {
    apiVersion: group === '' ? version : `${group}/${version}`,
    kind,
  });
}
