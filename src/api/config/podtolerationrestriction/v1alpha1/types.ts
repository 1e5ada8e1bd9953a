// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface Configuration extends meta.TypeMeta {
  default?: core.Toleration[];
  whitelist?: core.Toleration[];
}
