// The version of this package, and the version of the Kubernetes API that it serves.

export const COXSWAIN_VERSION = '0.1.0';

/** The version in /version, in node info and for the skew checks of clients. */
export const KUBERNETES_VERSION = { major: '1', minor: '36', gitVersion: 'v1.36.3' } as const;
