// The seams of one cluster: what its composition is given, so that faults can be injected into it later.

import type { Client } from '#client/client.ts';
import type { Filter } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Random } from '#machinery/random.ts';
import type { Storage } from '#storage/interface.ts';
import {
  ClockSkews,
  FaultInterceptor,
  type Faults,
  FaultyStorage,
  type FaultyComponents,
  makeFaults,
  WebhookFaults,
} from './faults/index.ts';

/** Stops a component at once, waits for `down`, and starts it again. */
export type Restart = (down: () => Promise<void>) => Promise<void>;

export interface SimulationConfig {
  readonly clock: Clock;
  readonly random: Random;
  /** The store of the cluster. The cluster has to use `storage` of this in its place. */
  readonly storage: Storage;
  /** Called with what a fault fails at behind the scenes. */
  readonly onError: (error: unknown) => void;
  /** Around the stage of faults: sees every request before they do. Default: none. */
  readonly observe?: Filter;
}

export class Simulation implements FaultyComponents {
  readonly interceptor = new FaultInterceptor();
  readonly #config: SimulationConfig;
  readonly #skews = new ClockSkews();
  readonly #webhooks = new WebhookFaults();
  /** Components by name; undefined for those that cannot be started again. */
  readonly #components = new Map<string, Restart | undefined>();
  readonly storage: FaultyStorage;
  readonly faults: Faults;
  #client: Client | undefined;

  constructor(config: SimulationConfig) {
    this.#config = config;
    this.storage = new FaultyStorage(config.storage);
    this.faults = makeFaults({
      clock: config.clock,
      random: config.random,
      interceptor: this.interceptor,
      storage: this.storage,
      skews: this.#skews,
      webhooks: this.#webhooks,
      components: this,
      client: () => {
        if (this.#client === undefined) throw new TypeError('fault: the cluster has not started');
        return this.#client;
      },
      onError: config.onError,
    });
  }

  /** The client of an administrator, for what faults write themselves. */
  useClient(client: Client): void {
    this.#client = client;
  }

  /** A stage of the API server's handler chain. */
  readonly intercept: Filter = (next) =>
    (this.#config.observe ?? ((handler) => handler))(this.interceptor.filter(next));

  /** Called before each call of a webhook. */
  readonly interceptWebhook = (name: string, signal: AbortSignal): Promise<void> | undefined =>
    this.#webhooks.intercept(name, signal);

  /** Returns the clock of a component, which may jump. */
  clockOf(component: string, clock: Clock): Clock {
    return this.#skews.clockOf(component, clock);
  }

  /** Throws Error if the API server cannot reach the node. */
  checkNode(name: string): void {
    if (this.interceptor.isSevered(`kubelet/${name}`))
      throw new Error(`fault: node ${name} cannot be reached`);
  }

  /** Spares a component that only goes on where it was. Returns a function that ends it. */
  spare(component: string): () => void {
    return this.interceptor.spare(component);
  }

  /** Makes a component known by name. Returns a function that removes it again. */
  register(component: string, restart?: Restart): () => void {
    this.#components.set(component, restart);
    return () => this.#components.delete(component);
  }

  names(): readonly string[] {
    return [...this.#components.keys()];
  }

  restartable(): readonly string[] {
    return this.names().filter((name) => this.#components.get(name) !== undefined);
  }

  async restart(component: string, down: () => Promise<void>): Promise<void> {
    await this.#components.get(component)?.(down);
  }
}
