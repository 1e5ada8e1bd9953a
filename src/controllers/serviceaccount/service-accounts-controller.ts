// Every namespace has a ServiceAccount named default, for pods that do not choose one.

import { namespaces, serviceAccounts } from '#api/groups/core/v1/index.ts';
import type { Namespace, ServiceAccount } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isNamespaceTerminating } from '../pod-control.ts';

export interface ServiceAccountsControllerConfig extends ControllerConfig {
  /** The names to make in every namespace. Default: default. */
  readonly serviceAccounts?: readonly string[];
}

export class ServiceAccountsController implements Controller {
  readonly name = 'serviceaccount-controller';
  readonly #config: ServiceAccountsControllerConfig;
  readonly #names: readonly string[];
  readonly #namespaces: SharedInformer<Immutable<Namespace>>;
  readonly #accounts: SharedInformer<Immutable<ServiceAccount>>;
  readonly #queue: RateLimitingQueue;

  constructor(config: ServiceAccountsControllerConfig) {
    this.#config = config;
    this.#names = config.serviceAccounts ?? ['default'];
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.('serviceaccount') });
    this.#namespaces = config.informers.informerFor(namespaces);
    this.#accounts = config.informers.informerFor(serviceAccounts);
    this.#namespaces.addEventHandler({
      onAdd: (namespace) => this.#queue.add(objectKey(namespace)),
      onUpdate: (_, namespace) => this.#queue.add(objectKey(namespace)),
    });
    this.#accounts.addEventHandler({
      onDelete: ({ metadata }) => {
        if (this.#names.includes(metadata.name)) this.#queue.add(metadata.namespace ?? '');
      },
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#namespaces.waitForSync(signal), this.#accounts.waitForSync(signal)]);
    const { logger } = this.#config;
    await runWorkers(this.#queue, 1, (name, stop) => this.#reconcile(name, stop), signal, { logger });
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#namespaces.lister.getByKey(namespace)?.status.phase !== 'Active') return reconciled;
    const client = this.#config.client.resource(serviceAccounts).namespace(namespace);
    for (const name of this.#names) {
      if (this.#accounts.lister.get(namespace, name) !== undefined) continue;
      try {
        await client.create({ metadata: { name, namespace } }, { signal });
      } catch (err) {
        // There already, or its namespace is going away.
        if (!apierrors.isAlreadyExists(err) && !apierrors.isNotFound(err) && !isNamespaceTerminating(err)) throw err;
      }
    }
    return reconciled;
  }
}
