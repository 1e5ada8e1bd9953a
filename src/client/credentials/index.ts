// Sources of credentials: rotated files, programs, and the ServiceAccount of a pod.

export type { Credentials, CredentialSource } from './credential-source.ts';
export { ExecCredentials, ExecCredentialsError } from './exec.ts';
export type { ExecCluster, ExecCredentialsConfig } from './exec.ts';
export { inClusterAccess, isInCluster } from './in-cluster.ts';
export type { InClusterOptions } from './in-cluster.ts';
export { TokenFile } from './token-file.ts';
export type { TokenFileConfig } from './token-file.ts';
