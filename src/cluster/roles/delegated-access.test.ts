import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import type { PeerAuthorities } from '#apiserver/request.ts';
import { followAuthorities } from './delegated-access.ts';

test('the authority is asked for every second until there is one, then every minute', async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const used: PeerAuthorities[] = [];
  const answers = [new Error('refused'), undefined, 'one', 'one', 'two'];
  const askedAt: number[] = [];
  const began = clock.monotonic();
  const latest = async (): Promise<PeerAuthorities> => {
    askedAt.push((clock.monotonic() - began) / 1000);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer === undefined ? {} : { clientCa: answer };
  };
  const following = followAuthorities(
    { clock, logger: silentLogger, latest, use: (authorities) => used.push(authorities) },
    abort.signal,
  );
  await clock.advance(130_000);
  abort.abort();
  await following;
  expect(askedAt).toEqual([0, 1, 2, 62, 122]);
  expect(used).toEqual([{ clientCa: 'one' }, { clientCa: 'two' }]);
});
