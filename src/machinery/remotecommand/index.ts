// Kubernetes' exec, attach and port-forward protocols, both ends.

export { isStreamingUpgrade, servePortForward, serveRemoteCommand } from './server.ts';
export type * from './types.ts';
