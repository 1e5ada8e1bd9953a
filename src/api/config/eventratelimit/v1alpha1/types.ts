// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface Configuration extends meta.TypeMeta {
  limits?: Limit[];
}

export interface Limit {
  type: string;
  qps: number;
  burst: number;
  cacheSize?: number;
}
