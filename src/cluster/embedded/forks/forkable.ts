// The handle of a cluster that can be copied, and can go back in time. A copy is a state until it
// is first used.

import { createClient } from '#client/create-client.ts';
import type { Client } from '#client/client.ts';
import type { Transport } from '#client/transport.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { StorageError } from '#storage/interface.ts';
import { rewind } from '#storage/memory/index.ts';
import type { Checkpoint, Forking } from './forking.ts';
import type { ClusterState, Handle, Incarnation, Revive } from './state.ts';
import { WakingClock } from './waking-clock.ts';

interface ForkableConfig {
  readonly clock: WakingClock;
  readonly revive: Revive;
  /** The revision at which the first cluster was ready: nothing before it can be read. */
  readonly firstRevision: number;
  /** The cluster, or the state that it begins with. */
  readonly running?: Incarnation;
  readonly state?: ClusterState;
}

const states = new WeakMap<Checkpoint, ClusterState>();

class Copies<Copy extends Handle> implements Forking<Copy> {
  readonly #config: ForkableConfig;
  readonly client: Client;
  /** Exactly one of the two, until the cluster is stopped. */
  #state: ClusterState | undefined;
  #running: Incarnation | undefined;
  /** The last restore: a further one begins when it is done. */
  #restoring: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(config: ForkableConfig) {
    this.#config = config;
    this.#state = config.state;
    this.#running = config.running;
    this.client = createClient(transportTo(() => this.running.handle.client.transport));
  }

  /** The cluster, which is made if it was only a state. */
  get running(): Incarnation {
    if (this.#running === undefined) {
      if (this.#stopped) throw apierrors.serviceUnavailable('the cluster is stopped');
      this.#running = this.#config.revive(this.#state as ClusterState, this.#config.clock);
      this.#state = undefined;
    }
    return this.#running;
  }

  async fork(): Promise<Copy> {
    return this.#copyOf(await this.#freeze());
  }

  async at(revision: number): Promise<Copy> {
    const { firstRevision } = this.#config;
    if (!Number.isSafeInteger(revision))
      throw apierrors.badRequest(`${String(revision)} is no revision`);
    const state = await this.#freeze();
    if (revision < firstRevision)
      throw apierrors.resourceExpired(
        `revision ${revision} is from before the cluster was ready, which was at ${firstRevision}`,
      );
    try {
      const storage = rewind(state.storage, revision);
      return this.#copyOf({ ...state, storage, now: storage.now, readOnlyAt: revision });
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      if (error.reason === 'Expired') throw apierrors.resourceExpired(error.message);
      throw apierrors.badRequest(errorMessage(error));
    }
  }

  async checkpoint(): Promise<Checkpoint> {
    const state = await this.#freeze();
    const checkpoint = Object.freeze({ revision: state.storage.revision, now: state.now });
    states.set(checkpoint as Checkpoint, state);
    return checkpoint as Checkpoint;
  }

  restore(checkpoint: Checkpoint): Promise<void> {
    const state = states.get(checkpoint);
    if (state === undefined)
      return Promise.reject(new TypeError('this is no checkpoint of a cluster of this process'));
    const restored = this.#restoring.then(() => this.#restore(state));
    this.#restoring = restored.catch(() => undefined);
    return restored;
  }

  async stop(): Promise<void> {
    await this.#restoring;
    this.#stopped = true;
    this.#state = undefined;
    this.#config.clock.beforeMove = undefined;
    await this.#running?.handle.stop();
  }

  async #restore(state: ClusterState): Promise<void> {
    const { clock, revive } = this.#config;
    if (this.#stopped) throw apierrors.serviceUnavailable('the cluster is stopped');
    const before = this.#running;
    clock.beforeMove = undefined;
    // Whatever happens, the cluster is in the state from now on.
    this.#running = undefined;
    this.#state = state;
    await before?.handle.stop();
    clock.jumpTo(state.now);
    this.#running = revive(state, clock);
    this.#state = undefined;
    await this.#running.awake();
  }

  async #freeze(): Promise<ClusterState> {
    await this.#restoring;
    if (this.#stopped) throw apierrors.serviceUnavailable('the cluster is stopped');
    if (this.#state !== undefined) return this.#state;
    const { running } = this;
    await this.#config.clock.settle();
    return running.freeze();
  }

  #copyOf(state: ClusterState): Copy {
    const { revive, firstRevision, clock } = this.#config;
    return forkable<Copy>({
      clock: new WakingClock({ start: state.now, lazy: clock.lazy }),
      revive,
      firstRevision,
      state,
    });
  }
}

/** Returns the handle of a cluster, or of the state of one. */
export function forkable<Copy extends Handle>(config: ForkableConfig): Copy {
  const copies = new Copies<Copy>(config);
  const own = {
    client: copies.client,
    clock: config.clock,
    fork: () => copies.fork(),
    at: (revision: number) => copies.at(revision),
    checkpoint: () => copies.checkpoint(),
    restore: (checkpoint: Checkpoint) => copies.restore(checkpoint),
    stop: () => copies.stop(),
  };
  // The rest is the present incarnation's, and makes one.
  return new Proxy(own as unknown as Copy, {
    get: (target, name) =>
      name in target || !isPassedOn(name)
        ? (Reflect.get(target, name) as unknown)
        : (Reflect.get(copies.running.handle, name) as unknown),
    has: (target, name) => name in target || name in copies.running.handle,
    ownKeys: (target) => [
      ...new Set([...Reflect.ownKeys(target), ...Reflect.ownKeys(copies.running.handle)]),
    ],
    getOwnPropertyDescriptor: (target, name) => {
      const own = Reflect.getOwnPropertyDescriptor(target, name);
      if (own !== undefined) return own;
      const other = Reflect.getOwnPropertyDescriptor(copies.running.handle, name);
      return other && { ...other, configurable: true };
    },
  });
}

/**
 * Reports whether a property belongs to the cluster. Programs that only look at a value ask for
 * other symbols, and whether it is a promise: they make no cluster.
 */
function isPassedOn(name: string | symbol): boolean {
  return typeof name === 'symbol'
    ? name.description?.startsWith('coxswain.') === true
    : name !== 'then';
}

/**
 * The functions of a cluster that cannot be copied: each rejects, and says how to get one that can.
 */
export function notForkable(because: 'real' | 'port'): Forking<never> {
  const reject = (): Promise<never> =>
    Promise.reject(
      new TypeError(
        because === 'real'
          ? "a cluster on the real clock cannot be copied: start it with `clock: 'virtual'`"
          : 'a cluster with a port cannot go back in time, since its clients would not know: start it ' +
              'without `port` and `dnsPort`, and use `client` or `agent`; `fork` works with `port`',
      ),
    );
  return { fork: reject, at: reject, checkpoint: reject, restore: reject };
}

/** A transport to the transport of the moment. */
function transportTo(current: () => Transport): Transport {
  return {
    request: async (request) => current().request(request),
    watch: async (request) => current().watch(request),
    text: async (request) => current().text(request),
    stream: async (request) => current().stream(request),
    close: () => current().close(),
  };
}
