// Deletes bootstrap tokens that have expired.

import { type Secret, secrets } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import {
  BOOTSTRAP_TOKEN_NAMESPACE,
  BOOTSTRAP_TOKEN_TYPE,
  expirationOf,
} from '#api/groups/core/v1/bootstrap-token.ts';

type ReadSecret = Immutable<Secret>;

export class BootstrapTokenCleaner implements Controller {
  readonly name = 'token-cleaner-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #secrets: SharedInformer<ReadSecret>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'token_cleaner',
      workers: 1,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#secrets = builder.for(secrets, {
      namespace: BOOTSTRAP_TOKEN_NAMESPACE,
      fieldSelector: `type=${BOOTSTRAP_TOKEN_TYPE}`,
      predicate: { delete: false },
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const secret = this.#secrets.lister.getByKey(key);
    const expires = secret === undefined ? undefined : expirationOf(secret);
    if (secret === undefined || expires === undefined) return reconciled;
    const left = expires - this.#config.clock.now();
    if (left > 0) return requeueAfter(left);
    const { name, uid } = secret.metadata;
    try {
      await this.#config.client
        .resource(secrets)
        .namespace(BOOTSTRAP_TOKEN_NAMESPACE)
        .delete(name, { preconditions: { uid }, signal });
    } catch (error) {
      if (!apierrors.isNotFound(error)) throw error;
    }
    return reconciled;
  }
}
