// Snapshots of a store that is in use: its owner sends one to each connection to a socket beside it. The socket
// belongs to the owner of the store alone, as the store does; there is nothing else to ask it.

import { chmodSync, rmSync } from 'node:fs';
import type { Server } from 'node:net';
import { createConnection, createServer } from 'node:net';
import { join, relative } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { watchErrors } from '#machinery/net/peer/index.ts';
import type { Logger } from '#machinery/log.ts';

export const SNAPSHOT_SOCKET = 'snapshot.sock';

/** The longest path of a socket that every system takes. */
const MAX_PATH_BYTES = 103;

/** The socket's path, as short as it can be said; undefined if even that is too long. */
function socketPath(dataDir: string): string | undefined {
  const path = join(dataDir, SNAPSHOT_SOCKET);
  const paths = [path, relative(process.cwd(), path)];
  return paths.find((each) => Buffer.byteLength(each) <= MAX_PATH_BYTES);
}

/** `encode`: the bytes of a snapshot of this moment. Answers how to stop. */
export function serveSnapshots(config: {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly encode: () => Iterable<Buffer>;
}): () => void {
  const { dataDir, logger, encode } = config;
  const path = socketPath(dataDir);
  if (path === undefined) {
    logger.warn(
      'snapshots can be taken only while the store is not in use: the path of its directory is too long',
      {
        dataDir,
      },
    );
    return () => {};
  }
  // The process that made it is gone: the store has one owner, which is this process.
  rmSync(path, { force: true });
  const server: Server = createServer((socket) => {
    pipeline(Readable.from(encode(), { objectMode: false }), socket).catch((error: unknown) => {
      logger.warn('a snapshot was not read to its end', { err: error });
    });
  });
  server.on('error', (err) =>
    logger.warn('snapshots cannot be taken while the store is in use', { dataDir, err }),
  );
  // The directory is closed to other users. The mode is for directories with other permissions.
  server.listen(path, () => chmodSync(path, 0o600));
  // It does not keep a process running.
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
      // No socket, or one whose owner was killed.
      if (err.code === 'ENOENT' || err.code === 'ECONNREFUSED') resolve(undefined);
      else reject(err);
    });
  });
}
