// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface TokenReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: TokenReviewSpec;
  status: TokenReviewStatus;
}

export interface TokenReviewSpec {
  token?: string;
  audiences?: string[];
}

export interface TokenReviewStatus {
  authenticated?: boolean;
  user: UserInfo;
  audiences?: string[];
  error?: string;
}

export interface UserInfo {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
}

export type ExtraValue = string[];

export interface TokenRequest extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: TokenRequestSpec;
  status: TokenRequestStatus;
}

export interface TokenRequestSpec {
  audiences: string[] | null;
  expirationSeconds: number | null;
  boundObjectRef: BoundObjectReference | null;
}

export interface TokenRequestStatus {
  token: string;
  expirationTimestamp: string | null;
}

export interface BoundObjectReference {
  kind?: string;
  apiVersion?: string;
  name?: string;
  uid?: string;
}

export interface SelfSubjectReview extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  status: SelfSubjectReviewStatus;
}

export interface SelfSubjectReviewStatus {
  userInfo: UserInfo;
}
