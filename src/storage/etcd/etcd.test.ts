import { afterAll, beforeAll, describe, test } from 'vitest';
import { systemClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { systemRandom } from '#machinery/random.ts';
import { storageConformance } from '../conformance.ts';
import type { Storage } from '../interface.ts';
import { openEtcdStorage } from './index.ts';
import { ETCD_HINT, type EtcdProcess, hasEtcd, startEtcd } from './testing/etcd-process.ts';

/** A minute of the suite is a second of etcd, whose shortest lease is one second. */
const TIME_SCALE = 60;

if (!hasEtcd()) {
  describe('storage conformance: etcd', () => {
    test.skip(ETCD_HINT);
  });
} else {
  let etcd: EtcdProcess;
  let stores = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());

  storageConformance('etcd', async (options) => {
    // One etcd serves all tests, one after the other. Each test has its own prefix.
    const prefix = `/test-${++stores}`;
    const open = (): Promise<Storage> =>
      openEtcdStorage({
        clock: systemClock,
        random: systemRandom,
        logger: silentLogger,
        endpoints: [etcd.endpoint],
        prefix,
        logicalPrefix: '',
        compactionIntervalMs: 0,
        ...options,
      });
    let storage = await open();
    return {
      storage,
      timeScale: TIME_SCALE,
      scans: true,
      advance: (ms) => systemClock.sleep(ms / TIME_SCALE),
      reopen: async () => {
        await storage.close();
        storage = await open();
        return storage;
      },
      dispose: () => storage.close(),
    };
  });
}
