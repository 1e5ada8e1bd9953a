// Limits for connections, and TLS settings, for all servers of this package.

export { peerNotAfter } from './certificate-validity.ts';
export { ConnectionTable } from './connection-table.ts';
export type { ConnectionLimits, ConnectionState, TrackedConnection } from './connection-table.ts';
export { closeConnection, reportRequests, track } from './http1.ts';
export { TLS_SERVER_OPTIONS } from './tls-options.ts';
