import { describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { HeartbeatGrid } from './heartbeats.ts';

const PERIOD_MS = 10_000;
const names = Array.from({ length: 500 }, (_, i) => `node-${i}`);

describe('HeartbeatGrid', () => {
  const phases = (clock: VirtualClock, tickMs?: number): number[] =>
    names.map((name) => {
      const grid = new HeartbeatGrid(clock, PERIOD_MS, name, tickMs);
      return grid.after(clock.monotonic(), 'lease');
    });

  test('gives each node an instant of its own', () => {
    const clock = new VirtualClock();
    expect(new Set(phases(clock)).size).toBeGreaterThan(490);
    expect(phases(clock).every((at) => !Number.isInteger(at))).toBe(true);
  });

  test('with a tick, nodes share instants that are spread over the period', () => {
    const clock = new VirtualClock();
    const due = phases(clock, 250);
    const since = due.map((at) => at - Math.min(...due));
    expect(since.every((at) => at % 250 === 0 && at < PERIOD_MS)).toBe(true);
    const counts = new Map<number, number>();
    for (const at of since) counts.set(at, (counts.get(at) ?? 0) + 1);
    expect(counts.size).toBe(40);
    expect(Math.max(...counts.values())).toBeLessThan(40);
  });

  test('a heartbeat follows the last one by a period, of both kinds', async () => {
    const clock = new VirtualClock();
    for (const tickMs of [undefined, 250]) {
      const grid = new HeartbeatGrid(clock, PERIOD_MS, 'node-1', tickMs);
      for (const kind of ['lease', 'status'] as const) {
        const first = grid.after(clock.monotonic(), kind);
        expect(grid.after(first, kind)).toBe(first + PERIOD_MS);
        expect(grid.after(first - 1, kind)).toBe(first);
      }
    }
  });
});
