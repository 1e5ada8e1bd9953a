// Tells in the status of each admission policy which of its expressions do not fit the kinds that it is for. Each generation of a
// policy is looked at once.

import { validatingAdmissionPolicies } from '#api/groups/admissionregistration/v1/index.ts';
import type { ValidatingAdmissionPolicy } from '#api/groups/admissionregistration/v1/index.ts';
import { typeCheckPolicy } from '#api/groups/admissionregistration/v1/type-checking.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeue, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Controller, ControllerConfig } from '../controller.ts';

type Policy = Immutable<ValidatingAdmissionPolicy>;

export class ValidatingAdmissionPolicyStatusController implements Controller {
  readonly name = 'validatingadmissionpolicy-status-controller';
  readonly #config: ControllerConfig;
  readonly #policies: SharedInformer<Policy>;
  readonly #queue: RateLimitingQueue;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#queue = new RateLimitingQueue({
      clock: config.clock,
      metrics: config.queueMetrics?.('validatingadmissionpolicy-status'),
    });
    this.#policies = config.informers.informerFor(validatingAdmissionPolicies);
    this.#policies.addEventHandler({
      onAdd: (policy) => this.#queue.add(objectKey(policy)),
      onUpdate: (_, policy) => this.#queue.add(objectKey(policy)),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#policies.waitForSync(signal);
    const { logger } = this.#config;
    await runWorkers(this.#queue, 5, (key, stop) => this.#reconcile(key, stop), signal, { logger });
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const policy = this.#policies.lister.getByKey(key);
    if (policy === undefined) return reconciled;
    const { generation = 0 } = policy.metadata;
    if ((policy.status.observedGeneration ?? 0) >= generation) return reconciled;
    const expressionWarnings = typeCheckPolicy(policy);
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const status = { ...policy.status, observedGeneration: generation, typeChecking };
    try {
      await this.#config.client.resource(validatingAdmissionPolicies).updateStatus({ ...policy, status }, { signal });
      return reconciled;
    } catch (err) {
      if (apierrors.isConflict(err)) return requeue;
      if (apierrors.isNotFound(err)) return reconciled;
      throw err;
    }
  }
}
