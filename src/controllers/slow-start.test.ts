import { describe, expect, test } from 'vitest';
import { slowStartBatch } from './slow-start.ts';

/** Returns the batches: the calls that run at the same time. */
async function batches(count: number, failAt: number | undefined) {
  const sizes: number[] = [];
  let calls = 0;
  let open = 0;
  const result = await slowStartBatch(count, 1, async () => {
    if (open === 0) sizes.push(0);
    sizes[sizes.length - 1]! += 1;
    open++;
    const fails = ++calls === failAt;
    await Promise.resolve();
    open--;
    if (fails) throw new Error(`call ${calls}`);
  });
  return { sizes, ...result };
}

describe('slowStartBatch', () => {
  test('doubles the batch each time, up to what is left', async () => {
    expect(await batches(10, undefined)).toEqual({
      sizes: [1, 2, 4, 3],
      successes: 10,
      attempts: 10,
      failure: undefined,
    });
    expect(await batches(0, undefined)).toMatchObject({ sizes: [], attempts: 0 });
    expect(await batches(1, undefined)).toMatchObject({ sizes: [1], successes: 1 });
  });

  test('stops after the batch with a failure', async () => {
    expect(await batches(100, 1)).toMatchObject({
      sizes: [1],
      successes: 0,
      attempts: 1,
      failure: expect.any(Error),
    });
    expect(await batches(100, 5)).toMatchObject({
      sizes: [1, 2, 4],
      successes: 6,
      attempts: 7,
      failure: expect.any(Error),
    });
  });
});
