// Decides the status of a definition that is not being deleted: its names, whether it is
// established, and its other conditions. The functions are pure: the controller reads their inputs,
// and writes their results.

import {
  type Approval,
  approvalOf,
  isProtectedGroup,
} from '#api/groups/apiextensions/v1/approval.ts';
import { caBundleProblem } from '#api/groups/apiextensions/v1/ca-bundle.ts';
import {
  findCondition,
  isConditionTrue,
  type NewCondition,
  withCondition,
  withoutCondition,
} from '#api/groups/apiextensions/v1/conditions.ts';
import { deepEqual, semanticEqual } from '#machinery/deep.ts';
import { decideNames } from './decide-names.ts';
import { decideStructural } from './decide-structural.ts';
import { acceptedNamesOf, type Definition, type Status } from './definition.ts';
import type { TakenNames } from './group-names.ts';

export interface Circumstances {
  readonly taken: TakenNames;
  /** Whether every server that may get requests for the objects serves them. */
  readonly served: boolean;
  /** The wall-clock time in ms. */
  readonly now: number;
}

/** Returns the status that the definition should have; the same object if nothing changes. */
export function decideStatus(
  definition: Definition,
  { taken, served, now }: Circumstances,
): Status {
  let { status } = definition;
  const set = (condition: NewCondition | undefined): void => {
    if (condition === undefined) return;
    const old = findCondition(status, condition.type);
    if (old !== undefined && isEquivalent(old, condition)) return;
    status = withCondition(status, condition, now);
  };

  if (!semanticEqual(definition.spec.names, acceptedNamesOf(definition))) {
    const { acceptedNames, condition } = decideNames(definition, taken);
    if (!deepEqual(acceptedNames, status.acceptedNames)) status = { ...status, acceptedNames };
    set(condition);
    set(beforeEstablished(status));
  } else if (served) set(established(definition));
  set(approvalCondition(definition));
  const structural = decideStructural(definition);
  if (structural === undefined) status = withoutCondition(status, 'NonStructuralSchema');
  else set(structural);
  return status;
}

/** Reports whether the definition only waits for its objects to be served. */
export function waitsForServing(definition: Definition): boolean {
  const { status } = definition;
  return isConditionTrue(status, 'NamesAccepted') && !isConditionTrue(status, 'Established');
}

function isEquivalent(a: NewCondition, b: NewCondition): boolean {
  return a.status === b.status && a.reason === b.reason && a.message === b.message;
}

/**
 * Returns the condition Established after names were decided. An established definition stays
 * established.
 */
function beforeEstablished(status: Status): NewCondition | undefined {
  if (isConditionTrue(status, 'Established')) return undefined;
  if (isConditionTrue(status, 'NamesAccepted')) {
    return {
      type: 'Established',
      status: 'False',
      reason: 'Installing',
      message: 'the initial names have been accepted',
    };
  }
  if (findCondition(status, 'Established') !== undefined) return undefined;
  return {
    type: 'Established',
    status: 'False',
    reason: 'NotAccepted',
    message: 'not all names are accepted',
  };
}

function established(definition: Definition): NewCondition | undefined {
  if (!waitsForServing(definition)) return undefined;
  if (caBundleProblem(definition.spec.conversion?.webhook?.clientConfig?.caBundle) !== undefined) {
    const message = 'The conversion webhook CABundle is invalid';
    return { type: 'Established', status: 'False', reason: 'InvalidCABundle', message };
  }
  const message = 'the initial names have been accepted';
  return { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message };
}

const APPROVALS: Readonly<Record<Approval['state'], Pick<NewCondition, 'status' | 'reason'>>> = {
  invalid: { status: 'False', reason: 'InvalidAnnotation' },
  missing: { status: 'False', reason: 'MissingAnnotation' },
  approved: { status: 'True', reason: 'ApprovedAnnotation' },
  bypassed: { status: 'False', reason: 'UnapprovedAnnotation' },
};

/** Returns the approval condition of a definition in a protected group. */
function approvalCondition({ spec, metadata }: Definition): NewCondition | undefined {
  if (!isProtectedGroup(spec.group)) return undefined;
  const { state, reason } = approvalOf(metadata.annotations);
  return { type: 'KubernetesAPIApprovalPolicyConformant', ...APPROVALS[state], message: reason };
}
