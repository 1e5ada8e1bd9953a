import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '../../machinery/clock.ts';
import { silentLogger } from '../../machinery/log.ts';
import { storageConformance } from '../conformance.ts';
import { openEmbeddedStorage } from './index.ts';

storageConformance('embedded', async (options) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'storage-'));
  const clock = new VirtualClock();
  const open = () => openEmbeddedStorage({ clock, logger: silentLogger, dataDir, ...options });
  let storage = await open();
  return {
    storage,
    advance: (ms) => clock.advance(ms),
    reopen: async () => {
      await storage.close();
      storage = await open();
      return storage;
    },
    dispose: async () => {
      await storage.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
});
