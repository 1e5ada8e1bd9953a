// A storage over a byte stream: the storage of one process for another one.

export { type ChannelStorageConfig, openChannelStorage } from './client.ts';
export { serveStorage, type ServedStorage, type ServeStorageConfig } from './server.ts';
