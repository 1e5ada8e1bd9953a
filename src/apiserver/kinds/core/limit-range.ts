// The resource limitranges.

import type * as core from '#api/groups/core/v1/index.ts';
import { limitRanges } from '#api/groups/core/v1/index.ts';
import { validateLimitRange } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

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

export function limitRangeResource(services: RegistryServices): Kind {
  return {
    type: limitRanges,
    rest: new ResourceStore<LimitRange>({ ...services, type: limitRanges, strategy: limitRangeStrategy }),
  };
}
