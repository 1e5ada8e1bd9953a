// Every type of certificates.k8s.io/v1: the only list of their fields. `npm run generate` makes
// types.ts and index.ts from it.

import {
  atomic,
  f,
  groupVersion,
  kind,
  openEnum,
  mapList,
  message,
  oneOf,
  resource,
} from '#api/machinery/schema/builder.ts';

export const schema = groupVersion('certificates.k8s.io', 'v1', 'io.k8s.api.certificates.v1', {
  CertificateSigningRequest: resource(
    {
      resource: 'certificatesigningrequests',
      scope: 'Cluster',
      shortNames: ['csr'],
      subresources: ['approval', 'status'],
    },
    () => [
      f('metadata?', 1, 'meta/v1.ObjectMeta'),
      f('spec', 2, 'CertificateSigningRequestSpec'),
      f('status?', 3, 'CertificateSigningRequestStatus'),
    ],
  ),
  CertificateSigningRequestSpec: message(() => [
    f('request', 1, 'bytes'),
    f('signerName', 7, 'string'),
    f('expirationSeconds?', 8, '*int32'),
    f('usages?', 5, '[]KeyUsage', atomic),
    f('username?', 2, 'string'),
    f('uid?', 3, 'string'),
    f('groups?', 4, '[]string', atomic),
    f('extra?', 6, '{}ExtraValue'),
  ]),
  ExtraValue: { alias: '[]string', protoMessage: true },
  CertificateSigningRequestStatus: message(() => [
    f('conditions?', 1, '[]CertificateSigningRequestCondition', mapList('type')),
    f('certificate?', 2, 'bytes'),
  ]),
  RequestConditionType: openEnum('Approved', 'Denied', 'Failed'),
  CertificateSigningRequestCondition: message(() => [
    f('type', 1, 'RequestConditionType'),
    f('status', 6, 'core/v1.ConditionStatus'),
    f('reason?', 2, 'string'),
    f('message?', 3, 'string'),
    f('lastUpdateTime?', 4, 'time'),
    f('lastTransitionTime?', 5, 'time'),
  ]),
  CertificateSigningRequestList: kind(() => [
    f('metadata?', 1, 'meta/v1.ListMeta'),
    f('items', 2, '[]CertificateSigningRequest'),
  ]),
  KeyUsage: oneOf(
    'signing',
    'digital signature',
    'content commitment',
    'key encipherment',
    'key agreement',
    'data encipherment',
    'cert sign',
    'crl sign',
    'encipher only',
    'decipher only',
    'any',
    'server auth',
    'client auth',
    'code signing',
    'email protection',
    's/mime',
    'ipsec end system',
    'ipsec tunnel',
    'ipsec user',
    'timestamping',
    'ocsp signing',
    'microsoft sgc',
    'netscape sgc',
  ),
});
