// SPDY/3.1, which kubectl and container runtimes use after an HTTP upgrade.

export { SpdyConnection } from './connection.ts';
export type { SpdyConnectionConfig } from './connection.ts';
export { SpdyProtocolError } from './frames.ts';
export type { Headers } from './header-compression.ts';
export { SpdyStream, SpdyStreamResetError } from './stream.ts';
