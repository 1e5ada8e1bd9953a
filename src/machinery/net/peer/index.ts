// Connections to peers. Each has an error listener for all of its life, deadlines that do not
// depend on the peer, and an owner that destroys it on every way out.

export { AddressNotAllowedError, dial, joinHostPort, watchErrors } from './dial.ts';
export type { DialConfig } from './dial.ts';
export { BodyAbortedError, exchange } from './exchange.ts';
export type { Answer, ExchangeConfig } from './exchange.ts';
export { joinConnections } from './join.ts';
export { describeTransportError } from './transport-errors.ts';
