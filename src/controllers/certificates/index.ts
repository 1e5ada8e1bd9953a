// Certificate signing requests: approved for kubelets, signed, and cleaned up.

export { CertificateApprover } from './approver.ts';
export { CertificateCleaner } from './cleaner.ts';
export { CertificateSigner } from './signer.ts';
export type { CertificateSignerConfig } from './signer.ts';
export type { Authority } from './x509.ts';
