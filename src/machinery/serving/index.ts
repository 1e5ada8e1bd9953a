// Shared by all servers of this package: limits for their connections, and TLS settings.

export { peerNotAfter } from './certificate-validity.ts';
export { ConnectionTable } from './connection-table.ts';
export type { ConnectionLimits, ConnectionState, TrackedConnection } from './connection-table.ts';
export { closeConnection, reportRequests, track } from './http1.ts';
export { TLS_SERVER_OPTIONS } from './tls-options.ts';
