// Bootstrap tokens that have expired are deleted.

import { secrets } from '#api/groups/core/v1/index.ts';
import type { Secret } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeueAfter, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BOOTSTRAP_TOKEN_NAMESPACE, BOOTSTRAP_TOKEN_TYPE, expirationOf } from './bootstrap-token.ts';

type ReadSecret = Immutable<Secret>;

export class BootstrapTokenCleaner implements Controller {
  readonly name = 'token-cleaner-controller';
  readonly #config: ControllerConfig;
  readonly #secrets: SharedInformer<ReadSecret>;
  readonly #queue: RateLimitingQueue;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.('token_cleaner') });
    this.#secrets = config.informers.informerFor(secrets, {
      namespace: BOOTSTRAP_TOKEN_NAMESPACE,
      fieldSelector: `type=${BOOTSTRAP_TOKEN_TYPE}`,
    });
    this.#secrets.addEventHandler({
      onAdd: (secret) => this.#queue.add(objectKey(secret)),
      onUpdate: (_, secret) => this.#queue.add(objectKey(secret)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#secrets.waitForSync(signal);
    const { logger } = this.#config;
    await runWorkers(this.#queue, 1, (key, stop) => this.#reconcile(key, stop), signal, { logger });
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
    } catch (err) {
      if (!apierrors.isNotFound(err)) throw err;
    }
    return reconciled;
  }
}
