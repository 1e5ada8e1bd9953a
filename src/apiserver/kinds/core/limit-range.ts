// The resource limitranges.

import { limitRanges } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { validateLimitRange } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

type LimitRange = Immutable<core.LimitRange>;

const limitRangeStrategy: ResourceStrategy<LimitRange> = {
  checksNameOnUpdate: true,
  allowCreateOnUpdate: true,
  /** A limit range without a name gets its UID as the name. */
  prepareForCreate: (range) =>
    (range.metadata.name ?? '') === ''
      ? { ...range, metadata: { ...range.metadata, name: range.metadata.uid } }
      : range,
  validate: (range) => validateLimitRange(range),
  validateUpdate: (range) => validateLimitRange(range),
};

export const limitRangeKind = defineKind<LimitRange>({
  type: limitRanges,
  strategy: limitRangeStrategy,
});
