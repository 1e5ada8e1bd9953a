// Assembles a controller: its queues with their workers, its event recorder, the informers it
// reads, and which events put which keys on a queue.
//
// The constructor of a controller declares what it reconciles (`for`), what those objects control
// (`owns`), what else concerns them (`watches`) and what it only reads (`informerFor`). `complete`
// returns the function that runs the controller.
//
// Guarantees:
//   - No handler is called before `run`: a handler may use every field of the controller. - No key
//     is reconciled before the initial list of every declared informer is in its cache. - An update
//     that shows another UID is handled as a deletion and an addition: a watch may merge the two. -
//     `run` resolves when no reconcile and no task is in flight. Then the recorders are stopped and
//     the handlers removed. Not guaranteed: that a key on the queue names an object that exists, or
//     one reconcile for each event.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import type { ControllerExpectations } from '#client/expectations.ts';
import {
  type EventHandler,
  type HandlerRegistration,
  type Indexers,
  type InformerOptions,
  type InformerSource,
  objectKey,
  type SharedInformer,
} from '#client/informers/index.ts';
import {
  type RateLimiter,
  RateLimitingQueue,
  type Reconcile,
  runWorkers,
} from '#client/workqueue/index.ts';
import type { Controller, ControllerConfig } from './controller.ts';
import { BY_CONTROLLER, byController } from './controller-ref.ts';
import { BY_REQUIRED_LABEL, byRequiredLabel } from './required-label.ts';
import { Dependents, type DependentsConfig } from './dependents.ts';
import type { OwnWrites } from './own-writes.ts';
import type { Keys, Predicate } from './predicate.ts';

export { only } from './predicate.ts';
export type { Keys, Predicate } from './predicate.ts';

/** A queue, and what its workers do with its keys. */
export interface QueueConfig {
  /** The name of the queue in metrics. */
  readonly queue: string;
  /** The number of keys that are reconciled at once. */
  readonly workers: number;
  /**
   * The number of failures after which a key is dropped until it is added again. Default: keys are
   * never dropped.
   */
  readonly maxRetries?: number;
  /** Default: `defaultControllerRateLimiter`. */
  readonly rateLimiter?: RateLimiter<string>;
  readonly reconcile: Reconcile;
}

export interface WatchOptions<T> extends InformerOptions {
  readonly indexers?: Indexers<T>;
  /** Default: every event counts. */
  readonly predicate?: Predicate<T>;
  /** The objects of an update whose keys are put on the queue. Default: the new one. */
  readonly maps?: 'new' | 'old' | 'both';
  /** Puts a key on a queue. Default: adds it to the controller's first queue at once. */
  readonly enqueue?: (key: string) => void;
  /**
   * Called with every version of an object that the cache shows, before the predicate is asked.
   * `before`: absent for a new object.
   */
  readonly onSeen?: (object: T, before?: T) => void;
  /** Called with the last version of an object that was deleted, before the predicate is asked. */
  readonly onGone?: (object: T) => void;
}

export interface ForOptions<T> extends WatchOptions<T> {
  /**
   * Writes of this controller under the object's key: noted as seen with each event, forgotten with
   * the object.
   */
  readonly writes?: OwnWrites;
  /** Expectations under the object's key: dropped with the object. */
  readonly expectations?: ControllerExpectations;
}

export interface OwnsOptions<Owner extends KubeObject, T extends KubeObject>
  extends
    Omit<DependentsConfig<Owner, T>, 'client' | 'type' | 'dependents'>,
    Pick<WatchOptions<Immutable<T>>, 'indexers'> {
  /** Writes of dependents, under the owner's key: noted as seen, or gone. */
  readonly writes?: OwnWrites;
  /** Creations and deletions of dependents, under the owner's key: noted as observed. */
  readonly expectations?: ControllerExpectations;
  /**
   * Puts the key of an owner on a queue. Default: adds it to the controller's first queue at once.
   */
  readonly enqueue?: (key: string) => void;
}

export class ControllerBuilder implements InformerSource {
  readonly queue: RateLimitingQueue;
  readonly #config: ControllerConfig;
  readonly #queues: { readonly queue: RateLimitingQueue; readonly config: QueueConfig }[] = [];
  /** The informers that must have synced before the workers start. */
  readonly #informers = new Set<Pick<SharedInformer<KubeObject>, 'waitForSync'>>();
  readonly #handlers: (() => HandlerRegistration)[] = [];
  readonly #tasks: ((signal: AbortSignal) => Promise<void>)[] = [];
  readonly #recorders: EventRecorder[] = [];

  constructor(config: ControllerConfig, queue: QueueConfig) {
    this.#config = config;
    this.queue = this.addQueue(queue);
  }

  /**
   * Adds a further queue with workers of its own. Its keys come from the controller, or from
   * `enqueue` of a watch.
   */
  addQueue(config: QueueConfig): RateLimitingQueue {
    const { clock, queueMetrics } = this.#config;
    const { queue: name, rateLimiter } = config;
    const queue = new RateLimitingQueue<string>({
      clock,
      metrics: queueMetrics?.(name),
      rateLimiter,
    });
    this.#queues.push({ queue, config });
    return queue;
  }

  /** Returns a recorder of events. `component`: the reporter that the events name. */
  recorder(component: string): EventRecorder {
    const { client, clock, random, logger } = this.#config;
    const recorder = new EventRecorder({ client, clock, random, logger, component });
    this.#recorders.push(recorder);
    return recorder;
  }

  /** Returns an informer that the controller only reads. */
  informerFor<T extends KubeObject>(
    type: ResourceType<T>,
    options: InformerOptions = {},
  ): SharedInformer<Immutable<T>> {
    const informer = this.#config.informers.informerFor(type, options);
    this.#informers.add(informer);
    return informer;
  }

  /**
   * Declares what the controller reconciles: the keys on its queue are the keys of these objects.
   */
  for<T extends KubeObject>(
    type: ResourceType<T>,
    options: ForOptions<Immutable<T>> = {},
  ): SharedInformer<Immutable<T>> {
    const { writes, expectations, onSeen, onGone, ...watch } = options;
    return this.watches<T>(type, (object) => objectKey(object), {
      ...watch,
      onSeen: both(writes && ((object) => writes.seen(objectKey(object), object)), onSeen),
      onGone: both(
        (writes ?? expectations) &&
          ((object) => {
            writes?.forget(objectKey(object));
            expectations?.deleteExpectations(objectKey(object));
          }),
        onGone,
      ),
    });
  }

  /**
   * Declares that events of these objects put the keys that `keysOf` returns on the queue.
   * `before`: the version before, for the new object of an update.
   */
  watches<T extends KubeObject>(
    type: ResourceType<T>,
    keysOf: (object: Immutable<T>, before?: Immutable<T>) => Keys,
    options: WatchOptions<Immutable<T>> = {},
  ): SharedInformer<Immutable<T>> {
    const { indexers, enqueue = this.#add, ...watch } = options;
    const informer = this.informerFor(type, options);
    if (indexers !== undefined) informer.addIndexers(indexers);
    const handler = eventHandler(watch, (object: Immutable<T>, before?: Immutable<T>) => {
      const keys = keysOf(object, before);
      if (typeof keys === 'string') enqueue(keys);
      else if (keys !== undefined) for (const key of keys) enqueue(key);
    });
    this.#handlers.push(() => informer.addEventHandler(handler));
    return informer;
  }

  /**
   * Declares that the objects that the controller reconciles control objects of another type: their
   * events wake the owner. An object without a controller wakes the owners that may adopt it.
   */
  owns<Owner extends KubeObject, T extends KubeObject>(
    type: ResourceType<T>,
    options: OwnsOptions<Owner, T>,
  ): Dependents<Owner, T> {
    const { indexers, writes, expectations, enqueue = this.#add, ...owner } = options;
    const informer = this.informerFor(type);
    informer.addIndexers({ [BY_CONTROLLER]: byController, ...indexers });
    const { ownerType, selectorOf } = owner;
    if (selectorOf !== undefined)
      this.informerFor(ownerType).addIndexers({ [BY_REQUIRED_LABEL]: byRequiredLabel(selectorOf) });
    const dependents = new Dependents<Owner, T>({
      ...owner,
      client: this.#config.client,
      type,
      dependents: informer.lister,
    });
    const handler = dependents.eventHandler({ enqueue, writes, expectations });
    this.#handlers.push(() => informer.addEventHandler(handler));
    return dependents;
  }

  /**
   * Adds a task that runs beside the workers, from when the informers have synced until the signal
   * aborts.
   */
  alongside(task: (signal: AbortSignal) => Promise<void>): void {
    this.#tasks.push(task);
  }

  /** Returns the function that runs the controller. */
  complete(): Controller['run'] {
    return async (signal) => {
      const registrations = this.#handlers.map((add) => add());
      try {
        await Promise.all([...this.#informers].map((informer) => informer.waitForSync(signal)));
        await Promise.all([
          ...this.#tasks.map((task) => task(signal)),
          ...this.#queues.map(({ queue, config: { workers, reconcile, maxRetries } }) =>
            runWorkers(queue, workers, reconcile, signal, {
              logger: this.#config.logger,
              maxRetries,
            }),
          ),
        ]);
      } finally {
        for (const registration of registrations) registration.remove();
        for (const recorder of this.#recorders) recorder.stop();
      }
    };
  }

  readonly #add = (key: string): void => this.queue.add(key);
}

type Observer<T> = ((object: T, before?: T) => void) | undefined;

function both<T>(first: Observer<T>, second: Observer<T>): Observer<T> {
  if (first === undefined || second === undefined) return first ?? second;
  return (object, before) => {
    first(object, before);
    second(object, before);
  };
}

/** Returns a handler that does no more for an event than the options ask for. */
function eventHandler<T extends KubeObject>(
  { predicate = {}, maps = 'new', onSeen, onGone }: Omit<WatchOptions<T>, 'indexers' | 'enqueue'>,
  wake: (object: T, before?: T) => void,
): EventHandler<T> {
  const { add, update, delete: remove } = predicate;
  const added = both(onSeen, guarded(add, wake));
  const gone = both(onGone, guarded(remove, wake));
  const mapped = (before: T, object: T): void => {
    if (maps !== 'new') wake(before);
    if (maps !== 'old') wake(object, before);
  };
  return {
    onAdd: added && ((object) => added(object)),
    onUpdate: (before, object) => {
      if (before.metadata.uid !== object.metadata.uid) {
        gone?.(before);
        added?.(object);
        return;
      }
      onSeen?.(object, before);
      if (update === undefined || (update !== false && update(before, object)))
        mapped(before, object);
    },
    onDelete: gone && ((object) => gone(object)),
  };
}

function guarded<T>(
  condition: false | ((object: T) => boolean) | undefined,
  wake: (object: T) => void,
): Observer<T> {
  if (condition === undefined) return wake;
  if (condition === false) return undefined;
  return (object) => {
    if (condition(object)) wake(object);
  };
}
