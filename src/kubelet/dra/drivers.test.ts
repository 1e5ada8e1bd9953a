import { beforeEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import { withResolvers } from '#machinery/with-resolvers.ts';
import type { Plugin } from '../plugins/index.ts';
import type { DraDriver } from './driver.ts';
import { DraDrivers } from './drivers.ts';
import type { ReportedHealth } from './schema.ts';

/** A driver in memory whose connection the test controls. */
class FakeDriver implements DraDriver {
  isClosed = false;
  #isUp = false;
  #changed = withResolvers();
  #reports: (readonly ReportedHealth[])[] = [];

  set isUp(value: boolean) {
    this.#isUp = value;
    this.#changed.resolve();
    this.#changed = withResolvers();
  }

  report(...reports: readonly ReportedHealth[]): void {
    this.#reports.push(reports);
    this.isUp = this.#isUp;
  }

  connected(signal: AbortSignal): Promise<void> {
    return this.#until(() => this.#isUp, signal);
  }

  disconnected(signal: AbortSignal): Promise<void> {
    return this.#until(() => !this.#isUp, signal);
  }

  async *watchHealth(signal: AbortSignal): AsyncGenerator<readonly ReportedHealth[]> {
    while (!signal.aborted) {
      for (const report of this.#reports.splice(0)) yield report;
      await this.#until(() => this.#reports.length > 0, signal);
    }
  }

  prepare(): Promise<never> {
    return Promise.reject(new Error('not used'));
  }

  unprepare(): Promise<never> {
    return Promise.reject(new Error('not used'));
  }

  close(): void {
    this.isClosed = true;
  }

  async #until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    while (!condition()) await Promise.race([this.#changed.promise, aborted]);
  }
}

let clock: VirtualClock;
let made: Map<string, FakeDriver>;
let wipes: (string | undefined)[];
let failures: number;
let health: (number | undefined)[];
let abort: AbortController;
let drivers: DraDrivers;

beforeEach(() => {
  clock = new VirtualClock();
  made = new Map();
  wipes = [];
  failures = 0;
  health = [];
  abort = new AbortController();
  drivers = new DraDrivers({
    clock,
    random: new SeededRandom('drivers'),
    logger: silentLogger,
    open: (path) => {
      const driver = new FakeDriver();
      made.set(path, driver);
      return driver;
    },
    deleteSlices: (driver) => {
      if (failures-- > 0) return Promise.reject(new Error('not now'));
      wipes.push(driver);
      return Promise.resolve();
    },
    onHealth: (_, reports) => health.push(reports?.length),
    signal: abort.signal,
  });
});

const plugin = (endpoint: string): Plugin => ({
  type: 'DRAPlugin',
  name: 'gpu',
  endpoint,
  versions: ['v1.DRAPlugin'],
});

async function connect(endpoint: string): Promise<FakeDriver> {
  await drivers.register(plugin(endpoint));
  const driver = made.get(endpoint)!;
  driver.isUp = true;
  await clock.advance('10ms');
  return driver;
}

describe('registered drivers', () => {
  test('the latest connected plugin is used; an endpoint registers once', async () => {
    expect(() => drivers.get('gpu')).toThrow('DRA driver gpu is not registered');
    const first = await connect('/a');
    await drivers.register(plugin('/b'));
    expect(drivers.get('gpu')).toBe(first);
    const second = made.get('/b')!;
    second.isUp = true;
    await clock.advance('10ms');
    expect(drivers.get('gpu')).toBe(second);
    await expect(drivers.register(plugin('/b'))).rejects.toThrow(
      'endpoint /b already registered for DRA driver plugin gpu',
    );
    await drivers.deregister(plugin('/b'));
    expect(second.isClosed).toBe(true);
    expect(drivers.get('gpu')).toBe(first);
  });

  test('slices are deleted after 30 s without a connected plugin', async () => {
    const driver = await connect('/a');
    await clock.advance('5m');
    expect(wipes).toEqual([]);
    driver.isUp = false;
    await clock.advance('29s');
    driver.isUp = true;
    await clock.advance('1m');
    expect(wipes).toEqual([]);
    driver.isUp = false;
    await clock.advance('31s');
    expect(wipes).toEqual(['gpu']);
  });

  test('a driver that is replaced in time keeps its slices', async () => {
    await connect('/a');
    await drivers.deregister(plugin('/a'));
    await clock.advance('20s');
    await connect('/b');
    await clock.advance('1m');
    expect(wipes).toEqual([]);
    await drivers.deregister(plugin('/b'));
    await clock.advance('31s');
    expect(wipes).toEqual(['gpu']);
  });

  test('at the start all slices are deleted, with retries', async () => {
    failures = 3;
    const started = drivers.start();
    // A driver is registered afterwards: it may publish slices then.
    const registered = drivers.register(plugin('/a'));
    await clock.advance('10ms');
    expect(made.size).toBe(0);
    await clock.advance('20s');
    await Promise.all([started, registered]);
    expect(wipes).toEqual([undefined]);
    expect(made.size).toBe(1);
  });

  test('health is reported until the stream ends', async () => {
    const driver = await connect('/a');
    driver.report({
      health: 'HEALTHY',
      lastUpdatedTime: 0,
      healthCheckTimeoutSeconds: 0,
      message: '',
    });
    await clock.advance('10ms');
    expect(health).toEqual([1]);
    await drivers.deregister(plugin('/a'));
    await clock.advance('10ms');
    expect(health).toEqual([1, undefined]);
  });

  test('nothing is left when the kubelet stops', async () => {
    const driver = await connect('/a');
    abort.abort(new Error('stop'));
    await clock.advance('5m');
    expect(driver.isClosed).toBe(true);
    expect(wipes).toEqual([]);
  });
});
