// ValidatingAdmissionWebhook: calls all validating webhooks concurrently.

import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';
import { PolicyRequest } from '../policy/request.ts';
import { annotateFailOpen } from './annotations.ts';
import { callWebhook } from './call.ts';
import { WebhookConfigurations } from './configurations.ts';
import { isExempt } from './exempt.ts';
import { findInvocation, type Invocation } from './invocation.ts';
import { decided } from './outcome.ts';
import type { WebhookServices } from './services.ts';

export class ValidatingAdmissionWebhook implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionWebhook';
  readonly #services: WebhookServices;
  readonly #configurations: WebhookConfigurations;

  constructor(services: WebhookServices) {
    this.#services = services;
    this.#configurations = new WebhookConfigurations(
      services,
      validatingWebhookConfigurations,
      'validating',
    );
  }

  concerns(target: AdmissionTarget): boolean {
    return !isExempt(target);
  }

  handles(attributes: AdmissionAttributes): boolean {
    return this.#configurations.mayApply(attributes);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const hooks = await this.#configurations.hooksFor(attributes);
    if (hooks.length === 0) return;
    const request = new PolicyRequest(attributes, this.#services);
    const invocations: Invocation[] = [];
    for (const hook of hooks) {
      const invocation = await findInvocation(hook, request, this.#services);
      if (invocation !== undefined) invocations.push(invocation);
    }
    if (invocations.length === 0) return;
    if (attributes.caller?.signal.aborted === true) {
      throw apierrors.timeoutError('request did not complete within requested timeout');
    }
    await this.#callAll(invocations, request);
  }

  /** Calls the webhooks. Rejects with the first error, once all calls have ended. */
  async #callAll(invocations: readonly Invocation[], request: PolicyRequest): Promise<void> {
    const errors: unknown[] = [];
    const services = this.#services;
    const call = async (invocation: Invocation, index: number): Promise<void> => {
      const { hook } = invocation;
      const { attributes } = request;
      try {
        const response = await decided(hook, attributes, services, () =>
          callWebhook(invocation, request, services),
        );
        if (response === undefined) annotateFailOpen(attributes, hook, { round: 0, index });
      } catch (error) {
        errors.push(error);
      }
    };
    await Promise.all(invocations.map(call));
    if (errors.length > 0) throw errors[0];
  }
}
