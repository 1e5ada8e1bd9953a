// Validation of coordination/v1 (pkg/apis/coordination/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Lease } from './types.ts';

const SPEC = new field.FieldPath('spec');
const STRATEGIES = ['OldestEmulationVersion'];

/** Validates a lease. An empty holder is valid: releasing a lease writes ''. */
export function validateLease({ spec }: Immutable<Lease>): FieldErrorList {
  const errors: FieldErrorList = [];
  const { leaseDurationSeconds, leaseTransitions, strategy, preferredHolder = '' } = spec;
  if (leaseDurationSeconds !== undefined && leaseDurationSeconds <= 0) {
    errors.push(
      field.invalid(
        SPEC.child('leaseDurationSeconds'),
        leaseDurationSeconds,
        'must be greater than 0',
      ),
    );
  }
  if (leaseTransitions !== undefined && leaseTransitions < 0) {
    errors.push(
      field.invalid(
        SPEC.child('leaseTransitions'),
        leaseTransitions,
        validation.IS_NEGATIVE_MESSAGE,
      ),
    );
  }
  if (strategy !== undefined) errors.push(...validateStrategy(strategy));
  if (preferredHolder !== '' && (strategy ?? '') === '') {
    errors.push(
      field.forbidden(
        SPEC.child('preferredHolder'),
        'may only be specified if `strategy` is defined',
      ),
    );
  }
  return errors;
}

/** Validates a strategy: one of Kubernetes' own names, or one with a domain. */
function validateStrategy(strategy: string): FieldErrorList {
  const at = SPEC.child('strategy', 'strategy');
  if (!strategy.includes('/'))
    return STRATEGIES.includes(strategy) ? [] : [field.notSupported(at, strategy, STRATEGIES)];
  return validation
    .isQualifiedName(strategy)
    .map((problem) => field.invalid(at, strategy, problem));
}
