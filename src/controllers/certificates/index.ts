// Certificate signing requests: approved for kubelets, and cleaned up.

export { CertificateApprover } from './approver.ts';
export { CertificateCleaner } from './cleaner.ts';
