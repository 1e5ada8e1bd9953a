// Kubernetes' exec, attach and port-forward protocols, both ends.

export { execOverSpdy, execOverWebSocket, portForwardOverSpdy } from './client.ts';
export type { ClientStreams, PortForwardClient, StreamingTarget } from './client.ts';
export { isStreamingUpgrade, servePortForward, serveRemoteCommand } from './server.ts';
export type * from './types.ts';
