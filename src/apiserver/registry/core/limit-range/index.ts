// The resource limitranges.

import type * as core from '../../../../api/core/v1/index.ts';
import { limitRanges } from '../../../../api/core/v1/index.ts';
import { validateLimitRange } from '../../../../api/core/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';

type LimitRange = Immutable<core.LimitRange>;

export const limitRangeStrategy: ResourceStrategy<LimitRange> = {
  checksNameOnUpdate: true,
  allowCreateOnUpdate: true,
  /** One that nobody has named is called as itself. */
  prepareForCreate: (range) =>
    (range.metadata.name ?? '') === '' ? { ...range, metadata: { ...range.metadata, name: range.metadata.uid } } : range,
  validate: (range) => validateLimitRange(range),
  validateUpdate: (range) => validateLimitRange(range),
};

export function limitRangeResource(services: RegistryServices): ServedResource {
  return {
    type: limitRanges,
    rest: new ResourceStore<LimitRange>({ ...services, type: limitRanges, strategy: limitRangeStrategy }),
  };
}
