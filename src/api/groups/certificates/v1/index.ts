// Generated from schema.ts by `npm run generate`. Do not edit.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type * as types from './types.ts';

export type * from './types.ts';

export const certificateSigningRequests: ResourceType<types.CertificateSigningRequest> = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
  singular: 'certificatesigningrequest',
  kind: 'CertificateSigningRequest',
  namespaced: false,
  shortNames: ['csr'],
  categories: [],
  subresources: ['approval', 'status'],
};
