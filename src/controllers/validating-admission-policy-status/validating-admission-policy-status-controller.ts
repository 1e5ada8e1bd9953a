// Reports in the status of each admission policy which of its expressions do not fit its kinds.
// Each generation of a policy is checked once.

import {
  validatingAdmissionPolicies,
  type ValidatingAdmissionPolicy,
} from '#api/groups/admissionregistration/v1/index.ts';
import { typeCheckPolicy } from '#api/groups/admissionregistration/v1/type-checking.ts';
import { newDefaultScheme } from '#api/default-scheme.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { KindResolver } from './checked-kinds.ts';

type Policy = Immutable<ValidatingAdmissionPolicy>;

export class ValidatingAdmissionPolicyStatusController implements Controller {
  readonly name = 'validatingadmissionpolicy-status-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #kinds: KindResolver;
  readonly #policies: SharedInformer<Policy>;

  constructor(config: ControllerConfig) {
    this.#config = config;
    this.#kinds = new KindResolver(newDefaultScheme(), config.client);
    const builder = new ControllerBuilder(config, {
      queue: 'validatingadmissionpolicy-status',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#policies = builder.for(validatingAdmissionPolicies, { predicate: { delete: false } });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const policy = this.#policies.lister.getByKey(key);
    if (policy === undefined) return reconciled;
    const { generation = 0 } = policy.metadata;
    if ((policy.status.observedGeneration ?? 0) >= generation) return reconciled;
    const expressionWarnings = typeCheckPolicy(policy, await this.#kinds.kindsOf(policy, signal));
    const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
    const status = { ...policy.status, observedGeneration: generation, typeChecking };
    try {
      await this.#config.client
        .resource(validatingAdmissionPolicies)
        .updateStatus({ ...policy, status }, { signal });
      return reconciled;
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
  }
}
