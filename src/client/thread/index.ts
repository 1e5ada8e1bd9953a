// Clients in one thread, the API server in another.

export { ThreadClients } from './clients.ts';
export type { ThreadUser } from './protocol.ts';
export { ThreadServer } from './server.ts';
export type { ThreadServerConfig } from './server.ts';
