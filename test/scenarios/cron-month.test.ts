import { expect, test } from 'vitest';
import { cronMonth } from './cron-month.ts';

// `npm run bench -- embedded` does the same with 30 days, 100 nodes and 1,000 pods.
test('CronJobs over days leave what follows from their schedule', async () => {
  const { problems } = await cronMonth({ nodes: 3, pods: 10, cronJobs: 3, days: 2 });
  expect(problems).toEqual([]);
});
