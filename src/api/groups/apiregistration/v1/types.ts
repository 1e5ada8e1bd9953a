// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface APIServiceList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: APIService[];
}

export interface ServiceReference {
  namespace?: string;
  name?: string;
  port?: number;
}

export interface APIServiceSpec {
  service?: ServiceReference;
  group?: string;
  version?: string;
  insecureSkipTLSVerify?: boolean;
  caBundle?: string;
  groupPriorityMinimum: number;
  versionPriority: number;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type APIServiceConditionType = 'Available' | (string & {});

export interface APIServiceCondition {
  type: APIServiceConditionType;
  status: ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
}

export interface APIServiceStatus {
  conditions?: APIServiceCondition[];
}

export interface APIService extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: APIServiceSpec;
  status: APIServiceStatus;
}
