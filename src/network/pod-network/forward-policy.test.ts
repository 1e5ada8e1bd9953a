import { expect, test } from 'vitest';
import { dropsForwarded } from './forward-policy.ts';

const listing = (hook: string, policy: string): string =>
  JSON.stringify({
    nftables: [
      { metainfo: { version: '1.0.6' } },
      { table: { family: 'ip', name: 'filter' } },
      {
        chain: {
          family: 'ip',
          table: 'filter',
          name: hook.toUpperCase(),
          type: 'filter',
          hook,
          prio: 0,
          policy,
        },
      },
      { chain: { family: 'ip', table: 'filter', name: 'DOCKER' } },
    ],
  });

test('a policy of the chain for forwarded packets', () => {
  expect(dropsForwarded(listing('forward', 'drop'))).toBe(true);
  expect(dropsForwarded(listing('forward', 'accept'))).toBe(false);
  expect(dropsForwarded(listing('input', 'drop'))).toBe(false);
  expect(dropsForwarded(undefined)).toBe(false);
});
