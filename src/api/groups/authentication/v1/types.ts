// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Asks for the user of a token. */
export interface TokenReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: TokenReviewSpec;
  /** The observed state. */
  status: TokenReviewStatus;
}

/** The token. */
export interface TokenReviewSpec {
  /** The token. */
  token?: string;
  /** Audiences, one of which the token must be for. Default: those of the API server. */
  audiences?: string[];
}

/** The result. */
export interface TokenReviewStatus {
  /** Whether the token is valid. */
  authenticated?: boolean;
  /** The user of the token. */
  user: UserInfo;
  /** The audiences of the request that the token is for. */
  audiences?: string[];
  /** The reason why the token could not be checked. */
  error?: string;
}

/** An authenticated user. */
export interface UserInfo {
  /** The name, unique among active users. */
  username?: string;
  /** A value that stays with the user when another one gets the same name. */
  uid?: string;
  /** The groups of the user. */
  groups?: string[];
  /** Further information of the authenticator. */
  extra?: Record<string, ExtraValue>;
}

export type ExtraValue = string[];

/** Asks for a token of a service account. */
export interface TokenRequest extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: TokenRequestSpec;
  /** The observed state. */
  status: TokenRequestStatus;
}

/** The token that is asked for. */
export interface TokenRequestSpec {
  /** The audiences of the token. */
  audiences: string[] | null;
  /** The lifetime. The server may choose another. Default: 3600. */
  expirationSeconds: number | null;
  /** An object without which the token is not valid: a pod, a secret or a node. */
  boundObjectRef: BoundObjectReference | null;
}

/** The token. */
export interface TokenRequestStatus {
  /** The token. */
  token: string;
  /** When the token expires. */
  expirationTimestamp: string | null;
}

/** A reference to the object to which a token is bound. */
export interface BoundObjectReference {
  /** Pod, Secret or Node. */
  kind?: string;
  /** The API version of the object. */
  apiVersion?: string;
  /** The name. */
  name?: string;
  /** The UID. */
  uid?: string;
}

/** Asks for the user of the request. */
export interface SelfSubjectReview extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The observed state. */
  status: SelfSubjectReviewStatus;
}

/** The result. */
export interface SelfSubjectReviewStatus {
  /** The user of the request. */
  userInfo: UserInfo;
}
