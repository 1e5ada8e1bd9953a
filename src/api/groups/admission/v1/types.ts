// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as authentication from '#api/groups/authentication/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A call of an admission webhook. */
export interface AdmissionReview extends meta.TypeMeta {
  /** The request to admit. */
  request?: AdmissionRequest;
  /** The decision of the webhook. */
  response?: AdmissionResponse;
}

/** A request to admit. */
export interface AdmissionRequest {
  /** The ID of the call. */
  uid: string;
  /** The kind of the object, in the version that the webhook has requested. */
  kind: meta.GroupVersionKind;
  /** The resource, in the version that the webhook has requested. */
  resource: meta.GroupVersionResource;
  /** The subresource. */
  subResource?: string;
  /** The kind of the object in the original request. */
  requestKind?: meta.GroupVersionKind;
  /** The resource in the original request. */
  requestResource?: meta.GroupVersionResource;
  /** The subresource in the original request. */
  requestSubResource?: string;
  /** The name of the object. It may be empty for a create. */
  name?: string;
  /** The namespace of the object. */
  namespace?: string;
  /** CREATE, UPDATE, DELETE or CONNECT. */
  operation: Operation;
  /** The user of the request. */
  userInfo: authentication.UserInfo;
  /** The object of the request. */
  object: Record<string, unknown> | null;
  /** The stored object, for updates and deletions. */
  oldObject: Record<string, unknown> | null;
  /** Whether nothing will be stored. */
  dryRun?: boolean;
  /** The options of the operation. */
  options: Record<string, unknown> | null;
}

/** The decision of a webhook. */
export interface AdmissionResponse {
  /** The ID of the call. */
  uid: string;
  /** Whether the request is allowed. */
  allowed: boolean;
  /** The reason for a rejection. */
  status?: meta.Status;
  /** A JSON patch, as base64. */
  patch?: string;
  /** JSONPatch. */
  patchType?: PatchType;
  /** Annotations of the audit log. */
  auditAnnotations?: Record<string, string>;
  /** Warnings for the client. */
  warnings?: string[];
}

export type PatchType = 'JSONPatch' | (string & {});

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT' | (string & {});
