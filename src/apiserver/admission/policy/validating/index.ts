// ValidatingAdmissionPolicy: rejects requests for which an expression of a bound policy is false,
// or warns.

import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '#api/groups/admissionregistration/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type {
  AdmissionAttributes,
  AdmissionPlugin,
  AdmissionTarget,
} from '#apiserver/admission/plugin.ts';
import { Evaluation } from '../evaluation.ts';
import { isExempt, refusal } from '../exempt.ts';
import { findInvocations, type Invocation } from '../invocations.ts';
import { errorTypeOf, type PolicyMetrics } from '../metrics.ts';
import { PolicySource } from '../policy-source.ts';
import { PolicyRequest } from '../request.ts';
import type { PolicyServices } from '../services.ts';
import { type Binding, type CompiledPolicy, compilePolicy, type Policy } from './compile.ts';
import { annotateFailure, PolicyAnnotations } from './annotations.ts';
import { validate } from './validate.ts';

const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  Unauthorized: 401,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};
const UNPROCESSABLE = 422;

interface Denial {
  readonly message: string;
  /** The reason of the status; '' for the default. */
  readonly reason: string;
}

export class ValidatingAdmissionPolicy implements AdmissionPlugin {
  readonly name = 'ValidatingAdmissionPolicy';
  readonly #services: PolicyServices;
  readonly #source: PolicySource<Policy, Binding, CompiledPolicy>;
  readonly #metrics: PolicyMetrics;

  constructor(services: PolicyServices) {
    this.#services = services;
    this.#metrics = services.policyMetrics.validating;
    this.#source = new PolicySource({
      ...services,
      policies: validatingAdmissionPolicies,
      bindings: validatingAdmissionPolicyBindings,
      compile: compilePolicy,
    });
  }

  concerns(target: AdmissionTarget): boolean {
    return !isExempt(target);
  }

  handles(attributes: AdmissionAttributes): boolean {
    return this.#source.mayApply(attributes);
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const hooks = await this.#source.hooksFor(attributes);
    if (hooks.length === 0) return;
    const request = new PolicyRequest(attributes, this.#services);
    const denials: Denial[] = [];
    const annotations = new PolicyAnnotations();
    for (const { invocation, misconfiguration } of await findInvocations(request, hooks)) {
      if (invocation !== undefined) {
        denials.push(...(await this.#invoke(request, invocation, annotations)));
      } else if (misconfiguration.policy.spec.failurePolicy !== 'Ignore') {
        const { policy, binding, problem } = misconfiguration;
        denials.push({ message: denialText(policy, binding, problem), reason: '' });
      }
    }
    annotations.publish(attributes);
    const [first] = denials;
    if (first !== undefined) throw denied(attributes, first);
  }

  async #invoke(
    request: PolicyRequest,
    invocation: Invocation<Policy, Binding, CompiledPolicy>,
    annotations: PolicyAnnotations,
  ): Promise<readonly Denial[]> {
    const { policy, binding, compiled, matched, objects, param } = invocation;
    const { authorizer, clock, celMetrics: metrics } = this.#services;
    // A Namespace has no namespace of its own, so `namespaceObject` is null for it.
    const namespace =
      request.namespace === '' || request.isNamespace ? undefined : await request.findNamespace();
    if (namespace === undefined && request.namespace !== '' && !request.isNamespace) {
      throw apierrors.notFound({ group: '', resource: 'namespaces' }, request.namespace);
    }
    const inputs = {
      request,
      matched,
      objects,
      params: param,
      namespace,
      variables: compiled.variables,
      metrics,
    };
    const ignoreFailures = policy.spec.failurePolicy === 'Ignore';
    const verdict = await validate({
      compiled,
      evaluation: new Evaluation({ ...inputs, authorizer }),
      messages: new Evaluation(inputs),
      ignoreFailures,
      clock,
    });
    const denials: Denial[] = [];
    const observe = (
      ...[error, action, seconds]: [string | undefined, 'allow' | 'deny' | 'audit' | 'warn', number]
    ): void =>
      this.#metrics.observe(
        policy.metadata.name,
        binding.metadata.name,
        errorTypeOf(error),
        action,
        seconds,
      );
    for (const [index, decision] of verdict.decisions.entries()) {
      const { allowed, failed, message, reason, seconds } = decision;
      if (allowed) {
        if (failed) observe(message, 'allow', seconds);
        continue;
      }
      for (const action of binding.spec.validationActions ?? []) {
        switch (action) {
          case 'Deny':
            denials.push({ message: denialText(policy, binding, message), reason });
            observe(message, 'deny', seconds);
            break;
          case 'Warn': {
            const { name } = policy.metadata;
            const which = `ValidatingAdmissionPolicy '${name}' with binding '${binding.metadata.name}'`;
            request.attributes.warnings.push(`Validation failed for ${which}: ${message}`);
            observe(message, 'warn', seconds);
            break;
          }
          case 'Audit':
            annotateFailure(request.attributes, binding, index, message);
            observe(message, 'audit', seconds);
            break;
        }
      }
    }
    for (const { key, value, problem } of verdict.auditAnnotations) {
      if (value !== undefined) annotations.add(policy.metadata.name, key, value);
      if (problem === undefined || ignoreFailures) continue;
      denials.push({ message: denialText(policy, binding, problem), reason: '' });
      observe(problem, 'deny', 0);
    }
    return denials;
  }
}

function denialText(policy: Policy, binding: Binding | undefined, why: string): string {
  const bound = binding === undefined ? '' : ` with binding '${binding.metadata.name}'`;
  return `ValidatingAdmissionPolicy '${policy.metadata.name}'${bound} denied request: ${why}`;
}

function denied(
  attributes: AdmissionAttributes,
  { message, reason }: Denial,
): apierrors.StatusError {
  const { status } = refusal(attributes, message);
  const statusReason = reason === '' ? 'Invalid' : reason;
  return apierrors.fromStatus({
    ...status,
    reason: statusReason,
    code: CODES[statusReason] ?? UNPROCESSABLE,
    details: { ...status.details, causes: [{ message }] },
  });
}
