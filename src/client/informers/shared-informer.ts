// One watch of a resource that all components of the process share: a store to read from, and
// handlers that are called for every change.
//
// Handlers are called one at a time, in the order in which they were added, for one change after
// the other. When a handler is called for a change, the store has that change and none after it.
// Calls are synchronous, so a handler must be quick: it adds a key to a queue and returns.
//
// Not guaranteed: that the store has the whole list before `hasSynced`; that every intermediate
// state of an object is seen; that a deleted and recreated object shows a deletion in between
// (compare UIDs); that objects have their managedFields (between threads they do not). Objects are
// shared and must not be modified.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { nextTurn } from '#machinery/turn.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import { abortable } from '../abort.ts';
import type { EventHandler, HandlerRegistration } from './event-handler.ts';
import { deepFreeze } from './freeze.ts';
import { Reflector, type ListerWatcher, type ReflectorStore } from './reflector.ts';
import { Store, objectKey, type Indexers, type Lister } from './store.ts';
import { type InformerView, ViewHandlers } from './view.ts';

export interface SharedInformerConfig<T extends KubeObject> {
  /** The name in log lines. */
  readonly name: string;
  readonly source: ListerWatcher<T>;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Freezes every object, so that modifying one throws. For tests. Default: false. */
  readonly detectMutations?: boolean;
  /**
   * Reduces each object (for example to its metadata) to save memory. Applied before the store and
   * the handlers get the object.
   */
  readonly transform?: (object: T) => T;
}

/** The number of objects of a list that handlers get in one turn of the event loop. */
const PUBLISHED_PER_TURN = 250;

export class SharedInformer<T extends KubeObject> {
  readonly #config: SharedInformerConfig<T>;
  readonly #store = new Store<T>();
  readonly #handlers = new Set<EventHandler<T>>();
  readonly #views = new ViewHandlers<T>();
  readonly #reflector: Reflector<T>;
  #synced = false;
  #running: Promise<void> | undefined;
  /** The signal of the run. */
  #signal: AbortSignal | undefined;
  readonly #whenSynced: Promise<void>;
  readonly #resolveSynced: () => void;

  constructor(config: SharedInformerConfig<T>) {
    this.#config = config;
    const { promise, resolve } = withResolvers();
    this.#whenSynced = promise;
    this.#resolveSynced = resolve;
    const store: ReflectorStore<T> = {
      put: (object) => this.#put(this.#prepare(object), false),
      delete: (object) => this.#delete(objectKey(object), this.#prepare(object)),
      replace: (objects) => this.#replace(objects),
    };
    this.#reflector = new Reflector({
      name: config.name,
      source: config.source,
      store,
      labelSelector: config.labelSelector,
      fieldSelector: config.fieldSelector,
      clock: config.clock,
      random: config.random,
      logger: config.logger,
    });
  }

  get lister(): Lister<T> {
    return this.#store;
  }

  get lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion;
  }

  /** Adds indexers, at any time. Adding the same function twice is allowed. */
  addIndexers(indexers: Indexers<T>): void {
    this.#store.addIndexers(indexers);
  }

  /**
   * Adds a handler. If the store has objects already, `onAdd` is called for each before this
   * returns.
   */
  addEventHandler(handler: EventHandler<T>): HandlerRegistration {
    // A copy, so that a handler that is added twice is called twice and removed separately.
    const registered = copyOf(handler);
    this.#handlers.add(registered);
    for (const object of this.#store.list()) this.#call(() => registered.onAdd?.(object, true));
    return { hasSynced: () => this.#synced, remove: () => void this.#handlers.delete(registered) };
  }

  /**
   * Returns a view of the objects with this value of an index (see `addIndexers`). Its handlers are
   * called after those of the informer.
   */
  view(index: string, value: string): InformerView<T> {
    return {
      lister: this.#store,
      addEventHandler: (handler) => {
        const registered = copyOf(handler);
        const remove = this.#views.add(index, this.#store.indexer(index), value, registered);
        for (const object of this.#store.byIndex(index, value))
          this.#call(() => registered.onAdd?.(object, true));
        return { hasSynced: () => this.#synced, remove };
      },
    };
  }

  /** Reports whether the initial list is in the store and every handler has been called for it. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /**
   * Resolves when `hasSynced` becomes true. Rejects with the signal's reason if that aborts first.
   */
  waitForSync(signal: AbortSignal): Promise<void> {
    return abortable(this.#whenSynced, signal);
  }

  /** Runs until the signal aborts. A further call returns the same run. */
  run(signal: AbortSignal): Promise<void> {
    if (this.#running === undefined) {
      this.#signal = signal;
      this.#running = this.#reflector.run(signal);
    }
    return this.#running;
  }

  #prepare(object: T): T {
    const { transform, detectMutations } = this.#config;
    const prepared = transform === undefined ? object : transform(object);
    return detectMutations ? deepFreeze(prepared) : prepared;
  }

  #put(object: T, isInInitialList: boolean): void {
    const previous = this.#store.getByKey(objectKey(object));
    // The state is unchanged, as after a relist: readers keep the object's identity, by which they
    // compare.
    if (previous !== undefined && sameState(previous, object)) return;
    this.#store.put(object);
    for (const handler of this.#handlers) {
      if (previous === undefined) this.#call(() => handler.onAdd?.(object, isInInitialList));
      else this.#call(() => handler.onUpdate?.(previous, object));
    }
    this.#views.forEachConcerned(previous, object, (handler, was, is) =>
      this.#call(() => {
        if (previous === undefined || !was) handler.onAdd?.(object, isInInitialList);
        else if (is) handler.onUpdate?.(previous, object);
        else handler.onDelete?.(previous, false);
      }),
    );
  }

  /**
   * Removes an object. `final`: the state in the deletion event; undefined if the deletion was
   * missed.
   */
  #delete(key: string, final: T | undefined): void {
    const previous = this.#store.delete(key);
    if (previous === undefined) return;
    for (const handler of this.#handlers)
      this.#call(() => handler.onDelete?.(final ?? previous, final === undefined));
    this.#views.forEachConcerned(previous, undefined, (handler) =>
      this.#call(() => handler.onDelete?.(final ?? previous, final === undefined)),
    );
  }

  /**
   * A long list is published in several turns of the event loop, as the events would be that it
   * stands for.
   */
  async #replace(objects: readonly T[]): Promise<void> {
    const initial = !this.#synced;
    // The first list, of all pods for example, need not be searched for those that are gone.
    if (this.#store.size > 0) this.#deleteOthers(objects);
    for (const [index, object] of objects.entries()) {
      if (index > 0 && index % PUBLISHED_PER_TURN === 0) {
        await nextTurn();
        if (this.#signal?.aborted === true) return;
      }
      this.#put(this.#prepare(object), initial);
    }
    if (!initial) return;
    this.#synced = true;
    this.#resolveSynced();
  }

  /** Deletes the objects that are not among these. */
  #deleteOthers(objects: readonly T[]): void {
    const present = new Set<string>();
    for (const object of objects) present.add(objectKey(object));
    const gone = [...this.#store.keys()].filter((key) => !present.has(key));
    for (const key of gone) this.#delete(key, undefined);
  }

  #call(handle: () => void): void {
    try {
      handle();
    } catch (error) {
      this.#config.logger.error('an event handler threw', {
        informer: this.#config.name,
        err: error,
      });
    }
  }
}

function copyOf<T>(handler: EventHandler<T>): EventHandler<T> {
  return {
    onAdd: handler.onAdd?.bind(handler),
    onUpdate: handler.onUpdate?.bind(handler),
    onDelete: handler.onDelete?.bind(handler),
  };
}

function sameState(a: KubeObject, b: KubeObject): boolean {
  return (
    a.metadata.resourceVersion === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid
  );
}
