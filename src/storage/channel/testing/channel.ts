// A storage channel inside one process, for tests.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { silentLogger } from '#machinery/log.ts';
import { duplexPair } from '#machinery/streams/duplex-pair.ts';
import type { Storage } from '../../interface.ts';
import { openChannelStorage, serveStorage } from '../index.ts';

export interface ChannelUnderTest {
  readonly storage: Storage;
  /** Breaks the channel. */
  readonly cut: () => void;
}

/** Returns a storage over a channel to `behind`. */
export async function channelTo(
  behind: Storage,
  ends: readonly [Duplex, Duplex] = duplexPair(),
  windowEvents?: number,
): Promise<ChannelUnderTest> {
  const [near, far] = ends;
  const served = serveStorage({ storage: behind, stream: far, logger: silentLogger });
  const storage = await openChannelStorage({
    stream: near,
    logger: silentLogger,
    ...(windowEvents !== undefined && { window: { events: windowEvents } }),
  });
  return { storage, cut: () => served.close() };
}

/** Returns the two ends of a connection of the kernel. */
export async function socketPair(): Promise<readonly [Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-channel-'));
  const path = join(folder, 's');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const near = connect(path);
  const [far] = await accepted;
  server.close();
  rmSync(folder, { recursive: true, force: true });
  return [near, far];
}
