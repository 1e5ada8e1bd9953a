import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { type Clock, VirtualClock } from '#machinery/clock.ts';
import { silentLogger as logger } from '#machinery/log.ts';
import { type HarnessOptions, storageConformance } from '../conformance.ts';
import { openEmbeddedStorage } from '../embedded/index.ts';
import type { Storage } from '../interface.ts';
import { createMemoryStorage } from '../memory/index.ts';
import { openWatchCache } from '../watch-cache/index.ts';
import { channelTo, socketPair } from './testing/channel.ts';

/** Returns a storage over a channel. Closing it closes the storage behind it, too. */
async function over(
  behind: Storage,
  ends?: readonly [Duplex, Duplex],
  windowEvents?: number,
): Promise<Storage> {
  const { storage } = await channelTo(behind, ends, windowEvents);
  const close = storage.close.bind(storage);
  storage.close = async () => {
    await close();
    await behind.close();
  };
  return storage;
}

storageConformance('memory over a channel', async (options) => {
  const clock = new VirtualClock();
  const behind = createMemoryStorage({ clock, logger, ...options });
  const storage = await over(behind, undefined, options.watchBufferEvents);
  return {
    storage,
    scans: true,
    advance: (ms) => clock.advance(ms),
    dispose: () => storage.close(),
  };
});

storageConformance('memory over a channel, behind the watch cache', async (options) => {
  const clock = new VirtualClock();
  const behind = createMemoryStorage({ clock, logger, ...options });
  const channel = await over(behind);
  const storage = await openWatchCache({ clock, logger, storage: channel, ...options });
  return { storage, advance: (ms) => clock.advance(ms), dispose: () => storage.close() };
});

const embedded = (
  name: string,
  wrap: (storage: Storage, options: HarnessOptions, clock: Clock) => Promise<Storage>,
) =>
  storageConformance(name, async (options) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'coxswain-channel-'));
    const clock = new VirtualClock();
    const open = async (): Promise<Storage> => {
      const behind = await openEmbeddedStorage({ clock, logger, dataDir, ...options });
      const ends = await socketPair();
      return wrap(await over(behind, ends, options.watchBufferEvents), options, clock);
    };
    let storage = await open();
    return {
      storage,
      scans: !name.includes('cache'),
      advance: (ms) => clock.advance(ms),
      reopen: async () => {
        await storage.close();
        storage = await open();
        return storage;
      },
      dispose: async () => {
        await storage.close();
        rmSync(dataDir, { recursive: true, force: true });
      },
    };
  });

embedded('embedded over a socket', (storage) => Promise.resolve(storage));
embedded('embedded over a socket, behind the watch cache', (storage, options, clock) =>
  openWatchCache({ clock, logger, storage, ...options }),
);
