// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface PriorityClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  value: number;
  globalDefault?: boolean;
  description?: string;
  preemptionPolicy?: core.PreemptionPolicy;
}

export interface PriorityClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: PriorityClass[];
}
