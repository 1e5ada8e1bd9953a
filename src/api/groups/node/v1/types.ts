// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface RuntimeClass extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  handler: string;
  overhead?: Overhead;
  scheduling?: Scheduling;
}

export interface Overhead {
  podFixed?: core.ResourceList;
}

export interface Scheduling {
  nodeSelector?: Record<string, string>;
  tolerations?: core.Toleration[];
}

export interface RuntimeClassList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: RuntimeClass[];
}
