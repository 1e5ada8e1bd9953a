import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { storageConformance } from '../conformance.ts';
import { createMemoryStorage } from './index.ts';

storageConformance('memory', async (options) => {
  const clock = new VirtualClock();
  const storage = createMemoryStorage({ clock, logger: silentLogger, ...options });
  return { storage, advance: (ms) => clock.advance(ms), dispose: () => storage.close() };
});
