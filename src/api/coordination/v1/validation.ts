// Validation of coordination/v1 (pkg/apis/coordination/validation).

import * as field from '../../../machinery/field.ts';
import type { FieldErrorList } from '../../../machinery/field.ts';
import type { Immutable } from '../../meta/v1/index.ts';
import type { Lease } from './types.ts';

export function validateLease(lease: Immutable<Lease>): FieldErrorList {
  const errors: FieldErrorList = [];
  const at = new field.FieldPath('spec');
  const { leaseDurationSeconds, leaseTransitions, holderIdentity } = lease.spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(field.invalid(at.child('leaseDurationSeconds'), leaseDurationSeconds, 'must be greater than 0'));
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    errors.push(field.invalid(at.child('leaseTransitions'), leaseTransitions, 'must be greater than or equal to 0'));
  }
  if (holderIdentity === '') errors.push(field.invalid(at.child('holderIdentity'), holderIdentity, 'must not be empty'));
  return errors;
}
