// Maintains a ServiceAccount named default in every namespace, for pods that name no account.

import {
  type Namespace,
  namespaces,
  type ServiceAccount,
  serviceAccounts,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isNamespaceTerminating } from '../pod-control.ts';

export interface ServiceAccountsControllerConfig extends ControllerConfig {
  /** The names of the accounts to create in every namespace. Default: default. */
  readonly serviceAccounts?: readonly string[];
}

export class ServiceAccountsController implements Controller {
  readonly name = 'serviceaccount-controller';
  readonly run: Controller['run'];
  readonly #config: ServiceAccountsControllerConfig;
  readonly #names: readonly string[];
  readonly #namespaces: SharedInformer<Immutable<Namespace>>;
  readonly #accounts: SharedInformer<Immutable<ServiceAccount>>;

  constructor(config: ServiceAccountsControllerConfig) {
    this.#config = config;
    this.#names = config.serviceAccounts ?? ['default'];
    const builder = new ControllerBuilder(config, {
      queue: 'serviceaccount',
      workers: 1,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#namespaces = builder.for(namespaces, { predicate: { delete: false } });
    this.#accounts = builder.watches(serviceAccounts, ({ metadata }) => metadata.namespace, {
      predicate: {
        add: false,
        update: false,
        delete: ({ metadata }) => this.#names.includes(metadata.name),
      },
    });
    this.run = builder.complete();
  }

  async #reconcile(namespace: string, signal: AbortSignal): Promise<ReconcileResult> {
    if (this.#namespaces.lister.getByKey(namespace)?.status.phase !== 'Active') return reconciled;
    const client = this.#config.client.resource(serviceAccounts).namespace(namespace);
    for (const name of this.#names) {
      if (this.#accounts.lister.get(namespace, name) !== undefined) continue;
      try {
        await client.create({ metadata: { name, namespace } }, { signal });
      } catch (error) {
        // The account exists, or its namespace is terminating.
        if (
          !apierrors.isAlreadyExists(error) &&
          !apierrors.isNotFound(error) &&
          !isNamespaceTerminating(error)
        )
          throw error;
      }
    }
    return reconciled;
  }
}
