// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as authentication from '#api/groups/authentication/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface AdmissionReview extends meta.TypeMeta {
  request?: AdmissionRequest;
  response?: AdmissionResponse;
}

export interface AdmissionRequest {
  uid: string;
  kind: meta.GroupVersionKind;
  resource: meta.GroupVersionResource;
  subResource?: string;
  requestKind?: meta.GroupVersionKind;
  requestResource?: meta.GroupVersionResource;
  requestSubResource?: string;
  name?: string;
  namespace?: string;
  operation: Operation;
  userInfo: authentication.UserInfo;
  object: Record<string, unknown> | null;
  oldObject: Record<string, unknown> | null;
  dryRun?: boolean;
  options: Record<string, unknown> | null;
}

export interface AdmissionResponse {
  uid: string;
  allowed: boolean;
  status?: meta.Status;
  patch?: string;
  patchType?: PatchType;
  auditAnnotations?: Record<string, string>;
  warnings?: string[];
}

export type PatchType = 'JSONPatch' | (string & {});

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT' | (string & {});
