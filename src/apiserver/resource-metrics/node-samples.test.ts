import { describe, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { NodeSamples } from './node-samples.ts';
import type { NodeSample } from './summary.ts';

/** Nodes that use half a core. */
class Fixture {
  readonly clock = new VirtualClock();
  readonly scraped: string[] = [];
  /** The scrape from which on kubelets report a rate of their own. */
  ratesFrom = 2;
  #scrapes = new Map<string, number>();
  failing = false;
  readonly samples = new NodeSamples({
    clock: this.clock,
    logger: silentLogger,
    scrape: async ({ name }): Promise<NodeSample> => {
      this.scraped.push(name);
      const scrapes = (this.#scrapes.get(name) ?? 0) + 1;
      this.#scrapes.set(name, scrapes);
      await Promise.resolve();
      if (this.failing) throw new Error('no route to host');
      const time = this.clock.now();
      const cpuNanoseconds = this.clock.monotonic() * 0.5e6 + 1;
      const node = {
        time,
        cpuNanoseconds,
        memoryBytes: 1,
        startedAt: 0,
        ...(scrapes >= this.ratesFrom && { nanoCores: 7 }),
      };
      return { node, pods: new Map([['d/p', new Map([['c', node]])]]) };
    },
  });

  async read(...names: string[]) {
    const reading = this.samples.read(names.map((name) => ({ name, host: name, port: 10_250 })));
    await this.clock.advance('1s');
    return reading;
  }
}

describe('samples of nodes', () => {
  test('are taken twice for the first usage, and then once a second at most', async () => {
    const fixture = new Fixture();
    const first = await fixture.read('a', 'b');
    expect(first.get('a')?.node).toMatchObject({ nanoCores: 7, windowMs: 1000 });
    expect(first.get('b')?.pod('d/p')?.get('c')).toMatchObject({ nanoCores: 7 });
    expect(first.get('b')?.pod('d/other')).toBeUndefined();
    expect(fixture.scraped).toEqual(['a', 'b', 'a', 'b']);
    await Promise.all([
      fixture.samples.read([{ name: 'a', host: 'a', port: 1 }]),
      fixture.samples.read([{ name: 'a', host: 'a', port: 1 }]),
    ]);
    expect(fixture.scraped).toHaveLength(4);
    await fixture.clock.advance('14s');
    const later = await fixture.read('a');
    expect(later.get('a')?.node).toMatchObject({ windowMs: 15_000 - 1000 });
    expect(fixture.scraped).toHaveLength(5);
  });

  test('are taken once if the kubelet knows the usage', async () => {
    const fixture = new Fixture();
    fixture.ratesFrom = 1;
    expect((await fixture.read('a')).get('a')?.node?.nanoCores).toBe(7);
    expect(fixture.scraped).toEqual(['a']);
  });

  test('are compared with earlier ones if the kubelet computes no rate', async () => {
    const fixture = new Fixture();
    fixture.ratesFrom = Number.POSITIVE_INFINITY;
    expect((await fixture.read('a')).get('a')?.node).toBeUndefined();
    await fixture.clock.advance('14s');
    expect((await fixture.read('a')).get('a')?.node).toMatchObject({
      nanoCores: 0.5e9,
      windowMs: 14_000,
    });
  });

  test('leave out nodes that do not answer, and do not ask them again at once', async () => {
    const fixture = new Fixture();
    fixture.failing = true;
    expect((await fixture.read('a')).size).toBe(0);
    expect((await fixture.read('a')).size).toBe(0);
    expect(fixture.scraped).toEqual(['a']);
    fixture.failing = false;
    await fixture.clock.advance('10s');
    expect((await fixture.read('a')).size).toBe(1);
  });

  test('are forgotten when they are not requested', async () => {
    const fixture = new Fixture();
    await fixture.read('a');
    await fixture.clock.advance('2m');
    await fixture.read('b');
    expect(fixture.samples.size).toBe(1);
  });
});
