// Annotations of validating policies for the audit log. Keys and values are upstream's.

import type { ValidatingAdmissionPolicyBinding } from '#api/groups/admissionregistration/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { AdmissionAttributes } from '../../plugin.ts';

/** Longer values of annotations are cut. */
const MAX_VALUE_LENGTH = 10 * 1024;

/** Records a validation that has failed, and whose binding has the action Audit. */
export function annotateFailure(
  { caller }: AdmissionAttributes,
  { metadata, spec }: Immutable<ValidatingAdmissionPolicyBinding>,
  expressionIndex: number,
  message: string,
): void {
  const failure = {
    message,
    policy: spec.policyName,
    binding: metadata.name,
    expressionIndex,
    validationActions: spec.validationActions,
  };
  caller?.audit?.annotate(
    'validation.policy.admission.k8s.io/validation_failure',
    JSON.stringify([failure]),
  );
}

/** The annotations of policies, whose bindings and parameters may give one key several values. */
export class PolicyAnnotations {
  readonly #values = new Map<string, Set<string>>();

  add(policy: string, key: string, value: string): void {
    const name = `${policy}/${key}`;
    const values = this.#values.get(name) ?? new Set();
    values.add(value.slice(0, MAX_VALUE_LENGTH));
    this.#values.set(name, values);
  }

  publish({ caller }: AdmissionAttributes): void {
    for (const [name, values] of this.#values)
      caller?.audit?.annotate(name, [...values].join(', '));
  }
}
