// Serves snapshots of a store that is open: its owner sends one to each connection to a Unix socket
// in the store's directory. Only the user that owns the store can connect. The socket serves
// nothing else.

import { chmodSync, rmSync } from 'node:fs';
import { createConnection, createServer, type Server } from 'node:net';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { watchErrors } from '#machinery/net/peer/index.ts';
import type { Logger } from '#machinery/log.ts';

export const SNAPSHOT_SOCKET = 'snapshot.sock';

/** The longest socket path, in bytes, that every supported system accepts. */
const MAX_PATH_BYTES = 103;

/**
 * Returns the socket's path, relative if the absolute path is too long; undefined if both are too
 * long.
 */
function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, SNAPSHOT_SOCKET);
  const paths = [path, relative(process.cwd(), path)];
  return paths.find((each) => Buffer.byteLength(each) <= MAX_PATH_BYTES);
}

/**
 * Serves snapshots, and returns a function that stops the server. `encode` returns the bytes of a
 * snapshot of the current state.
 */
export function serveSnapshots(config: {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly encode: () => Iterable<Buffer>;
}): () => void {
  const { dataDir, logger, encode } = config;
  const path = socketPath(dataDir);
  if (path === undefined) {
    logger.warn(
      'snapshots can only be taken while the store is closed: the path of its directory is too long',
      {
        dataDir,
      },
    );
    return () => {};
  }
  // The socket file is left from a process that has ended: this process owns the store now.
  rmSync(path, { force: true });
  const server: Server = createServer((socket) => {
    pipeline(Readable.from(encode(), { objectMode: false }), socket).catch((error: unknown) => {
      logger.warn('store: sending a snapshot failed', { err: error });
    });
  });
  server.on('error', (err) => logger.warn('store: serving snapshots failed', { dataDir, err }));
  // Other users cannot enter the directory. The mode protects the socket if the directory has other
  // permissions.
  server.listen(path, () => chmodSync(path, 0o600));
  // The server does not keep the process running.
  server.unref();
  return () => {
    server.close();
    rmSync(path, { force: true });
  };
}

/** Returns the snapshot that the owner of the store serves; undefined if the store is not in use. */
export async function fetchSnapshot(dataDir: string): Promise<Readable | undefined> {
  const path = socketPath(dataDir);
  if (path === undefined) return undefined;
  const socket = watchErrors(createConnection(path));
  return await new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket));
    socket.once('error', (err: NodeJS.ErrnoException) => {
      // The socket does not exist, or its owner was killed.
      if (err.code === 'ENOENT' || err.code === 'ECONNREFUSED') resolve(undefined);
      else reject(err);
    });
  });
}
