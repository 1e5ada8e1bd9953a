// The API over the network.

export { authenticationHeaders, createHttpTransport, tlsOptions } from './http-transport.ts';
export type { HttpTransportConfig, ServerAccess } from './http-transport.ts';
