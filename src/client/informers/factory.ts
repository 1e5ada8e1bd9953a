// The informers of a process, one for each resource and selection.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import type { Random } from '#machinery/random.ts';
import { sharedByMany } from '../abort.ts';
import type { Client } from '../client.ts';
import { SharedInformer } from './shared-informer.ts';

export interface SharedInformerFactoryConfig {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Freezes every object, so that modifying one throws. For tests. Default: false. */
  readonly detectMutations?: boolean;
}

export interface InformerOptions {
  /** Default: all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

/** The part of a factory by which components declare the informers that they read. */
export interface InformerSource {
  informerFor<T extends KubeObject>(
    type: ResourceType<T>,
    options?: InformerOptions,
  ): SharedInformer<Immutable<T>>;
}

export class SharedInformerFactory implements InformerSource {
  readonly #config: SharedInformerFactoryConfig;
  /**
   * The informers by resource and selection. The type parameter of each is that of the resource in
   * its key.
   */
  readonly #informers = new Map<string, SharedInformer<KubeObject>>();
  readonly #runs = new Map<string, Promise<void>>();

  constructor(config: SharedInformerFactoryConfig) {
    this.#config = config;
  }

  /**
   * Returns the informer of the resource and selection; creates it at the first call. It runs from
   * the next `start` on.
   */
  informerFor<T extends KubeObject>(
    type: ResourceType<T>,
    options: InformerOptions = {},
  ): SharedInformer<Immutable<T>> {
    const { namespace = '', fieldSelector = '', labelSelector = '' } = options;
    const resource = `${type.resource}.${type.version}.${type.group}`;
    const id = JSON.stringify([resource, namespace, fieldSelector, labelSelector]);
    const present = this.#informers.get(id);
    if (present !== undefined) return present as unknown as SharedInformer<Immutable<T>>;
    const { client, clock, random, logger, detectMutations } = this.#config;
    const source = client.resource(type);
    const informer = new SharedInformer<Immutable<T>>({
      name: [resource, namespace, fieldSelector, labelSelector].filter(Boolean).join(' '),
      source: namespace === '' ? source : source.namespace(namespace),
      fieldSelector: fieldSelector || undefined,
      labelSelector: labelSelector || undefined,
      clock,
      random,
      logger,
      detectMutations,
    });
    this.#informers.set(id, informer as unknown as SharedInformer<KubeObject>);
    return informer;
  }

  /** Starts the informers that are not running. They run until the signal aborts. */
  start(signal: AbortSignal): void {
    sharedByMany(signal);
    for (const [id, informer] of this.#informers) {
      if (!this.#runs.has(id)) this.#runs.set(id, informer.run(signal));
    }
  }

  /**
   * Resolves when every started informer has its initial list. Rejects with the signal's reason if
   * it aborts first.
   */
  async waitForCacheSync(signal: AbortSignal): Promise<void> {
    const started = [...this.#runs.keys()].flatMap((id) => this.#informers.get(id) ?? []);
    await Promise.all(started.map((informer) => informer.waitForSync(signal)));
  }

  /** Resolves when every informer has stopped. Called after the signal of `start` has aborted. */
  async stopped(): Promise<void> {
    await Promise.all(this.#runs.values());
  }
}
