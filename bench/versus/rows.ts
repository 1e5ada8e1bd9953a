// The rows of the comparison: the name of each, and which of two values is better.

export interface Row {
  readonly key: string;
  readonly what: string;
  readonly unit: string;
  readonly better: 'more' | 'less';
}

export const SCHEDULED_ON = [1000, 5000] as const;
export const scheduledKey = (nodes: number): string => `bound-${nodes}`;

export const ROWS: readonly Row[] = [
  { key: 'ready', what: 'ready after', unit: 's', better: 'less' },
  { key: 'memory', what: 'resident memory at rest, all processes', unit: 'MB', better: 'less' },
  { key: 'creates', what: 'creates of 1 KB, 64 connections', unit: '/s', better: 'more' },
  { key: 'gets', what: 'gets of 1 KB, 64 connections', unit: '/s', better: 'more' },
  {
    key: 'lists',
    what: 'lists of 20,000 objects or more, 4 at a time',
    unit: 'MB/s',
    better: 'more',
  },
  { key: 'watch', what: 'events of 4 KB delivered to 1,000 watchers', unit: '/s', better: 'more' },
  ...SCHEDULED_ON.map((nodes): Row => ({
    key: scheduledKey(nodes),
    what: `pods bound, ${nodes.toLocaleString('en')} nodes`,
    unit: '/s',
    better: 'more',
  })),
  {
    key: 'deployment',
    what: 'a Deployment of 1,000 pods, until all are bound',
    unit: 's',
    better: 'less',
  },
];

/** Returns the ratio of the two values: above 1, `ours` is better. */
export function ratioOf({ better }: Row, ours: number, theirs: number): number {
  return better === 'more' ? ours / theirs : theirs / ours;
}
