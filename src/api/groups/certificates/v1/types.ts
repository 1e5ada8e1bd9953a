// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface CertificateSigningRequest extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status: CertificateSigningRequestStatus;
}

export interface CertificateSigningRequestSpec {
  request: string;
  signerName: string;
  expirationSeconds?: number;
  usages?: KeyUsage[];
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, ExtraValue>;
}

export type ExtraValue = string[];

export interface CertificateSigningRequestStatus {
  conditions?: CertificateSigningRequestCondition[];
  certificate?: string;
}

export type RequestConditionType = 'Approved' | 'Denied' | 'Failed' | (string & {});

export interface CertificateSigningRequestCondition {
  type: RequestConditionType;
  status: core.ConditionStatus;
  reason?: string;
  message?: string;
  lastUpdateTime: string | null;
  lastTransitionTime: string | null;
}

export interface CertificateSigningRequestList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CertificateSigningRequest[];
}

export type KeyUsage = 'signing' | 'digital signature' | 'content commitment' | 'key encipherment' | 'key agreement' | 'data encipherment' | 'cert sign' | 'crl sign' | 'encipher only' | 'decipher only' | 'any' | 'server auth' | 'client auth' | 'code signing' | 'email protection' | 's/mime' | 'ipsec end system' | 'ipsec tunnel' | 'ipsec user' | 'timestamping' | 'ocsp signing' | 'microsoft sgc' | 'netscape sgc';
