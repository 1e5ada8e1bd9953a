import { describe, expect, test } from 'vitest';
import { amount, needsSecond, type Summary, usageOfItem, usagesOf } from './usage.ts';

const at = (time: string, nanoseconds: number, rate?: number): Summary => {
  const cpu = {
    time,
    usageCoreNanoSeconds: nanoseconds,
    ...(rate !== undefined && { usageNanoCores: rate }),
  };
  return {
    node: { cpu, memory: { workingSetBytes: 1000 } },
    pods: [{ podRef: { name: 'p', namespace: 'x' }, cpu, memory: { workingSetBytes: 10 } }],
  };
};

describe('usage', () => {
  test('is the rate that the kubelet has, or that between two summaries', () => {
    const [before, after] = [at('2026-03-01T12:00:00Z', 0), at('2026-03-01T12:00:02Z', 1e9)];
    expect(needsSecond(before)).toBe(true);
    expect(usagesOf('n', after, before)).toEqual({
      nodes: [{ name: 'n', cpu: 0.5, memory: 1000 }],
      pods: [{ name: 'p', namespace: 'x', node: 'n', cpu: 0.5, memory: 10 }],
    });
    const own = at('2026-03-01T12:00:00Z', 0, 250_000_000);
    expect(needsSecond(own)).toBe(false);
    expect(usagesOf('n', own).nodes[0]?.cpu).toBe(0.25);
  });

  test('is not known without a time between, and after a counter went back', () => {
    const one = at('2026-03-01T12:00:00Z', 5);
    expect(usagesOf('n', one).nodes[0]?.cpu).toBeUndefined();
    expect(usagesOf('n', one, one).nodes[0]?.cpu).toBeUndefined();
    expect(usagesOf('n', at('2026-03-01T12:00:01Z', 0), one).nodes[0]?.cpu).toBeUndefined();
    expect(usagesOf('n', at('nonsense', 9), one).nodes[0]?.cpu).toBeUndefined();
    expect(usagesOf('n', {})).toEqual({ nodes: [{ name: 'n' }], pods: [] });
  });

  test('of the API of metrics: pods are the sum of their containers', () => {
    expect(
      usageOfItem({
        metadata: { name: 'p', namespace: 'x' },
        containers: [
          { usage: { cpu: '100m', memory: '1Mi' } },
          { usage: { cpu: '1', memory: '1Mi' } },
          {},
        ],
      }),
    ).toEqual({ name: 'p', namespace: 'x', cpu: 1.1, memory: 2 << 20 });
    expect(usageOfItem({ metadata: { name: 'n' }, usage: { cpu: 'banana' } })).toEqual({
      name: 'n',
      cpu: undefined,
      memory: undefined,
    });
    expect(amount('1500m')).toBe(1.5);
  });
});
