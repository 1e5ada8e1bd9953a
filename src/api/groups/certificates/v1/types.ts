// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A request for a certificate, which an approver and a signer handle. */
export interface CertificateSigningRequest extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: CertificateSigningRequestSpec;
  /** The observed state. */
  status: CertificateSigningRequestStatus;
}

/** The request. It cannot be changed. */
export interface CertificateSigningRequestSpec {
  /** The certificate request (PKCS #10) in PEM, as base64. */
  request: string;
  /** The signer, such as kubernetes.io/kube-apiserver-client. */
  signerName: string;
  /** The lifetime that is asked for, at least 600. The signer may choose another. */
  expirationSeconds?: number;
  /** The key usages, such as digital signature and client auth. */
  usages?: KeyUsage[];
  /** The user that made the request. Set by the server. */
  username?: string;
  /** The UID of the user. Set by the server. */
  uid?: string;
  /** The groups of the user. Set by the server. */
  groups?: string[];
  /** Further information about the user. Set by the server. */
  extra?: Record<string, ExtraValue>;
}

export type ExtraValue = string[];

/** The state of a request. */
export interface CertificateSigningRequestStatus {
  /** Approved, Denied or Failed. */
  conditions?: CertificateSigningRequestCondition[];
  /** The certificate chain in PEM, as base64. */
  certificate?: string;
}

export type RequestConditionType = 'Approved' | 'Denied' | 'Failed' | (string & {});

/** A decision about a request. It cannot be reverted. */
export interface CertificateSigningRequestCondition {
  /** Approved, Denied or Failed. */
  type: RequestConditionType;
  /** True, False or Unknown. */
  status: core.ConditionStatus;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
  /** When the condition was last updated. */
  lastUpdateTime: string | null;
  /** When the status last changed. */
  lastTransitionTime: string | null;
}

/** A list of CertificateSigningRequest objects. */
export interface CertificateSigningRequestList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CertificateSigningRequest[];
}

export type KeyUsage = 'signing' | 'digital signature' | 'content commitment' | 'key encipherment' | 'key agreement' | 'data encipherment' | 'cert sign' | 'crl sign' | 'encipher only' | 'decipher only' | 'any' | 'server auth' | 'client auth' | 'code signing' | 'email protection' | 's/mime' | 'ipsec end system' | 'ipsec tunnel' | 'ipsec user' | 'timestamping' | 'ocsp signing' | 'microsoft sgc' | 'netscape sgc';
