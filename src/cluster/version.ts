// The version of this package, and the version of the Kubernetes API that it serves.

export const COXSWAIN_VERSION = '0.1.0';

/** What /version, node info and clients' skew checks see. */
export const KUBERNETES_VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.3' } as const;
