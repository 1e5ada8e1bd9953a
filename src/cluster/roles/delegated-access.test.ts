import { expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { silentLogger } from '#machinery/log.ts';
import { followClientAuthority } from './delegated-access.ts';

test('the authority is asked for every second until there is one, then every minute', async () => {
  const clock = new VirtualClock();
  const abort = new AbortController();
  const used: string[] = [];
  const answers = [new Error('refused'), undefined, 'one', 'one', 'two'];
  const askedAt: number[] = [];
  const began = clock.monotonic();
  const latest = async (): Promise<string | undefined> => {
    askedAt.push((clock.monotonic() - began) / 1000);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const following = followClientAuthority(
    { clock, logger: silentLogger, latest, use: (ca) => used.push(ca) },
    abort.signal,
  );
  await clock.advance(130_000);
  abort.abort();
  await following;
  expect(askedAt).toEqual([0, 1, 2, 62, 122]);
  expect(used).toEqual(['one', 'two']);
});
