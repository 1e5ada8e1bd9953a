// What the controllers of certificate requests have in common: each looks at every request that is new or has changed.

import { certificateSigningRequests } from '#api/groups/certificates/v1/index.ts';
import type { CertificateSigningRequest } from '#api/groups/certificates/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import type { ControllerConfig } from '../controller.ts';

export type Request = Immutable<CertificateSigningRequest>;

export class RequestQueue {
  readonly #config: ControllerConfig;
  readonly #requests: SharedInformer<Request>;
  readonly #queue: RateLimitingQueue;

  /** `name`: of the queue, in metrics. */
  constructor(config: ControllerConfig, name: string) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({ clock: config.clock, metrics: config.queueMetrics?.(name) });
    this.#requests = config.informers.informerFor(certificateSigningRequests);
    this.#requests.addEventHandler({
      onAdd: (request) => this.#queue.add(objectKey(request)),
      onUpdate: (_, request) => this.#queue.add(objectKey(request)),
    });
  }

  /** Until the signal aborts. A request that has gone meanwhile is not looked at. */
  async run(
    workers: number,
    reconcile: (request: Request, signal: AbortSignal) => Promise<ReconcileResult>,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#requests.waitForSync(signal);
    const { logger } = this.#config;
    const work = (key: string, stop: AbortSignal): Promise<ReconcileResult> => {
      const request = this.#requests.lister.getByKey(key);
      return request === undefined ? Promise.resolve(reconciled) : reconcile(request, stop);
    };
    await runWorkers(this.#queue, workers, work, signal, { logger });
  }
}
