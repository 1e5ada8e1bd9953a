// Certificates that the kubelet requests from the API.

export {
  CLIENT_PREFIX,
  clientCertificateManager,
  clientTemplate,
  requireCertificate,
  RotatedCredentials,
} from './client-certificate.ts';
export { CertificateManager, type OpenClient } from './certificate-manager.ts';
export { CertificateMetrics } from './certificate-metrics.ts';
export { certificateOf, type IssuedPair } from './issued-pair.ts';
export { CLIENT_USAGES, issuedCertificate, submitRequest } from './issue.ts';
export { PairStore } from './pair-store.ts';
export { SERVING_PREFIX, servingCertificateManager } from './serving-certificate.ts';
